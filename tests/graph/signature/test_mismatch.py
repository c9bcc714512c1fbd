"""Errors of calls that do not fit a signature: their texts, their data, and that every wrong call gets one."""

import contextlib
import pickle
import random
import re

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import Dim, ShapeDtypeStruct, errors, trace
from anyshape.errors import InputSizeError
from tests.graph.signature.random_signatures import AXES, DECLARED, RandomSignature, sizes_program
from tests.graph.signature.solvers import integer, solver_from_text

# -- texts ---------------------------------------------------------------------------------------------------------


MISMATCHES = [
    (("2*d",), ((5,),), "x.shape[0] = 5 does not fit 2*d: remainder 1",
     "make it a size without a remainder, such as 4 or 6"),
    (("n", "n"), ((3,), (4,)), "y.shape[0] = 4 does not fit n (n = 3 from x.shape[0])",
     "make it 3, or change x.shape[0]"),
    (("n, m", "n + m"), ((3, 2), (7,)),
     "y.shape[0] = 7 does not fit m + n (m = 2 from x.shape[1], n = 3 from x.shape[0])",
     "make it 5, or change x.shape[1] and x.shape[0]"),
    (("n", "n + m"), ((3,), (2,)),
     "y.shape[0] = 2 does not fit m + n (n = 3 from x.shape[0]): m would be -1, and is at least 0",
     "make it at least 3"),
    (("a + b, a - b",), ((5, 2),), "x.shape[0] = 5 does not fit a + b (a - b = 2 from x.shape[1]): remainder 1",
     "make it a size without a remainder, such as 4 or 6"),
    (("a + b, 2*a - b",), ((1, 5),), "x.shape[0] = 1 does not fit a + b (a = 2 from x.shape[0] and x.shape[1]): "
     "b would be -1, and is at least 0", "make it at least 2"),
    (("a*a",), ((5,),), "x.shape[0] = 5 does not fit a**2: the nearest are 4 for a = 2 and 9 for a = 3",
     "call it with sizes that satisfy this"),
    (("n, n*n + b*b",), ((2, 6),), "x.shape[1] = 6 does not fit b**2 + n**2 (n = 2 from x.shape[0]): "
     "the nearest are 5 for b = 1 and 8 for b = 2", "call it with sizes that satisfy this"),
    (("3, n",), ((4, 1),), "x.shape[0] = 4 does not fit 3", "make it 3"),
    (("n, m", "n % m"), ((3, 0), (1,)),
     "y.shape[0] = 1 does not fit n % m (n = 3 from x.shape[0], m = 0 from x.shape[1]): it divides by 0",
     "call it with sizes that satisfy this"),
    (("a, 2*a + 3",), ((2, 8),), "x.shape[1] = 8 does not fit 2*a + 3 (a = 2 from x.shape[0])",
     "make it 7, or change x.shape[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("specs", "shapes", "first_line", "advice"), MISMATCHES, ids=[m[2] for m in MISMATCHES])
def test_text_of_a_mismatch(specs, shapes, first_line, advice):
    with pytest.raises(InputSizeError) as caught:
        solver_from_text(*specs)(*shapes)
    assert str(caught.value) == f"{first_line}\n  {advice}"
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and vars(copy) == vars(caught.value)


def test_text_of_bounds():
    solver = solver_from_text("n, n + 2*m", bounds={"n": (0, 4), "m": (1, None)})
    for shape, text in [
        ((5, 9), "x.shape[0] = 5 does not fit n: n is at most 4\n  make it at most 4"),
        ((3, 4), "x.shape[1] = 4 does not fit 2*m + n (n = 3 from x.shape[0]): remainder 1\n"
                 "  make it a size without a remainder, such as 3 or 5"),
        ((3, 3), "x.shape[1] = 3 does not fit 2*m + n (n = 3 from x.shape[0]): m would be 0, and is at least 1\n"
                 "  make it at least 5"),
    ]:  # fmt: skip
        with pytest.raises(InputSizeError) as caught:
            solver(shape)
        assert str(caught.value) == text


def test_data_of_a_mismatch():
    with pytest.raises(InputSizeError) as caught:
        solver_from_text("n, 2*d + n")((3, 8))
    error = caught.value
    assert (error.path, error.axis, error.spec, error.actual, error.remainder) == ("x", 1, "2*d + n", 8, 1)
    assert error.known == (("n", 3, "x.shape[0]"),)
    assert error.sizes == {"x.shape[1]": 8, "n": 3}
    with pytest.raises(InputSizeError) as caught:
        solver_from_text("", values={0: "k"})(-2)
    assert (caught.value.path, caught.value.axis, caught.value.actual) == ("x", None, -2)


# -- calls with random sizes ---------------------------------------------------------------------------------------


FORCED = [
    *AXES, "-2*b - a", "c*b*b + c*b", "a*b*c", "c - a*b", "a**3 + b", "-c", "a//(b+1) + a", "c**3 + a", "a-3",
    "a // b",
]  # fmt: skip


EQUAL = [
    *DECLARED, "a*b == 6", "2*b + a == 0", "b*b == a", "2*b == a", "a*b*c == 8", "b*b + b == c", "a // b == 2",
    "2*c == 6", "c*c*c == a", "b*b == 4", "b*b == 7", "max(a, b) == c", "a % 3 == b",
]  # fmt: skip


def check_wrong_calls(seed):
    """Check that any call runs or raises a SizeMismatchError about its arguments; return the number of refusals."""
    signature, rng, refused = RandomSignature(seed, FORCED, EQUAL), random.Random(seed), 0
    program = sizes_program(signature)
    for _ in range(30):
        sizes = rng.choice((range(9), (0, 1, 2, 10**6, 2**29)))
        shown = [rng.choice((*sizes, -1, 2**63 - 1, -(2**63)) if signature.is_value(k) else sizes)
                 for k in range(len(signature.declared))]  # fmt: skip
        try:
            program(*signature.arguments(shown))
        except errors.SizeMismatchError as error:
            refused += 1
            assert "\n  " in str(error), str(error)
            assert all(re.search(r"args\[|\b[abc]\b", source) for source in error.sources.values()), str(error)
    return refused


def check_wrong_calls_of(seeds):
    """Return the number of programs that refused a call."""
    refused = 0
    for seed in seeds:
        with contextlib.suppress(errors.ContradictionError, errors.UndeterminedSizeError):
            refused += check_wrong_calls(seed) > 0
    return refused


def test_every_wrong_call_raises_a_size_mismatch():
    assert check_wrong_calls_of(range(60)) > 20


@pytest.mark.slow
def test_many_wrong_calls_raise_size_mismatches():
    check_wrong_calls_of(range(60, 1500))


def test_a_size_too_large_for_a_dtype_is_refused():
    (k,) = anyshape.symbolic_shape("k")
    program = trace(lambda n: anp.asarray(2 * k))(integer(k))
    assert program(3) == 6
    with pytest.raises(errors.SizeMismatchError, match=r"size < 2\*\*63 does not hold for size = 18446744073709551614"):
        program(2**63 - 1)


# -- violated constraints ------------------------------------------------------------------------------------------


def declared_program(names, constraints, *specs):
    """Trace a sum over inputs with these declared constraints."""
    scope = anyshape.SymbolicScope(constraints=constraints, dims=[Dim(n) for n in names])
    structs = [ShapeDtypeStruct(anyshape.symbolic_shape(spec, scope=scope)) for spec in specs]
    return trace(lambda x, y=None: x.sum())(*structs)


WRONG = [
    ("ab", ["a*b == 6"], ["a"], [0], r"x.shape\[0\] = 0 does not fit a .*: a\*b must be 6"),
    ("ab", ["a*b == 6"], ["a"], [4], r"a\*b \(4, a from x.shape\[0\], b from 6 // a\) must equal 6"),
    ("ab", [], ["-2*b - a"], [1], r"x.shape\[0\] = 1 does not fit -a - 2\*b"),
    ("ab", ["b**3 == b + 7"], ["a + b"], [4], r"b\*\*3 \(8\) must equal b \+ 7 \(9\)"),
    (
        "nm",
        ["n >= 2*m"],
        ["n", "m"],
        [8, 5],
        r"n \(8, from x.shape\[0\]\) must be at least 2\*m \(10, m from y.shape\[0\]\)",
    ),
    (
        "nm",
        ["n >= 2*m"],
        ["n + m", "m"],
        [8, 5],
        r"n \(3, from x.shape\[0\] - m\) must be at least 2\*m \(10, m from y",
    ),
    (
        "cb",
        ["c >= 1"],
        ["c, c*b*b + c*b"],
        [(0, 0)],
        r"c \(0, from x.shape\[0\]\) must be at least 1",
    ),  # strictly increasing only for c >= 1
]


@pytest.mark.parametrize(("names", "constraints", "specs", "shapes", "words"), WRONG)
def test_text_of_a_violated_constraint(names, constraints, specs, shapes, words):
    program = declared_program(names, constraints, *specs)
    with pytest.raises(errors.SizeMismatchError, match=words):
        program(*[np.ones(shape) for shape in shapes])
