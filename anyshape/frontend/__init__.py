"""The whole path of a call. Importing this package fills the tables of rules and kernels, and reads ANYSHAPE_LOGS."""

from anyshape.autodiff import batching, rules
from anyshape.backend import numpy as kernels
from anyshape.frontend import logs

__all__ = ["batching", "kernels", "logs", "rules"]
