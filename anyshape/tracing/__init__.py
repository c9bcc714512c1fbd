"""Trace functions to graphs. Importing this package fills the tables of rules, kernels and traits."""

from anyshape.autodiff import batching, rules
from anyshape.backend import numpy as kernels
from anyshape.backend.compiler import traits
from anyshape.tracing import log_config as log_config

__all__ = ["batching", "kernels", "logs", "rules", "traits"]
