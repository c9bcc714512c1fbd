"""The whole path of a call. Importing this package fills the tables of rules and kernels, and reads ANYSHAPE_LOGS."""

from anyshape.autodiff import batching, rules
from anyshape.backend import numpy as kernels
from anyshape.tracing import log_config as log_config

__all__ = ["batching", "kernels", "logs", "rules"]
