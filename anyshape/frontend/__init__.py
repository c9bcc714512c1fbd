"""The whole path of a call. Importing this package fills the tables of rules and kernels."""

from anyshape.autodiff import batching, rules
from anyshape.backend import numpy as kernels

__all__ = ["batching", "kernels", "rules"]
