"""Other libraries that take gradients of NumPy code, as far as they are installed. None of them is needed."""

from __future__ import annotations

try:
    import autograd  # type: ignore[import-not-found]
    import autograd.numpy as autograd_numpy  # type: ignore[import-not-found]
except ImportError:
    autograd = autograd_numpy = None
