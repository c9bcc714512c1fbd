"""Trace functions to graphs.

Importing this package tells the tables of rules, kernels and traits where their rows come from, once one is looked up.
"""

from functools import partial

from anyshape.autodiff.rule_tables import BATCHERS, JVPS, SHIFTS, TRANSPOSES
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.ops.core.apply import KERNELS
from anyshape.support.packages import batching_rules, derivative_rules, kernels, load, traits
from anyshape.tracing import log_config as log_config

for _table, _package in (
    (JVPS, derivative_rules),
    (TRANSPOSES, derivative_rules),
    (SHIFTS, derivative_rules),
    (BATCHERS, batching_rules),
    (KERNELS, kernels),
    (TRAITS, traits),
):
    _table.fill_by(partial(load, _package))

__all__ = ["log_config"]
