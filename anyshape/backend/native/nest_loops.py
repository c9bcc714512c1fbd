"""Loops of ufuncs in a nest: C calls the inner loop of NumPy's or SciPy's function by its address.

So results have the bits of NumPy's steps. Functions of LAPACK that NumPy has as ufuncs of matrices are among them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.native.nest_steps import Rule, Site
from anyshape.backend.native.nest_values import Array, Lines, derived, kind_of, product, scalar
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import Node, Op
from anyshape.ops import linalg as la
from anyshape.ops.core.apply import KERNELS
from anyshape.support.packages import lapack


class _Ufunc(ctypes.Structure):
    """Fields of a ufunc behind the header of the object, from NumPy's `ufuncobject.h`."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    ]


def loop_of(ufunc: np.ufunc, dtypes: Sequence[np.dtype]) -> int:
    """Return the number of the loop for operands and results of these dtypes. Raises NotExpressible."""
    wanted = "".join([d.char for d in dtypes])
    types = [t.replace("->", "") for t in ufunc.types]
    fields = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if wanted not in types or (fields.nin, fields.nout, fields.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise NotExpressible(f"{ufunc.__name__} of {', '.join(map(str, dtypes))} has no loop")
    return types.index(wanted)


def addresses(links: Sequence[Any]) -> Any:
    """Return the addresses of loops and of what they are called with, in turns; or of a routine of LAPACK, and 0."""
    words: list[Any] = []
    for link in links:
        if isinstance(link, str):
            words += [_CAPSULE(getattr(lapack, link)._cpointer, None), None]
        else:
            fields, k = _Ufunc.from_address(id(link[0]) + object.__basicsize__), link[1]
            words += [fields.functions[k], fields.data[k] if fields.data else None]
    return (ctypes.c_void_p * max(len(words), 1))(*words)


def _linked(lines: Lines, link: Any) -> str:
    """Return the text of the place of addresses."""
    if link not in lines.links:
        lines.links.append(link)
    return f"links + {2 * lines.links.index(link)}"


def _call(
    lines: Lines, ufunc: np.ufunc, dtypes: Sequence[np.dtype], pointers: Sequence[str], sizes: str, steps: str
) -> str:
    """Return the call of a loop, which says whether it has set the flag of an invalid operation."""
    passed, link = ", ".join([f"(char *){p}" for p in pointers]), _linked(lines, (ufunc, loop_of(ufunc, dtypes)))
    return f"as_loop({link}, (char *[]){{{passed}}}, (int64_t[]){{{sizes}}}, (int64_t[]){{{steps}}}, &flags)"


def _pointer(lines: Lines, x: Array) -> str:
    """Return the address of an operand, in memory."""
    if x.dims:
        lines.settle(x)
        assert x.buffer is not None
        return x.buffer.name
    local = lines.name("x")
    lines.add(f"{x.kind} {local} = {x.at(())};")
    return f"&{local}"


def _number(lines: Lines, dtype: np.dtype) -> Array:
    """Return a number that a call sets."""
    local = lines.name("v")
    lines.add(f"{kind_of(dtype)} {local};")
    return scalar(dtype, local)


def ufunc_of(node: Node) -> np.ufunc:
    """Return the ufunc that is the kernel of an elementwise step. Raises NotExpressible."""
    kernel, params = KERNELS[node.op], dict(node.params)
    special = kernel.specialise(params, [v.meta for v in node.inputs]) if kernel.specialise is not None else None
    run = special or kernel.run
    if not isinstance(run, np.ufunc) or (special is None and params):
        raise NotExpressible(f"{node.op} has no expression in C")
    return run


def elementwise_loop(site: Site, xs: Sequence[Array]) -> Array:
    """Return the result of a ufunc on operands of the sizes of the result, or numbers."""
    lines, ufunc = site.lines, ufunc_of(site.node)
    shapes = {x.dims for x in xs if x.dims}
    if len(shapes) > 1 or (ufunc.nin, ufunc.nout) != (len(xs), 1):
        raise NotExpressible(f"{site.node.op} of operands that are stretched")
    dtypes, dims = [*[x.dtype for x in xs], site.dtype], next(iter(shapes), ())
    loop_of(ufunc, dtypes)
    pointers = [_pointer(lines, x) for x in xs]
    result = lines.allocated(site.dtype, dims) if dims else _number(lines, site.dtype)
    steps = ", ".join([str(x.dtype.itemsize if x.dims else 0) for x in (*xs, result)])
    lines.add(f"{_call(lines, ufunc, dtypes, [*pointers, _pointer_of(result)], product(dims), steps)};")
    return result


def _matrix_loop(site: Site, a: Array, name: str, result: Array) -> str:
    """Return the call of a function of one square matrix, which gives a number or a matrix."""
    n, size, target = a.dims[0], a.dtype.itemsize, _pointer_of(result)
    strides = f"{n} * {size}, {size}"
    steps = f"0, 0, {strides}" + (f", {strides}" if result.dims else "")
    ufunc = getattr(np.linalg._umath_linalg, name)
    return _call(site.lines, ufunc, [a.dtype, a.dtype], [_pointer(site.lines, a), target], f"1, {n}", steps)


def product_loop(site: Site, x: Array, y: Array, target: Array) -> None:
    """Write a product of matrices and vectors to memory, by the loop of NumPy's product. Raises NotExpressible."""
    lines, size, ((left, *more), (right, *_)) = site.lines, site.dtype.itemsize, site.params["contract"]
    dtypes = [x.dtype, y.dtype, site.dtype]
    if more or any(site.params["batch"]) or max(len(x.dims), len(y.dims)) > 2:
        raise NotExpressible("a product of stacks")
    loop_of(np.matmul, dtypes)
    a, b = (z if z.buffer is not None else lines.copied(z) for z in (x, y))

    def strides(z: Array, axis: int) -> tuple[str, str, str]:
        """Return the size of the other axis, and the strides along it and along the summed axis."""
        n = z.dims[axis]
        if len(z.dims) < 2:
            return "1", f"{n} * {size}", f"{size}"
        other, row = z.dims[1 - axis], f"{z.dims[1]} * {size}"
        return (other, row, f"{size}") if axis else (other, f"{size}", row)

    (m, of_m, of_left), (p, of_p, of_right) = strides(a, left), strides(b, right)
    of_p = of_p if len(y.dims) > 1 else f"{size}"
    steps = f"0, 0, 0, {of_m}, {of_left}, {of_right}, {of_p}, {p} * {size}, {size}"
    pointers = [_pointer_of(z) for z in (a, b, target)]
    lines.add(f"{_call(lines, np.matmul, dtypes, pointers, f'1, {m}, {x.dims[left]}, {p}', steps)};")


def _pointer_of(result: Array) -> str:
    """Return the address of a result, or of a number."""
    return result.buffer.name if result.buffer is not None else f"&{result.at(())}"


def _of_matrix(name: str, *, raises: bool = True) -> Rule:
    """Return the rule of a function of one square matrix. NumPy raises where LAPACK fails, whatever modes are set."""

    def rule(site: Site, a: Array) -> Array:
        if len(a.dims) != 2 or a.dtype.char not in "fdFD":
            raise NotExpressible(f"{site.node.op} of stacks, or of {a.dtype}")
        lines = site.lines
        result = lines.allocated(site.dtype, a.dims) if site.node.outputs[0].meta.rank else _number(lines, site.dtype)
        call = _matrix_loop(site, a, name, result)
        lines.add(f"if ({call}) AS_FAIL" if raises else f"{call};")
        return result

    return rule


def _adjugate(site: Site, a: Array) -> Array:
    """Return det(a) inv(a) of a matrix that is far from a singular one; NumPy computes others."""
    lines, dims = site.lines, a.dims
    if len(dims) != 2 or a.dtype.char != "d":
        raise NotExpressible(f"{site.node.op} of stacks, or of {a.dtype}")
    lines.settle(a)
    result, det, largest = lines.allocated(a.dtype, dims), _number(lines, a.dtype), [lines.name("r") for _ in "ab"]
    lines.add(f"{_matrix_loop(site, a, 'det', det)};", f"int bad{det.at(())} = {_matrix_loop(site, a, 'inv', result)};")
    for x, most in zip((a, result), largest, strict=True):
        lines.add(f"double {most} = 0;")

        def row(i: list[str], x: Array = x, most: str = most) -> list[str]:
            total = lines.name("s")
            lines.add(f"double {total} = 0;")
            lines.over(dims[1:], lambda j: [f"{total} += __builtin_fabs({x.at([*i, *j])});"])
            return [f"if (!({total} <= {most})) {most} = {total};"]

        lines.over(dims[:1], row)
    few, size = float(np.finfo(a.dtype).eps ** -0.375), f"__builtin_fabs({det.at(())})"
    is_far = f"{largest[0]} * {largest[1]} < {few!r} && {size} >= {float(np.finfo(a.dtype).tiny)!r}"
    lines.add(
        f"const int far{det.at(())} = {product(dims)} && !bad{det.at(())} && {is_far} && {size} < __builtin_inf();",
        f"feclearexcept(FE_ALL_EXCEPT); if (far{det.at(())}) {{",
    )
    lines.over(dims, lambda i: [f"{result.at(i)} *= {det.at(())};"])
    before = lines.collect()
    lines.filled(result, site.by_numpy()[0])
    lines.add("} else {", *lines.end(before), "}")
    return result


def _by_columns(lines: Lines, x: Array) -> Array:
    """Return the transpose of a matrix, in memory of its own, as LAPACK has matrices."""
    result = lines.allocated(x.dtype, (x.dims[1], x.dims[0]))
    lines.over(result.dims, lambda i: [f"{result.at(i)} = {x.at([i[1], i[0]])};"])
    return result


def _lu_factor(site: Site, a: Array) -> tuple[Array, Array]:
    lines = site.lines
    if len(a.dims) != 2 or a.dtype.char not in "fdFD":
        raise NotExpressible(f"{site.node.op} of stacks, or of {a.dtype}")
    factors = _by_columns(lines, a)
    pivots = lines.allocated(site.node.outputs[1].meta.dtype, a.dims[:1])
    routine = _linked(lines, f"{_PREFIXES[a.dtype.char]}getrf")
    factored = f"as_getrf({routine}, {a.dims[0]}, {_pointer_of(factors)}, {_pointer_of(pivots)}, &flags)"
    lines.add(f"if ({factored}) AS_FAIL")
    return derived(factors, a.dims, lambda i: factors.at([i[1], i[0]])), pivots


def _lu_solve(site: Site, a: Array, lu: Array, pivots: Array, b: Array) -> Array:
    lines, n = site.lines, lu.dims[0]
    if len(lu.dims) != 2 or lu.dtype.char not in "fdFD" or pivots.dtype.char != "i":
        raise NotExpressible(f"{site.node.op} of stacks, or of {lu.dtype}")
    lines.settle_computed(lu, b)
    factors, result = _by_columns(lines, lu), _by_columns(lines, b)
    routine = _linked(lines, f"{_PREFIXES[lu.dtype.char]}getrs")
    form = f"'{site.params['form']}', {n}, {b.dims[1]}"
    passed = f"{_pointer_of(factors)}, {_pointer(lines, pivots)}, {_pointer_of(result)}"
    lines.add(f"if (as_getrs({routine}, {form}, {passed}, &flags)) AS_FAIL")
    return derived(result, b.dims, lambda i: result.at([i[1], i[0]]))


_PREFIXES = dict(zip("fdFD", "sdcz", strict=True))  # of routines, by the character of the dtype
_CAPSULE = ctypes.pythonapi.PyCapsule_GetPointer
_CAPSULE.restype, _CAPSULE.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
LOOP_RULES: dict[Op, Callable[..., Any]] = {
    la.det_op: _of_matrix("det", raises=False),
    la.inv_op: _of_matrix("inv"),
    la.cholesky_op: _of_matrix("cholesky_lo"),
    la.adjugate_op: _adjugate,
    la.lu_factor_op: _lu_factor,
    la.lu_solve_op: _lu_solve,
}
