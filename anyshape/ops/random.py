"""Draws from random generators, which are operands of their own kind: arrays of dtype object that hold generators.

A draw moves its generator, so draws keep their order. Each gives a mark of its end besides its numbers. `order_draw`
passes a generator on after such a mark. Builders insert it before each node that draws: see `graph/ir/graph.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply_all, localise, result_sizes
from anyshape.ops.core.definition import NO_CHECKS, define
from anyshape.ops.core.flop_counts import MOVES

GENERATOR = np.dtype(object)  # of generators

# Methods whose numbers belong to one element each of the broadcast arguments.
PER_ELEMENT = (
    "beta", "binomial", "exponential", "f", "geometric", "gumbel", "hypergeometric", "integers", "laplace", "logistic",
    "lognormal", "logseries", "negative_binomial", "noncentral_chisquare", "noncentral_f", "pareto", "poisson", "power",
    "random", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t",
    "triangular", "vonmises", "wald", "weibull", "zipf",
)  # fmt: skip
PER_ROW = ("dirichlet", "multinomial", "multivariate_hypergeometric")  # the last axis of the numbers is one result
POSITIONS = ("choice", "permutation", "permuted", "shuffle")  # integers that tell which element comes where
METHODS = (*PER_ELEMENT, *PER_ROW, *POSITIONS)


def _draw_type(
    ctx: ShapeGuardContext,
    generator: TensorMeta,
    *operands: TensorMeta,
    method: str,
    shape: tuple[Size, ...],
    count: Size,
    dtype: np.dtype,
    options: tuple[Any, ...],
    loops: tuple[tuple[bool, ...], ...],
) -> tuple[TensorMeta, TensorMeta]:
    """Return the types of the numbers and of the mark.

    Loops, outermost first, run over the first axis of the numbers, and of flagged operands.
    """
    if generator.dtype != GENERATOR:
        raise ctx.bad_dtype(f"the generator is {generator.dtype}", "pass a numpy.random.Generator")
    if any(x.dtype == GENERATOR for x in operands):
        raise ctx.bad_dtype("a parameter is a generator", "pass numbers")
    if generator.rank != sum(level[0] for level in loops):
        raise ctx.fail("draws loop over each axis of an array of generators")
    ctx.resolve(count)
    return TensorMeta(dtype, tuple([ctx.resolve(s) for s in shape])), tensor(np.dtype(bool), ())


def _order_type(ctx: ShapeGuardContext, generator: TensorMeta, after: TensorMeta) -> TensorMeta:
    if generator.dtype != GENERATOR:
        raise ctx.bad_dtype(f"the generator is {generator.dtype}", "pass a numpy.random.Generator")
    return generator


def _are_options(node: Node, param) -> bool:
    """Accept pairs of a name and a plain value."""
    return isinstance(param, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and type(pair[1]) in (bool, int, str)
        for pair in param
    )


def _are_loops(node: Node, param) -> bool:
    """For each loop, accept one flag per operand; operands and numbers have an axis for each."""
    if not isinstance(param, tuple) or len(param) > node.outputs[0].meta.rank:
        return False
    if not all(isinstance(level, tuple) and len(level) == len(node.inputs) for level in param):
        return False
    return all(type(flag) is bool for level in param for flag in level) and all(
        sum(flags) <= v.meta.rank for v, flags in zip(node.inputs, zip(*param, strict=True), strict=bool(param))
    )


draw_op: Op = define(
    "draw",
    _draw_type,
    operands=(1, 10),
    params={
        "method": kinds.one_of(*METHODS),
        "shape": kinds.sizes,
        "count": kinds.size,
        "dtype": lambda node, param: isinstance(param, np.dtype) and param.kind in "biuf",
        "options": _are_options,
        "loops": _are_loops,
    },
    cost=MOVES,  # the number of operations differs between draws
    raises=True,  # a draw moves its generator, also where nothing reads its numbers
    draws=True,
    **NO_CHECKS,
)
order_draw_op: Op = define("order_draw", _order_type, params={}, jointly=None, claims=None, probe=None, cost=MOVES)


def draw(
    generator: Operand,
    method: str,
    shape: Sequence[Size],
    *operands: Operand,
    dtype: Any = np.float64,
    count: Size = 0,
    options: Sequence[tuple[str, Any]] = (),
    loops: tuple[tuple[bool, ...], ...] = (),
) -> tuple[Any, ...]:
    """Return numbers of this shape that a method of the generator draws, and the mark of their end.

    `count` is the number of elements that positions are drawn for. `options` are further arguments of the method.
    """
    (sizes, number), sources = localise((result_sizes(method, tuple(shape)), count), (generator, *operands))
    params = {"method": method, "shape": sizes, "count": number, "dtype": np.dtype(dtype), "options": tuple(options)}
    return apply_all(draw_op, generator, *operands, sources=sources, **params, loops=loops)


def order_draw(generator: Operand, after: Operand) -> Any:
    """Return the generator, for draws that come after the node which gives the other operand."""
    return apply_all(order_draw_op, generator, after)[0]
