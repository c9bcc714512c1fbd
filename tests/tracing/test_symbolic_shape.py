"""Shapes as values: bound, evaluated, substituted, compared and reshaped, against plain Python and NumPy."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from anyshape import Dim, ShapeDtypeStruct, SymbolicScope, SymbolicShape, errors, jit, symbolic_shape, trace

EXPRESSIONS = ["n", "2*n + m", "n // 2", "m % 3", "max(n, m)", "n*m", "7", "min(n, 4) + 1"]


def at(text, **sizes):
    return eval(text, {"max": max, "min": min}, sizes)


# -- binding -----------------------------------------------------------------------------------------------------


def test_binding_in_any_order_evaluates_to_what_python_says():
    shape = symbolic_shape(", ".join(EXPRESSIONS))
    n, m = shape.variables
    for a, b in itertools.product((0, 1, 2, 5, 7), repeat=2):
        expected = tuple(at(text, n=a, m=b) for text in EXPRESSIONS)
        assert shape.evaluate(n=a, m=b) == expected
        assert shape.evaluate({n: a, "m": b}) == expected
        assert shape.bind(n=a).bind(m=b) == expected == shape.bind({m: b}).bind(n=a)
        assert shape.bind(n=a).evaluate(m=b) == expected
        assert shape.partially_evaluate(n=a, m=b) == expected
        assert np.prod(expected) == shape.bind(n=a, m=b).numel
        half = shape.partially_evaluate(n=a)
        assert all(h in (None, e) for h, e in zip(half, expected, strict=True))
        fixed = ["m" not in text for text in EXPRESSIONS]
        assert [h is not None for h, f in zip(half, fixed, strict=True) if f] == [True] * sum(fixed)
    assert all(type(s) is int for s in shape.evaluate(n=np.int32(2), m=np.uint8(3)))


def test_what_a_shape_says_of_itself():
    shape = symbolic_shape("n, 2*n + m, 3")
    assert (shape.rank, str(shape.variables), shape.is_static) == (3, "(n, m)", False)
    assert str(shape.numel) == "3*m*n + 6*n**2" and symbolic_shape("").numel == 1 and symbolic_shape("2, 0").numel == 0
    assert not shape.is_fully_bound() and not shape.is_fully_bound(n=1) and shape.is_fully_bound(n=1, m=2)
    bound = shape.bind(n=1, m=2)
    assert bound.is_static and bound.is_fully_bound() and bound == (1, 4, 3) and bound.variables == ()
    assert shape == symbolic_shape("n, 2*n + m, 3", scope=shape[0].scope), "binding changes nothing"
    assert SymbolicShape.infer == -1


BOUND_WRONGLY = [
    ({"n": -1}, "n = -1 is out of range"),
    ({"k": 1}, "k = 1 is out of range\n  its range is 2 to 16"),
    ({"k": 17}, "k = 17 is out of range"),
    ({"n": 2.0}, "n = 2.0 is not an integer"),
    ({"n": float("nan")}, "n = nan is not an integer"),
    ({"n": True}, "n = True is not an integer"),
    ({"n": "3"}, "n = '3' is not an integer"),
    ({"n": None}, "n = None is not an integer"),
    ({"q": 1}, "q is not an unknown size of it\n  it has n, k, m"),
    ({2: 1}, "2 is not an unknown size of it"),
    ({"n": 3, "m": 4}, "n = 3, m = 4 contradicts n >= m"),
    ({"n": 10**30}, "n is bound to a number that is larger than any array"),
    ({"n": 10**5000}, "n is bound to a number that is larger than any array"),
    ({"m": 1}, "m = 1 contradicts m % 2 == 0"),
    ({"n": 2, "m": 2}, "contradicts n - 3 >= 0"),
]


@pytest.mark.parametrize(("bindings", "words"), BOUND_WRONGLY)
def test_a_binding_that_cannot_be(bindings, words):
    scope = SymbolicScope(["n >= m", "m % 2 == 0"], dims=[Dim("k", 2, 16)])
    shape = symbolic_shape("n, m, n - 3, k", scope=scope)
    for call in (shape.bind, shape.evaluate, shape.partially_evaluate):
        with pytest.raises(errors.SpecError) as caught:
            call(bindings)
        assert words in str(caught.value)
    assert shape.bind(n=4).bind(m=4) == (4, 4, 1, shape[3])
    with pytest.raises(errors.SpecError, match="m = 6 contradicts n >= m"):
        shape.bind(n=4).bind(m=6)
    with pytest.raises(errors.SpecError, match="n = 4 contradicts n >= m"):
        shape.bind(m=6).bind(n=4)


def test_an_unbound_size_is_named():
    shape = symbolic_shape("n, m + k")
    with pytest.raises(errors.SpecError, match="m has no value\n  bind m too"):
        shape.evaluate(n=1, k=2)
    with pytest.raises(errors.SpecError, match="n and m have no value\n  bind n and m too"):
        shape.evaluate(k=2)
    n = shape[0]
    with pytest.raises(errors.SpecError, match="n is given twice"):
        shape.bind({n: 1, "n": 2})
    for twice in (3000, np.int64(3000)):
        assert shape.bind({n: 3000}, n=int("3000"), m=2) == shape.bind({"n": twice, n: 3000, "m": 2})
    assert shape.substitute({n: 2 * shape[1], "n": shape[1] + shape[1]}) == shape.substitute({n: 2 * shape[1]})
    with pytest.raises(errors.SpecError, match="n is given twice"):
        shape.bind({n: 3000}, n=3001)
    with pytest.raises(errors.SpecError, match=r"2\*n is not an unknown size"):
        shape.bind({2 * n: 1})


def test_a_size_that_becomes_negative_or_divides_by_zero():
    n = Dim("steps")
    shape = SymbolicShape((n - 3, 7 // (n - 1)))
    assert shape.evaluate(steps=4) == (1, 2)
    with pytest.raises(errors.SpecError, match="steps - 3 is -1 for steps = 2"):
        shape.bind(steps=2)
    with pytest.raises(errors.SpecError, match=r"7 // \(steps - 1\) divides by zero for steps = 1"):
        SymbolicShape((7 // (n - 1),)).bind(steps=1)
    with pytest.raises(errors.SpecError, match="m = 0 contradicts m >= 1"):
        symbolic_shape("n // m").bind(m=0)


def test_constraints_fix_what_they_imply():
    shape = symbolic_shape("a, b, c", constraints=["a == b", "c == 2*a"])
    assert shape.bind(a=3) == (3, 3, 6) and shape.evaluate(b=2) == (2, 2, 4)
    assert shape.is_fully_bound(b=2) and not shape.is_fully_bound()
    wide = symbolic_shape("a, b", scope=SymbolicScope(["a*b == c + d", "c >= 1"]))
    assert wide.bind(a=2).bind(b=3) == (2, 3) == wide.evaluate(a=2, b=3, c=6, d=0)
    with pytest.raises(errors.SpecError, match=r"contradicts"):
        wide.bind(a=0, b=3)


def test_two_sizes_of_one_name_are_bound_apart():
    first, second = Dim("twin"), Dim("twin")
    shape = SymbolicShape((first, second))
    assert shape.evaluate({first: 1, second: 2}) == (1, 2) == shape.evaluate({"twin": 1, "twin@2": 2})
    assert SymbolicShape((second,)).evaluate(twin=5) == (5,)
    assert shape != (second, first) and SymbolicShape((first,)) != (second,)


# -- substituting ----------------------------------------------------------------------------------------------------


def test_substituting():
    shape = symbolic_shape("n, 2*n + m")
    n, m = shape.variables
    assert str(shape.substitute({n: m + 1})) == "(m + 1, 3*m + 2)"
    assert str(shape.substitute({"n": m, "m": n})) == "(m, 2*m + n)", "at once"
    assert shape.substitute({n: 3}) == shape.bind(n=3) and shape.substitute({}) == shape
    k = Dim("window", 2, 8)
    assert str(shape.substitute({n: 2 * k})) == "(2*window, m + 4*window)"
    with pytest.raises(errors.ScopeMismatchError):
        shape.substitute({n: symbolic_shape("z")[0]})
    for wrong in (-1, 2.5, None):
        with pytest.raises(errors.SpecError, match="not a size"):
            shape.substitute({n: wrong})


def test_substituted_sizes_keep_their_range_and_constraints():
    shape = symbolic_shape("k, n", scope=SymbolicScope(["n >= 2*k"], dims=[Dim("k", 2, 8)]))
    m = Dim("m")
    other = shape.substitute({"k": m + 1})
    assert str(other) == "(m + 1, n)"
    assert other.evaluate(m=7, n=16) == (8, 16)
    for m_size, n_size in [(0, 20), (8, 20), (3, 7)]:
        with pytest.raises(errors.SpecError, match=r"contradicts|out of range"):
            other.bind(m=m_size, n=n_size)
    bounded = SymbolicShape((Dim("p", 0, 4),)).substitute({"p": Dim("q", 5, 9) - 3})
    assert bounded.evaluate(q=6) == (3,)
    with pytest.raises(errors.SpecError):
        bounded.evaluate(q=8)
    with pytest.raises(errors.SpecError):
        SymbolicShape((Dim("p", 0, 4),)).substitute({"p": Dim("q", 5, 9)})


# -- as a tuple ------------------------------------------------------------------------------------------------------


def test_a_shape_is_a_tuple():
    shape = symbolic_shape("n, m, 3")
    n, m = shape.variables
    assert isinstance(shape, tuple) and repr(shape) == "(n, m, 3)" and repr(shape[:1]) == "(n,)" and len(shape) == 3
    assert type(shape[1:]) is type(shape + (2,)) is type((2,) + shape) is SymbolicShape
    assert (2,) + shape[1:] + (n,) == (2, m, 3, n) and shape[-1] == 3 and tuple(shape) == (n, m, 3)
    a, *rest = shape
    assert a is shape[0] and len(rest) == 2
    with pytest.raises(TypeError):
        shape[0] = 3
    with pytest.raises(TypeError):
        shape + [3]
    assert {shape: 1}[shape[:2] + (3,)] == 1
    again = pickle.loads(pickle.dumps(shape))
    assert type(again) is SymbolicShape and again == shape and again.bind(n=1) == shape.bind(n=1)
    assert copy.deepcopy(shape) == shape == copy.copy(shape)


def test_equality_is_of_structure_and_asks_nothing():
    shape = symbolic_shape("n, 2*m", scope=SymbolicScope(["n == 2*k"]))
    n, m = shape[0], symbolic_shape("m", scope=shape[0].scope)[0]
    assert shape == (n, 2 * m) and (n, m + m) == shape and hash(shape) == hash((n, 2 * m))
    assert shape not in ((n, m), (n,), "n", 3) and shape != symbolic_shape("n, 2*m")
    assert SymbolicShape((3, 4)) == (3, 4) and hash(SymbolicShape((3, 4))) == hash((3, 4)) and SymbolicShape() == ()
    assert ShapeDtypeStruct(shape) == ShapeDtypeStruct((n, 2 * m)) != ShapeDtypeStruct((n, m))
    assert hash(ShapeDtypeStruct(shape)) == hash(ShapeDtypeStruct((n, 2 * m)))


NO_SHAPES = [(-1,), (2.5,), (None,), (True,), ("n",), (float("nan"),), (2**63,), (10**5000,), 3, "n", None]


@pytest.mark.parametrize("sizes", NO_SHAPES)
def test_what_is_no_shape(sizes):
    with pytest.raises(errors.SpecError):
        SymbolicShape(sizes)


def test_sizes_of_two_scopes_make_no_shape():
    with pytest.raises(errors.ScopeMismatchError):
        SymbolicShape((symbolic_shape("n")[0], Dim("d"), symbolic_shape("n")[0]))
    with pytest.raises(errors.ScopeMismatchError):
        symbolic_shape("n") + symbolic_shape("m")


# -- reshaping -------------------------------------------------------------------------------------------------------


def test_reshaping_numbers_is_numpys():
    """Every reshape of small shapes to small shapes, with -1 and zeros: the same shape or both refuse."""
    sizes = (-1, 0, 1, 2, 3, 4, 6)
    targets = [t for rank in (0, 1, 2) for t in itertools.product(sizes, repeat=rank)] + [(2, -1, 3), (0, 2, -1)]
    for old in [(), (0,), (6,), (2, 3), (0, 3), (4, 3), (1, 1)]:
        for target in targets:
            try:
                expected = np.zeros(old).reshape(target).shape
            except ValueError:
                with pytest.raises((errors.ShapeError, errors.SpecError)):
                    SymbolicShape(old).resolve_reshape(target)
            else:
                assert SymbolicShape(old).resolve_reshape(target) == expected, (old, target)


RESHAPES = [
    ("4*n, 3", (), "(6, -1)", "(6, 2*n)"),
    ("n, m", ("n >= 1",), "(n, -1)", "(n, m)"),
    ("n, m", (), "(-1,)", "(m*n,)"),
    ("n, m", (), "(m, n)", "(m, n)"),
    ("n", ("n % 4 == 0",), "(-1, 4)", "(n // 4, 4)"),
    ("n, 3, 2", (), "(-1, 6)", "(n, 6)"),
    ("n, m", ("n == 12",), "(3, -1)", "(3, 4*m)"),
    ("n, m", ("m == 2*n",), "(n, n, 2)", "(n, n, 2)"),
    ("n + 1, 2", (), "(2*n + 2, 1)", "(2*n + 2, 1)"),
    ("n + 1, m", (), "(n + 1, -1)", "(n + 1, m)"),
]


@pytest.mark.parametrize(("old", "constraints", "to", "new"), RESHAPES)
def test_a_reshape_that_is_proved(old, constraints, to, new):
    shape = symbolic_shape(old, constraints=constraints)
    scope = shape.variables[0].scope
    sizes = {name: symbolic_shape(name, scope=scope)[0] for name in scope.names}
    target = eval(to, {}, sizes)
    resolved = shape.resolve_reshape(target)
    assert str(resolved) == new and type(resolved) is SymbolicShape
    for point in itertools.product((0, 1, 2, 4, 12), repeat=len(sizes)):
        bindings = dict(zip(sizes, point, strict=True))
        try:
            actual = shape.evaluate(bindings)
        except errors.SpecError:
            continue  # the constraints do not allow it
        target_now = tuple(s if isinstance(s, int) else SymbolicShape((s,)).evaluate(bindings)[0] for s in target)
        assert np.zeros(actual).reshape(target_now).shape == resolved.evaluate(bindings)


REFUSED = [
    ("n, 3", (-1, -1), errors.ShapeError, "only one size"),
    ("4*n + 2", (4, -1), errors.ShapeError, "remainder 2"),
    ("14", (4, -1), errors.ShapeError, "14 elements do not divide into rows of 4: remainder 2"),
    ("n", (4, -1), errors.SpecError, "unless n % 4 == 0, which does not follow"),
    ("n, 3", (4,), errors.ShapeError, r"3\*n must equal 4"),
    ("n, 3", (6,), errors.SpecError, r"cannot reshape \(n, 3\) to \(6,\), unless 3\*n == 6"),
    ("2*n", (3,), errors.ShapeError, r"2\*n must equal 3"),
    ("2, 3", (4, 2), errors.ShapeError, r"cannot reshape \(2, 3\) to \(4, 2\)"),
    ("n, 3", (0, -1), errors.ShapeError, "other sizes to be at least 1"),
    ("n, 3", (-2, 3), errors.SpecError, "-2 is not a size"),
    ("n, 3", (2.5, -1), errors.SpecError, "2.5 is not a size"),
]


@pytest.mark.parametrize(("old", "target", "kind", "words"), REFUSED)
def test_a_reshape_that_is_refused(old, target, kind, words):
    with pytest.raises(kind, match=words):
        symbolic_shape(old).resolve_reshape(target)


def test_a_reshape_by_a_size_that_may_be_zero_is_refused():
    shape = symbolic_shape("n, m")
    with pytest.raises(errors.SpecError, match="unless n >= 1"):
        shape.resolve_reshape((shape[0], -1))
    with pytest.raises(errors.ScopeMismatchError):
        shape.resolve_reshape((symbolic_shape("z")[0], -1))


def test_a_shape_made_in_a_program_serves_it():
    def function(x):
        shape = SymbolicShape(x.shape)
        flat = shape.resolve_reshape((-1,))
        return x.reshape(flat) if flat[0] > 4 else x.reshape(shape[::-1])

    program = jit(function)
    for n in (3, 5, 1):
        x = np.arange(4.0 * n).reshape(n, 4)
        np.testing.assert_array_equal(program(x), x.reshape(-1) if n > 1 else x.reshape(4, n), strict=True)
    described = symbolic_shape("n, m").bind(m=3)
    assert trace(np.transpose)(ShapeDtypeStruct(described))(np.ones((2, 3))).shape == (3, 2)
    with pytest.raises(errors.ShapeError):
        trace(np.transpose)(ShapeDtypeStruct(described))(np.ones((2, 4)))


# -- default ranges ---------------------------------------------------------------------------------------------


def test_a_scope_with_a_default_range():
    scope = SymbolicScope(["a >= 2*b"], dims=[Dim("wide", 5, 9)], min=1, max=8)
    a, b, wide = symbolic_shape("a, b, wide", scope=scope)
    assert (a.lower, a.upper, b.lower, wide.upper) == (2, 8, 1, 9)
    assert a // a == 1 and (b >= 1) is True and repr(b // b) == "1"
    (c,) = symbolic_shape("c", scope=pickle.loads(pickle.dumps(scope)))
    assert (c.lower, c.upper) == (1, 8)
    for sizes, words in (({"b": 0}, "at least 1|range is 1 to 8"), ({"a": 9}, "range is 1 to 8")):
        with pytest.raises(errors.SpecError, match=words):
            SymbolicShape((a, b)).bind(sizes)
    program = trace(lambda x: x.sum() / x.shape[0])(ShapeDtypeStruct(symbolic_shape("n", scope=SymbolicScope(min=1))))
    assert program(np.ones(3)) == 1
    with pytest.raises(errors.InputSizeError):
        program(np.ones(0))
    for wrong in ({"min": -1}, {"min": 3, "max": 2}, {"min": 1.5}, {"max": True}):
        with pytest.raises(errors.SpecError):
            SymbolicScope(**wrong)


def test_an_operation_that_needs_more_than_is_declared_has_witnesses_as_data():
    with pytest.raises(errors.UnprovedClaimError, match=r"which does not follow \(false for n = 1\)") as caught:
        symbolic_shape("n, 3").resolve_reshape((2, SymbolicShape.infer))
    assert caught.value.claim == "n % 2 == 0"
    assert caught.value.witnesses[True]["n"] % 2 == 0 != caught.value.witnesses[False]["n"] % 2
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.witnesses == caught.value.witnesses and str(again) == str(caught.value)
    with pytest.raises(errors.InconclusiveDimensionError) as asked:
        int(symbolic_shape("n")[0])
    assert asked.value.witnesses[True] != asked.value.witnesses[False]


def test_sizes_of_one_name_print_apart():
    (n,) = symbolic_shape("n")
    shape = SymbolicShape((n, Dim("n"), n + 1))
    assert str(shape) == "(n, n', n + 1)" and str(SymbolicShape((n, n))) == "(n, n)"
    assert len(shape.variables) == 2


def test_a_bound_is_refused_as_the_size_of_an_argument():
    with pytest.raises(errors.SpecError, match="a bound is not a size of an argument"):
        trace(lambda u: u * 2)(ShapeDtypeStruct("<=n"))
