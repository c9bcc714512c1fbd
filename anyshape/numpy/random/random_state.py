"""Legacy generators of NumPy that are arguments of a traced function, or that it closes over.

Their methods draw when the program runs, and give the numbers of `RandomState`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.linalg.decompositions import svd
from anyshape.numpy.operands.promotion import flag_of, number_dtype
from anyshape.numpy.random.draws import BITS, INT, Draws, integer_parameter, parameter, refused
from anyshape.numpy.random.generator import TracedGenerator


class LegacyTraced(Traced):
    """Value of a generator that is a `RandomState`."""

    __slots__ = ()


class TracedRandomState(Draws, np.random.RandomState):
    """`RandomState` of the function being traced; its methods are NumPy's."""

    traced: LegacyTraced

    def __init__(self, traced: Traced) -> None:
        super().__init__(BITS)
        self.traced = LegacyTraced(traced.builder, traced.value)

    # -- base draws

    def random_sample(self, size: Any = None) -> Any:
        return self._typed("random", (), size, np.float64, None)

    def random(self, size: Any = None) -> Any:
        return self.random_sample(size)

    def rand(self, *size: Any) -> Any:
        return self.random_sample(size or None)

    def standard_normal(self, size: Any = None) -> Any:
        return self._typed("standard_normal", (), size, np.float64, None)

    def randn(self, *size: Any) -> Any:
        return self.standard_normal(size or None)

    def standard_exponential(self, size: Any = None) -> Any:
        return self._typed("standard_exponential", (), size, np.float64, None)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        return self._typed("standard_gamma", [parameter("standard_gamma", "shape", shape)], size, np.float64, None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        if high is None:
            low, high = 0, low
        kind = dtype if dtype in (bool, int) else np.generic
        wide = np.dtype(np.uint64) if number_dtype(dtype, "randint") == np.uint64 else INT
        bounds = [integer_parameter("randint", name, x, wide) for name, x in (("low", low), ("high", high))]
        return self._numbers("integers", bounds, size, number_dtype(dtype, "randint"), kind)

    # -- vectors and positions

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> Any:
        z, mean, cov = self._normal_rows(mean, cov, size, check_valid, check_valid, tol)
        _, squares, rows = svd(cov)
        return mean + z @ (np.sqrt(squares)[:, None] * rows)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        return self._chosen(a, size, p, 0, (("replace", flag_of("choice", "replace", replace)),))

    def permutation(self, x: Any) -> Any:
        return self._permutation(x)

    def shuffle(self, x: Any) -> None:
        self._shuffle(x)

    # -- methods without a meaning in a program

    seed: Any = refused("seed")
    get_state: Any = refused("get_state")
    set_state: Any = refused("set_state")
    tomaxint: Any = refused("tomaxint")
    random_integers: Any = refused("random_integers")


def traced_generator(traced: Traced, kind: type | None) -> Any:
    """Return the traced form of a generator of a class, which may be `RandomState`."""
    return TracedRandomState(traced) if kind is np.random.RandomState else TracedGenerator(traced)


def generator_kind(x: Traced) -> type | None:
    """Return `RandomState` for the value of one, None for others."""
    return np.random.RandomState if isinstance(x, LegacyTraced) else None


TracedRandomState.__name__ = TracedRandomState.__qualname__ = np.random.RandomState.__name__  # as messages name it
