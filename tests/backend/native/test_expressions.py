"""Expressions in C of elementwise ops, against NumPy's kernels: bit for bit at special values, for each dtype."""

import functools
import itertools

import numpy as np
import pytest

from anyshape.backend.compiler.c_expressions import CSite, c_type
from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import PLAN_OPS, Group, Step
from anyshape.backend.native.toolchain import OPERANDS
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
    "power_by": [{"exponent": e} for e in (3, 4, -2, 5, -1, 0.5, 1.5)],
    "round": [{"decimals": d} for d in (0, 2, -1)],
    "convert": [{"dtype": np.dtype(c)} for c in "?hilfd"],
}
# Units of the last place between polynomials and NumPy.
FEW_STEPS = ("xlogy", "xlog1py", "log_expit", "logaddexp", "logaddexp2", "tanh_slope", "expit_slope")
ULPS = dict.fromkeys([*OPERANDS, *FEW_STEPS], 4.0) | {"erfc": 100.0}
# they decline large angles, divisions by 0, roots of negative numbers, and floats that no integer holds
DECLINING = {"sin", "cos", "tan", "floor_divide", "remainder", "fmod", "convert", "power_by"}
ORDERED = {"eq", "ne", "lt", "le", "gt", "ge"}
COMPARED = ORDERED | {"isnan", "isinf", "isfinite"}
COMPARED |= {"signbit"} | {f"logical_{name}" for name in ("and", "or", "xor", "not")}


def values(dtype):
    """Special values of a dtype, and ordinary ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [info.min, info.max, 0, 1, 2, 7, 9, 31, 33, info.max - 1]
        return np.array([*some, *([-1, -5, -7] if dtype.kind == "i" else [])], dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.7, -1e3, 709.0, np.inf, -np.inf, np.nan, tiny, -tiny, 1e-9]
    return np.array(special, dtype)


def result_dtype(op, chars, params):
    if "dtype" in params:
        return params["dtype"]
    if op.name == "complex":
        return np.result_type(chars[-1], np.complex64)
    return np.dtype(bool) if op.name in COMPARED else np.dtype(chars[-1])


def sites():
    """Each op that has an expression, with dtypes and params for which it has a text."""
    for op in [*OPS.values(), *PLAN_OPS.values()]:
        rule = TRAITS[op].c_expression
        if rule is None:
            continue
        count = {"masked": 2, "masked_else": 3}.get(op.name) or DEFINITIONS[op].operands[0]
        for char, params in itertools.product(CHARS, PARAMS.get(op.name, [{}])):
            for chars in filter(None, (chars_of(op, char, count), *mixed(op, char))):
                result = result_dtype(op, chars, params)
                if rule(CSite(tuple(map(np.dtype, chars)), result, params)) is not None:
                    yield op, chars, result, params


def mixed(op, char):
    others = {"b": "BI", "i": "I", "l": "IB", "I": "li"}.get(char, "")
    return [(char, other) for other in others] if op.name in ("eq", "lt", "ge") else []


def chars_of(op, char, count):
    """The dtypes of operands. Comparisons have integers of different ones too."""
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


TOGETHER = 100  # sites that are built together: a build has a minute


@functools.cache
def kernels(chunk):
    """The kernels of some sites, all built at once."""
    names: dict = {}

    def bind(prefix, thing):
        name = f"{prefix}{len(names)}"
        names[name] = thing
        return name

    numbers = range(TOGETHER * chunk, min(TOGETHER * (chunk + 1), len(SITES)))
    return install({f"g{i}": GroupSource(group_of(*SITES[i]), bind, str) for i in numbers}, names)


def served(function, arrays):
    """The elements that a kernel takes: one that it declines makes it decline all."""
    alone = [function(1, *[x[k : k + 1] for x in arrays]) for k in range(len(arrays[0]))]
    return np.array([result is not None for result in alone])


@needs_compiler
@pytest.mark.parametrize("i", range(len(SITES)), ids=NAMES)
def test_a_kernel_computes_what_numpy_does(i):
    op, chars, _, params = SITES[i]
    functions, states = kernels(i // TOGETHER)
    assert states[f"g{i}"] == "compiled"
    function, arrays = functions[f"g{i}"], [x.ravel() for x in np.meshgrid(*[values(c) for c in chars])]
    with np.errstate(all="ignore"):
        taken = served(function, arrays) if op.name in DECLINING else np.ones(arrays[0].shape, bool)
        arrays = [x[taken] for x in arrays]
        assert taken.sum() >= 4 or taken.all()
        results = function(len(arrays[0]), *arrays)
        expected = KERNELS[op].run(*arrays, **params)
    assert results[0].dtype == np.asarray(expected).dtype
    assert_same(op, params, results[0], expected)


def assert_same(op, params, ours, theirs):
    if op.name in ULPS or params.get("exponent") in (5, -1, 0.5, 1.5):
        assert_close(ours, theirs, ULPS.get(op.name, 4.0))
    elif op.name in ("max", "min"):
        np.testing.assert_array_equal(ours, theirs)  # of 0 and -0, NumPy takes the one or the other by position
    else:
        assert_bits(ours, theirs)


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
    elsewhere = set("FD")  # in test_kernels: NumPy rounds products by their positions in the array
    assert {char for char in known if c_type(np.dtype(char)) is not None} - set("qQL") - elsewhere <= set(CHARS)
