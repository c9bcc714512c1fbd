"""Trace functions to graphs.

Importing this package tells the tables of rules, kernels and traits where their rows come from. The lookup of a missing
row imports the module of the op's family. Maps of functions over rows come from here too.
"""

from anyshape.autodiff.rule_tables import BATCHERS, JVPS, SHIFTS, TRANSPOSES, ZERO_FLOWS
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.subgraph_call import maps_over_rows
from anyshape.support.packages import derivative_rules, kernels, mapped_rows
from anyshape.tracing import log_config as log_config

for _table, _folder in (
    (JVPS, derivative_rules),
    (TRANSPOSES, derivative_rules),
    (SHIFTS, derivative_rules),
    (ZERO_FLOWS, derivative_rules),
    (BATCHERS, derivative_rules),
    (KERNELS, kernels),
    (TRAITS, kernels),
):
    _table.fill_by(_folder.load)
maps_over_rows.provide_by(lambda: mapped_rows)

__all__ = ["log_config"]
