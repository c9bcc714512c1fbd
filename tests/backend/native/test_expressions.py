"""Expressions in C of elementwise ops, against NumPy's kernels: bit for bit at special values, for each dtype."""

import functools
import itertools

import numpy as np
import pytest

from anyshape.backend.compiler.c_expressions import CSite, c_type
from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Group, Step
from anyshape.backend.compiler.plan_ops import PLAN_OPS
from anyshape.backend.native.elementary import OPERANDS
from anyshape.graph.ir.graph import OPS
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.core.definition import DEFINITIONS
from tests.backend.native.compiled import assert_bits, install, needs_compiler

N = expr.from_atom(DimVar("n"))
CHARS = "?bhilBHIfd"
PARAMS = {
    "power_by": [{"exponent": 3}, {"exponent": 4}],
    "convert": [{"dtype": np.dtype(c)} for c in "?hilfd"],
}
# Units of the last place between polynomials and NumPy.
ULPS = dict.fromkeys(OPERANDS, 4.0)
COMPARED = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite"}
COMPARED |= {f"logical_{name}" for name in ("and", "or", "xor", "not")}


def values(dtype):
    """Special values of a dtype, and ordinary ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, 2, 7, info.max - 1, *([-1, -5] if dtype.kind == "i" else [])], dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.7, -1e3, 709.0, np.inf, -np.inf, np.nan, tiny, -tiny, 1e-9]
    return np.array(special, dtype)


def result_dtype(op, chars, params):
    if "dtype" in params:
        return params["dtype"]
    return np.dtype(bool) if op.name in COMPARED else np.dtype(chars[-1])


def sites():
    """Each op that has an expression, with dtypes and params for which it has a text."""
    for op in [*OPS.values(), *PLAN_OPS.values()]:
        rule = TRAITS[op].c_expression
        if rule is None:
            continue
        count = {"masked": 2, "masked_else": 3}.get(op.name) or DEFINITIONS[op].operands[0]
        for char, params in itertools.product(CHARS, PARAMS.get(op.name, [{}])):
            if not (chars := chars_of(op, char, count)):
                continue
            result = result_dtype(op, chars, params)
            if rule(CSite(tuple(map(np.dtype, chars)), result, params)) is not None:
                yield op, chars, result, params


def chars_of(op, char, count):
    if op.name == "select":
        return ("?", char, char)
    if op.name.startswith("masked"):
        return {"d": ("d", "l", "l"), "f": ("f", "i", "i")}.get(char, ())[:count]
    return (char,) * count


SITES = [(op, chars, result, params) for op, chars, result, params in sites()]
NAMES = [f"{op}-{''.join(chars)}-{result.char}{params.get('exponent', '')}" for op, chars, result, params in SITES]


def group_of(op, chars, result, params):
    """A group of one step over a vector for each operand."""
    slots = tuple([f"x{i}" for i in range(len(chars))])
    metas = tuple([tensor(np.dtype(c), (N,)) for c in chars])
    step = Step(op, slots, tuple(params.items()), ("v0",), metas, (tensor(result, (N,)),))
    return Group((step,), N, ((True,) * len(chars),), ("v0",))


@functools.cache
def kernels():
    """The kernel of each site, all built at once."""
    names: dict = {}

    def bind(prefix, thing):
        name = f"{prefix}{len(names)}"
        names[name] = thing
        return name

    writers = {f"g{i}": GroupSource(group_of(*site), bind, str) for i, site in enumerate(SITES)}
    return install(writers, names)


@needs_compiler
@pytest.mark.parametrize("i", range(len(SITES)), ids=NAMES)
def test_a_kernel_computes_what_numpy_does(i):
    op, chars, _, params = SITES[i]
    functions, states = kernels()
    assert states[f"g{i}"] == "compiled"
    arrays = [x.ravel() for x in np.meshgrid(*[values(c) for c in chars])]
    arrays = [np.ascontiguousarray(x) for x in arrays]
    with np.errstate(all="ignore"):
        results = functions[f"g{i}"](len(arrays[0]), *arrays)
        expected = KERNELS[op].run(*arrays, **params)
    if results is None:
        assert op.name in ("sin", "cos")  # beyond the largest angle
        return
    assert results[0].dtype == np.asarray(expected).dtype
    if op.name in ULPS:
        assert_close(results[0], expected, ULPS[op.name])
    elif op.name == "convert" and params["dtype"].kind in "iu" and chars[0] in "fd":
        within = np.abs(arrays[0]) < np.iinfo(params["dtype"]).max  # others have no value in C, nor one in NumPy
        assert_bits(results[0][within], expected[within])
    elif op.name in ("max", "min"):
        np.testing.assert_array_equal(results[0], expected)  # of 0 and -0, NumPy takes the one or the other by position
    else:
        assert_bits(results[0], expected)


def assert_close(ours, theirs, ulps):
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    infinite = np.isinf(theirs)
    np.testing.assert_array_equal(ours[infinite], theirs[infinite])
    number = np.isfinite(theirs)
    least = np.finfo(theirs.dtype).smallest_subnormal
    with np.errstate(all="ignore"):
        assert (
            np.abs(ours[number] - theirs[number]) <= ulps * np.maximum(np.spacing(np.abs(theirs[number])), least)
        ).all()


def test_every_dtype_of_c_has_a_test():
    known = {np.dtype(char).char for char in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}
    assert {char for char in known if c_type(np.dtype(char)) is not None} - set("qQL") <= set(CHARS)
