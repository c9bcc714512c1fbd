"""Reductions in C, and the statements of logsumexp and softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.c_expressions import c_literal, c_type, suffix
from anyshape.graph.ir.graph import Op
from anyshape.ops import reduction as rd
from anyshape.support.lazy_namedtuple import NamedTuple


class Reduction(NamedTuple):
    """Reduction in C.

    - `start`: the result for no elements.
    - `combine`: the text that joins a result {0} with an element {1}.
    - `pragma`: the operator of OpenMP by which a compiler reduces with vectors, "" if there is none.
    - `accumulator`: the type that results are accumulated in. float32 is summed as double.
    - `ufunc`: joins partial results.
    """

    start: str
    combine: str
    pragma: str
    accumulator: str
    ufunc: np.ufunc


_LARGER = "((__builtin_isgreaterequal({0}, {1}) | ({0} != {0})) ? {0} : {1})"
_SMALLER = "((__builtin_islessequal({0}, {1}) | ({0} != {0})) ? {0} : {1})"


def _extreme(combine: str, sign: str, ufunc: np.ufunc) -> Callable[[np.dtype], Reduction]:
    """Return the rule of the largest or smallest element; `combine` joins integers."""
    quiet = {">": _LARGER, "<": _SMALLER}[sign]

    def rule(dtype: np.dtype) -> Reduction:
        is_float, least = dtype.kind == "f", sign == ">"
        limit = np.inf if is_float else np.iinfo(dtype).max
        lower = -np.inf if is_float else np.iinfo(dtype).min
        start = c_literal(lower if least else limit, dtype)
        return Reduction(start, quiet if is_float else combine, "", c_type(dtype) or "", ufunc)

    return rule


def _sum(start: str, sign: str, ufunc: np.ufunc) -> Callable[[np.dtype], Reduction]:
    """Return the rule of sums or products; float32 is accumulated as double, and bools as wider integers."""
    own = lambda dtype: {"f": "double", "b": "int32_t", "c": "as_complex"}.get(dtype.kind) or c_type(dtype) or ""
    return lambda dtype: Reduction(start, f"({{0}} {sign} {{1}})", sign, own(dtype), ufunc)


_ADD = _sum("0", "+", np.add)
_RULES: dict[Op, tuple[str, Callable[[np.dtype], Reduction]]] = {  # the kinds of dtypes, and the rule
    rd.reduce_sum_op: ("fiuc", _ADD),
    rd.sum_to_op: ("fiuc", _ADD),
    rd.reduce_prod_op: ("fiu", _sum("1", "*", np.multiply)),
    rd.reduce_max_op: ("fiu", _extreme("({0} > {1} ? {0} : {1})", ">", np.maximum)),
    rd.reduce_min_op: ("fiu", _extreme("({0} < {1} ? {0} : {1})", "<", np.minimum)),
    rd.reduce_and_op: ("b", _sum("1", "&", np.logical_and)),
    rd.reduce_or_op: ("b", _sum("0", "|", np.logical_or)),
}


def reduction_of(op: Op, dtype: np.dtype) -> Reduction | None:
    """Return the reduction of an op for a dtype; None where C has none."""
    kinds, rule = _RULES.get(op, ("", _ADD))
    return rule(dtype) if dtype.kind in kinds else None


def logsumexp_statements(writer: Any, x: Any, dtype: np.dtype, remaining: Sequence[Any]) -> Any:
    """Add the statements of log(sum(exp(x))), and return its value, which is the largest element if that is infinite.

    The statements that softmax has too are shared: the derivative of logsumexp needs no exponentials of its own.
    """
    f = suffix(dtype)
    top, _, total = _powers(writer, x, dtype, remaining)
    # log(0), of an empty sum, sets no flag
    finite = f"__builtin_isless(__builtin_fabs{f}({{1}}), __builtin_inf{f}())"
    return writer.map(f"({finite} ? as_log{f}({{0}} == 0 ? 1 : {{0}}) + {{1}} : {{1}})", dtype, [total, top])


def softmax_statements(writer: Any, x: Any, dtype: np.dtype, remaining: Sequence[Any], *, safe: bool) -> Any:
    """Add the statements of exp(x) / sum(exp(x)), and return its value; if `safe`, it is 0 where the sum is."""
    _, powers, total = _powers(writer, x, dtype, remaining)
    return writer.map("({0} / ({1} == 0 ? 1 : {1}))" if safe else "({0} / {1})", dtype, [powers, total])


def _powers(writer: Any, x: Any, dtype: np.dtype, remaining: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Add the largest element, the exponentials of elements less the largest, and their sum."""
    largest, sums = reduction_of(rd.reduce_max_op, dtype), reduction_of(rd.reduce_sum_op, dtype)
    top = writer.reduce(largest, x, remaining)
    powers = writer.map(f"as_exp{suffix(dtype)}({{0}})", dtype, [writer.map("({0} - {1})", dtype, [x, top])])
    return top, powers, writer.reduce(sums, powers, remaining)
