"""Define integrals over several variables, one inside of the other, and rules of Newton and Cotes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.scipy.integrate.quadrature import quad
from anyshape.support.packages import scipy_integrate

Function = Callable[..., Any]


def _limit(end: Any, *outer: Any) -> Any:
    """Return a limit of an inner variable: a number, or a function of outer ones."""
    return end(*outer) if callable(end) else end


def _nested(func: Function, ranges: Sequence[Any], options: dict[str, Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Integrate over the last range outermost. A range is a pair, or a function of outer variables and arguments."""
    *inner, outermost = ranges
    pair = outermost(*args) if callable(outermost) else outermost
    if not inner:
        return quad(lambda x: func(x, *args), pair[0], pair[1], **options)
    value = lambda x: _nested(func, inner, options, (x, *args))[0]
    return quad(value, pair[0], pair[1], **options)


def dblquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8
) -> tuple[Any, Any]:
    """Return the integral of func(y, x) for x from a to b and y from gfun(x) to hfun(x), and the error by x.

    See `quad` for derivatives. `gfun` and `hfun` may be numbers.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> volume = lambda s: integrate.dblquad(lambda y, x: s * x * y, 0.0, 1.0, 0.0, lambda x: x)[0]
    >>> print(round(float(grad(volume)(2.0)), 9))
    0.125
    """
    if active() is None:
        return scipy_integrate.dblquad(func, a, b, gfun, hfun, args, epsabs, epsrel)
    ranges = [lambda x, *rest: (_limit(gfun, x), _limit(hfun, x)), (a, b)]
    return _nested(func, ranges, {"epsabs": epsabs, "epsrel": epsrel}, tuple(args))


def tplquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (),
    epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the integral of func(z, y, x) over z from qfun(x, y) to rfun(x, y) and the ranges of `dblquad`."""
    if active() is None:
        return scipy_integrate.tplquad(func, a, b, gfun, hfun, qfun, rfun, args, epsabs, epsrel)
    ranges = [
        lambda y, x, *rest: (_limit(qfun, x, y), _limit(rfun, x, y)),
        lambda x, *rest: (_limit(gfun, x), _limit(hfun, x)),
        (a, b),
    ]
    return _nested(func, ranges, {"epsabs": epsabs, "epsrel": epsrel}, tuple(args))


def nquad(func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    """Return the integral over several ranges, from the innermost one on, and the error by the last variable.

    A range is a pair, or a function of the outer variables and `args` that returns one. `opts` is a dictionary of
    options of `quad` for all variables.
    """
    if active() is None:
        return scipy_integrate.nquad(func, ranges, args, opts, full_output)
    if full_output:
        raise refuse("scipy.integrate.nquad with full_output")
    if opts is not None and not isinstance(opts, dict):
        raise ArgumentError("nquad", "opts", "is not a dictionary", "pass one for all variables")
    further = () if args is None else args if isinstance(args, tuple) else (args,)
    return _nested(func, list(ranges), dict(opts or {}), further)
