"""Fixed points with derivatives."""

from collections.abc import Callable
from typing import Any

from anyshape.transforms.control_flow.loops import while_loop
from anyshape.transforms.custom.implicit_solves import custom_linear_solve, custom_root

__all__ = ["fixed_point"]


def fixed_point(f: Callable[..., Any], a: Any, x0: Any, distance: Callable[..., Any], tol: float) -> Any:
    """Return x with f(a)(x) == x, by iteration until two of them are within `tol` of each other.

    Its derivative in `a` is that of the equation, by another iteration.
    """

    def iterated(step: Callable[[Any], Any], start: Any) -> Any:
        goes_on = lambda pair: distance(*pair) > tol
        return while_loop(goes_on, lambda pair: (step(pair[0]), pair[0]), (step(start), start))[0]

    root = lambda g, x: iterated(lambda x: g(x) + x, x)
    linear = lambda g, y: iterated(lambda x: g(x) + x - y, -y)
    tangent = lambda g, y: custom_linear_solve(g, y, linear, linear)
    return custom_root(lambda x: f(a)(x) - x, x0, root, tangent)
