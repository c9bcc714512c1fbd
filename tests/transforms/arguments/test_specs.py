"""Tests of specifications of sizes: syntax, declarations, and the error for each mistake."""

import copy
import pickle
import re
import time

import numpy as np
import pytest

import anyshape
from anyshape import Dim, ShapeDtypeStruct, SymbolicScope, errors, symbolic_args_specs, symbolic_shape, trace
from anyshape.graph.prover.spec_parser import parse_relation, parse_shape, parse_size
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, substitute, values_from

X = np.ones((3, 4))


class Names(dict):
    """A new size for each new name."""

    def __missing__(self, name):
        self[name] = expr.variable(name)
        return self[name]


# -- reading -----------------------------------------------------------------------------------------------------

READ = [
    ("", "()"),
    ("()", "()"),
    ("  ", "()"),
    ("a", "(a,)"),
    ("(a)", "(a,)"),
    ("(a,)", "(a,)"),
    ("(a, b)", "(a, b)"),
    ("a, b,", "(a, b)"),
    ("(a+1), (b+2)", "(a + 1, b + 2)"),
    ("(a + 1) * (b)", "(a*b + b,)"),
    ("a, 2*b, (a+1)//2", "(a, 2*b, (a + 1) // 2)"),
    ("b + b", "(2*b,)"),
    ("-a*b + 3", "(3 - a*b,)"),
    ("-a**2 + a", "(a - a**2,)"),
    ("2**3*a", "(8*a,)"),
    ("2**3**0", "(2,)"),
    ("a^2*b, -a^2 + a, 2^3^0, (a + b)^2", "(a**2*b, a - a**2, 2, a**2 + 2*a*b + b**2)"),
    ("a - b - c", "(a - b - c,)"),
    ("12//5//2, 7 - -3, +4", "(1, 10, 4)"),
    ("a % 3, mod(a, 3)", "(a % 3, a % 3)"),
    ("floordiv(a, b), a // b", "(a // b, a // b)"),
    ("ceildiv(4*a, 4), ceildiv(7, 2)", "(a, 4)"),
    ("max(a, b, 3), min(2*a, a)", "(max(a, b, 3), a)"),
    ("a\n,\tb", "(a, b)"),
    ("größe, x_1, _b", "(größe, x_1, _b)"),
    ("9223372036854775807", "(9223372036854775807,)"),
    ("007", "(7,)"),
]


@pytest.mark.parametrize(("text", "shape"), READ)
def test_a_specification_reads(text, shape):
    assert str(symbolic_shape(text)) == shape


def python_broadcast(*sizes):
    wide = {s for s in sizes if s != 1}
    if len(wide) > 1:
        raise ZeroDivisionError("sizes that do not broadcast have no meaning")
    return wide.pop() if wide else 1


PYTHON = {
    "max": max,
    "min": min,
    "broadcast": python_broadcast,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
}


def random_text(rng, depth):
    """A text that Python can read too, with as few brackets as may be."""
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice(["a", "b", "c", "n@2".replace("@2", "2"), "0", "1", "2", "5"]))
    kind = rng.random()
    x, y = random_text(rng, depth - 1), random_text(rng, depth - 1)
    if kind < 0.15:
        return f"{rng.choice(list(PYTHON))}({x}, {y})"
    if kind < 0.35:
        return f"({x})"
    if kind < 0.45:
        return f"{rng.choice(['-', '+', '- -'])}{x}"
    if kind < 0.5:
        return f"({x})**{rng.integers(0, 4)}"
    return f"{x}{rng.choice([' ', ''])}{rng.choice(['+', '-', '*', '//', '%'])} {y}"


@pytest.mark.parametrize("seed", range(6))
def test_operators_bind_as_in_python(seed):
    """Texts read as expressions, and evaluated, give what Python's eval gives; with numbers for names at once, too."""
    rng = np.random.default_rng(seed)
    points = [dict(zip("abc", p, strict=True), n2=p[0] + 1) for p in [(0, 1, 2), (3, 2, 5), (7, 4, 1)]]
    compared = 0
    for _ in range(250):
        text = random_text(rng, 4)
        names = Names()
        try:
            size = parse_size(text, names.__getitem__)
        except errors.SpecError as error:
            assert "divides by zero" in str(error)
            continue
        for point in points:
            try:
                expected = eval(text, {}, {**PYTHON, **point})
            except ZeroDivisionError:
                continue
            variables = {expr.as_atom(s): point[name] for name, s in names.items()}
            assert evaluate(size, values_from(variables)) == expected, text
            assert parse_size(text, point.get) == expected, text
            compared += 1
    assert compared > 300


def random_size(rng, depth, leaves):
    if depth == 0 or rng.random() < 0.15:
        return int(rng.integers(-4, 9)) if rng.random() < 0.3 else leaves[rng.integers(len(leaves))]
    builders = [expr.add, expr.sub, expr.mul, expr.floordiv, expr.mod, expr.ceildiv, expr.maximum, expr.minimum]
    build = [*builders, expr.broadcast, lambda a, b: expr.power(a, 2)][rng.integers(10)]
    x, y = random_size(rng, depth - 1, leaves), random_size(rng, depth - 1, leaves)
    if build in builders[3:6] and y == 0:
        y = 3
    return x if build is expr.broadcast and isinstance(x, int) else build(x, y)


@pytest.mark.parametrize("seed", range(5))
def test_printed_sizes_read_back_as_the_same_object(seed):
    rng = np.random.default_rng(seed)
    keep = [Dim("n"), Dim("n", 1, 6)]
    leaves = [expr.variable("a"), expr.variable("b"), *[d.expr for d in keep]]
    names = {str(v): v for v in leaves}
    assert len(names) == 4
    checked = 0
    for _ in range(400):
        try:
            size = random_size(rng, int(rng.integers(1, 6)), leaves)
        except errors.SizeLimitError:
            continue
        if isinstance(size, int):
            continue
        assert parse_size(str(size), names.get) is size, size
        try:
            other = substitute(size, {expr.as_atom(leaves[0]): leaves[2] + 1}.get)
        except ZeroDivisionError:
            continue
        assert isinstance(other, int) or parse_size(str(other), names.get) is other, other
        checked += 1
    assert checked > 150


SHOWN = [
    ("2*n + 1", "2*n + 1"),
    ("(n+7)//8", "(n + 7) // 8"),
    ("n*n", "n**2"),
    ("max(n, m)", "max(m, n)"),
    ("(n % 3)*2", "2*(n % 3)"),
    ("(n//2)**2 - 1", "(n // 2)**2 - 1"),
    ("3 - n", "3 - n"),
    ("m - n", "m - n"),
    ("0 - n", "-n"),
    ("n//m", "n // m"),
    ("(n+1) % (m+1)", "(n + 1) % (m + 1)"),
    ("broadcast(n, m)", "broadcast(m, n)"),
    ("ceildiv(n, 8)", "(n + 7) // 8"),
    ("ceildiv(n, 3)", "(n + 2) // 3"),
    ("-(-n//3)", "(n + 2) // 3"),
    ("1 - (-n//3)", "((n + 2) // 3) + 1"),
    ("-n % 3", "(-n) % 3"),
    ("n + -(n + m) % 8", "n + ((-m - n) % 8)"),
    ("(7 - n) % 8", "(7 - n) % 8"),
    ("(2*n)//3", "(2*n) // 3"),
]


@pytest.mark.parametrize(("written", "shown"), SHOWN)
def test_sizes_print_as_users_write_them(written, shown):
    names = Names()
    size = parse_size(written, names.__getitem__)
    assert str(size) == shown
    assert parse_size(shown, names.__getitem__) is size


# -- mistakes ----------------------------------------------------------------------------------------------------

MISTAKES = [
    ("a,,b", 2, "a size is missing"),
    (",", 0, "a size is missing"),
    ("a b", 2, "'b' is not expected"),
    ("a, b$", 4, "'$' is not expected"),
    ("  a, b ! c", 7, "'!' is not expected"),
    ("a, 2.5", 3, "'2.5' is not an integer"),
    ("1e5", 0, "is not an integer"),
    ("0x10", 0, "is not an integer"),
    ("3n", 0, "is not an integer"),
    (".5", 0, "is not a size"),
    ("nan", None, None),
    ("-3", 0, "negative size"),
    ("a, 2 - 5", 3, "negative size"),
    ("9223372036854775808", 0, "larger than any array"),
    ("a + " + "9" * 5000, 4, "larger than any array"),
    ("2**63 - 1", 1, "larger than any array"),
    ("10**1000000000", 2, "larger than any array"),
    ("4*9223372036854775807", 1, "larger than any array"),
    ("a**b", 1, "the exponent b"),
    ("a**-1", 1, "the exponent -1"),
    ("(a", 0, "never closed"),
    ("a, ((b)", 3, "never closed"),
    ("max(a, b", 3, "never closed"),
    ("a)", 1, "')' is not expected"),
    ("(a, (b, c))", 6, "',' is not expected"),
    ("(a, b),", 2, "',' is not expected"),
    ("max()", 4, "a size is missing"),
    ("max(a,)", 6, "a size is missing"),
    ("floordiv(a)", 0, "takes 2 arguments, not 1"),
    ("mod(a, b, c)", 0, "takes 2 arguments, not 3"),
    ("a + foo(b)", 4, "'foo' is not a function"),
    ("a + max", 4, "'max' is a function"),
    ("a // 0", 2, "divides by zero"),
    ("a, b % (2 - 2)", 5, "divides by zero"),
    ("a/b", 1, "write //"),
    ("a^b", 1, "the exponent b is not a fixed number"),
    ("a == b", 2, "'==' is not expected"),
    ("a = b", 2, "write =="),
    ("a if b else c", 2, "'if' is not expected"),
    ("a[0]", 1, "'[' is not expected"),
    ("a.b", 1, "'.' is not expected"),
    ("'a'", 0, "is not a size"),
    ("a, _", 3, "`like`, which was not given"),
    ("..., a, _", 0, "`like`, which was not given"),
    ("_ + 1", 0, "a whole axis"),
    ("a + ...", 4, "whole axes"),
    ("a +", 3, "a size is missing"),
    ("* a", 0, "one axis, without *"),
    ("a n@2", 2, "'n@2' is not expected"),
]


@pytest.mark.parametrize(("text", "column", "words"), MISTAKES, ids=[t[:20] for t, _, _ in MISTAKES])
def test_a_syntax_error_is_shown_at_its_column(text, column, words):
    if words is None:  # a name like any other
        assert str(symbolic_shape(text)) == f"({text},)"
        return
    for call in (symbolic_shape, lambda t: trace(np.sin)(ShapeDtypeStruct(t))):
        with pytest.raises(errors.SpecError) as caught:
            call(text)
        assert words in str(caught.value)
        assert caught.value.column == column
        assert "^" in str(caught.value)


MISTAKEN_CONSTRAINTS = [
    ("a", None, "not a relation"),
    ("a >= b >= 1", 7, "chains two relations"),
    ("a >= b and b >= 1", 7, "'and' is not expected"),
    ("a = b", 2, "write =="),
    ("a => b", 2, "write =="),
    ("a >=", 4, "a size is missing"),
    (">= a", 0, "a size is missing"),
    ("a >= b, c", 6, "',' is not expected"),
    ("n is large", 2, "'is' is not expected"),
    ("a >= zz + yy", 5, "'zz' and 'yy' are not names"),
    ("q == 1", 0, "'q' is not a name"),
    ("a == _", 5, "a whole axis"),
    ("a >= 2.5", 5, "not an integer"),
]


@pytest.mark.parametrize(("text", "column", "words"), MISTAKEN_CONSTRAINTS)
def test_a_mistake_in_a_constraint(text, column, words):
    scope = SymbolicScope(["a >= 2"])
    for _ in range(2):  # nothing of the first call is left
        with pytest.raises(errors.SpecError) as caught:
            symbolic_shape("n, a, b", constraints=["n >= a", text], scope=scope)
        assert words in str(caught.value) and caught.value.column == column and caught.value.spec == text
    assert str(scope) == "SymbolicScope(a; a >= 2)"


N = 10_000
HOSTILE = {
    "brackets": "(" * N + "a" + ")" * N,
    "open brackets": "(" * N,
    "closed brackets": ")" * N,
    "minuses": "-" * N + "a",
    "terms": "+".join(["a"] * N),
    "names": "+".join(f"v{i}" for i in range(N)),
    "factors": "*".join(["a"] * N),
    "names to multiply": "*".join(f"v{i}" for i in range(N)),
    "sums to multiply": "*".join(["(a+b+c)"] * N),
    "powers": "1**" * N + "1",
    "axes": ",".join(["a"] * N),
    "quotients in quotients": "(" * N + "a" + "//b+1)" * N,
    "halves of halves": "(" * N + "a" + "//2+1)" * N,
    "remainders in remainders": "(" * N + "a" + "%b+1)" * N,
    "sums in sums": "(" * N + "a" + "+1)" * N,
    "products in products": "(" * N + "a" + "*b+1)" * N,
    "maxima in maxima": "max(" * N + "a" + ",b)" * N,
    "many to choose from": "max(" + ",".join(f"v{i}" for i in range(N)) + ")",
    "differences in maxima": "max(" * N + "a" + "- b,c)" * N,
    "digits": "9" * 100_000,
    "tower": "2**" * N + "2",
    "power": "(a + b + c)**1000000",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_long_and_deep_texts_take_bounded_time(name):
    before = time.process_time()
    try:
        parse_shape(HOSTILE[name], Names().__getitem__)
    except (errors.SpecError, errors.SizeLimitError) as error:
        assert len(str(error)) < 1000
    assert time.process_time() - before < 60  # a third of a second, unless it doubles with every level


# -- placeholders ------------------------------------------------------------------------------------------------

LIKE = [
    ("a, _, c", (2, 3, 4), "(a, 3, c)"),
    ("a, ...", (2, 3, 4), "(a, 3, 4)"),
    ("..., b", (2, 3, 4), "(2, 3, b)"),
    ("a, ..., b", (2, 3, 4), "(a, 3, b)"),
    ("a, b, ...", (2, 3), "(a, b)"),
    ("...", (2, 3, 4), "(2, 3, 4)"),
    ("(..., _)", (2, 3), "(2, 3)"),
    (None, (2, 3), "(2, 3)"),
    ("a, 3", (2, 3), "(a, 3)"),
    ("_, 2*a", X, "(3, 2*a)"),
    ("", (), "()"),
    ("...", (), "()"),
    ("a, ..., 4", (None, 3, None), "(a, 3, 4)"),
    ("_, 2*a", (3, None), "(3, 2*a)"),
]


@pytest.mark.parametrize(("text", "like", "shape"), LIKE)
def test_placeholders_take_sizes_from_like(text, like, shape):
    assert str(symbolic_shape(text, like=like)) == shape


LIKE_MISTAKES = [
    ("_, a", (None, 3), "like = (None, 3) has None here"),
    ("a, ...", (2, None), "like = (2, None) has None here"),
    ("a, 4", (None, 5), "4 is not the size 5"),
    ("a, b", (2, 3, 4), "has 2 axes, like = (2, 3, 4) has 3"),
    ("a, b, c, ...", (2, 3), "has 3 axes, like = (2, 3) has 2"),
    ("..., ...", (2, 3), "only one '...'"),
    ("a, 5", (2, 3), "5 is not the size 3"),
    ("a", (), "has 1 axes"),
]


@pytest.mark.parametrize(("text", "like", "words"), LIKE_MISTAKES)
def test_placeholders_that_do_not_match_are_refused(text, like, words):
    with pytest.raises(errors.SpecError) as caught:
        symbolic_shape(text, like=like)
    assert words in str(caught.value)


def test_a_placeholder_takes_a_symbolic_size_of_the_same_scope():
    n = Dim("n")
    assert symbolic_shape("_, m", like=(n, 3))[0] + n is not None
    a, b = symbolic_shape("a, b")
    assert str(symbolic_shape("_, c", like=(a, b), scope=a.scope)) == "(a, c)"
    with pytest.raises(errors.ScopeMismatchError, match=r"a of the scope made at test_specs\.py"):
        symbolic_shape("_, c", like=(a, b))


# -- what a specification declares ---------------------------------------------------------------------------------


def test_constraints_are_assumed_and_checked():
    n, m, k = symbolic_shape(
        "n, m, k", constraints=["n >= m", "m % 8 == 0", "n*m == k + 1", "k != 3", "n > 2", "m<100"]
    )
    assert n >= m and n - m >= 0 and m % 8 == 0 and n * m == k + 1 and k != 3 and n >= 3 and m <= 99
    assert 8 * (m // 8) == m and m <= 96 and m.upper == 96 and 3 <= n.lower <= 8
    program = trace(lambda x: x * 2)(ShapeDtypeStruct((n, m, k)))
    assert program(np.ones((8, 8, 63))).shape == (8, 8, 63)
    for shape in [(7, 8, 55), (9, 7, 62), (8, 8, 64)]:
        with pytest.raises(errors.SizeMismatchError, match=r"must (equal|be)|does not fit"):
            program(np.ones(shape))


@pytest.mark.parametrize(
    "constraints",
    [
        ["a >= 5", "a <= 3"],
        ["a < b", "b < a"],
        ["a == b", "a == b + 1"],
        ["a + 1 <= 0"],
        ["1 == 2"],
        ["2*a == 2*b + 1"],
        ["a >= b + 1", "b >= a"],
        ["a % 4 == 1", "a % 2 == 0"],
        ["max(a, b) <= 3", "min(a, b) >= 4"],
    ],
)
def test_constraints_that_contradict_are_refused(constraints):
    scope = SymbolicScope()
    for _ in range(2):
        with pytest.raises(errors.ContradictionError) as caught:
            symbolic_shape("a, b", constraints=constraints, scope=scope)
        assert str(caught.value.where).startswith("test_specs.py")
        assert caught.value.spec == constraints[-1]
    assert str(scope) == "SymbolicScope()"


def test_no_axis_is_negative():
    a, b = symbolic_shape("a, b, a - b")[:2]
    assert a >= b
    c, d = symbolic_shape("c, d")
    program = trace(lambda x, y: y)(ShapeDtypeStruct((c, d)), ShapeDtypeStruct((c - d,)))
    assert program(np.ones((5, 2)), np.ones(3)).shape == (3,)
    decided = trace(lambda x, y: x if x.shape[0] >= x.shape[1] else -x)
    assert decided(ShapeDtypeStruct((c, d)), ShapeDtypeStruct((c - d,)))(np.ones((2, 2)), np.ones(0)).sum() == 4
    assert decided(ShapeDtypeStruct("c, d"), ShapeDtypeStruct("c - d"))(np.ones((2, 2)), np.ones(0)).sum() == 4
    with pytest.raises(errors.InconclusiveDimensionError):
        decided(ShapeDtypeStruct("c, d"), ShapeDtypeStruct("c"))
    with pytest.raises(errors.ContradictionError):
        symbolic_shape("a, -a - 1")


def test_a_divisor_is_not_zero():
    m = symbolic_shape("n, m, n // m")[1]
    assert m >= 1 and m != 0
    program = trace(lambda x, y: y)(ShapeDtypeStruct("n, m"), ShapeDtypeStruct("n % m"))
    assert program(np.ones((5, 3)), np.ones(2)).shape == (2,)
    with pytest.raises(errors.ShapeError):
        program(np.ones((5, 0)), np.ones(2))


def test_broadcast_declares_that_sizes_broadcast():
    program = trace(lambda x, y: y)(ShapeDtypeStruct("a, b"), ShapeDtypeStruct("broadcast(a, b)"))
    assert program(np.ones((1, 5)), np.ones(5)).shape == (5,)
    with pytest.raises(errors.SizeMismatchError, match=r"must equal .*, or one of them must be 1"):
        program(np.ones((2, 5)), np.ones(2))
    with pytest.raises(errors.ContradictionError):
        symbolic_shape("broadcast(2, 3)")


# -- scopes ------------------------------------------------------------------------------------------------------


def test_one_name_is_one_size_in_a_scope():
    scope = SymbolicScope(["a >= b"])
    (a,) = symbolic_shape("a", scope=scope)
    b, again = symbolic_shape("b, a + 1", scope=scope, constraints=["b >= 2"])
    assert again - a == 1 and a >= b and a >= 2 and a.lower == 2
    assert a.scope is scope and str(scope) == "SymbolicScope(a, b; a >= b, b >= 2)"
    (c,) = symbolic_shape("a*2", scope=a.scope)
    assert c == 2 * a
    scope.declare("a <= 10")
    assert b <= 10 and b.upper == 10


@pytest.mark.parametrize("keep", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_constraint_on_a_name_that_no_size_has_stops_a_program(keep):
    scope = keep(SymbolicScope(["bacth >= 8"], dims=[Dim("wide", 1, 9)]))
    batch = keep(symbolic_shape("batch", scope=scope))
    for use in (trace(np.sin), lambda x: anyshape.eval_shape(np.sin, x)):
        with pytest.raises(errors.SpecError) as caught:
            use(ShapeDtypeStruct(batch))
        assert str(caught.value).startswith("'bacth >= 8': no size of its scope mentions bacth")
        assert "which has wide, batch" in str(caught.value)
    with pytest.raises(errors.SpecError):
        symbolic_shape("bacth, -1", scope=batch[0].scope)
    with pytest.raises(errors.SpecError):
        trace(np.sin)(ShapeDtypeStruct(batch))
    symbolic_shape("bacth + 1", scope=batch[0].scope)
    assert trace(np.sin)(ShapeDtypeStruct(batch))(np.zeros(3)).shape == (3,)


def test_constraints_may_relate_names_of_other_shapes_and_names_that_follow():
    scope = SymbolicScope(["k % 2 == 0", "n == 2*half", "wide >= 2"], dims=[Dim("wide", max=9)])
    symbolic_shape("k", scope=scope)
    program = trace(np.sin)(ShapeDtypeStruct(symbolic_shape("n", scope=scope)))
    assert program(np.zeros(4)).shape == (4,)
    with pytest.raises(errors.AnyshapeError):
        program(np.zeros(3))
    scope.declare("m >= 2")
    with pytest.raises(errors.SpecError, match="mentions m"):
        trace(np.sin)(ShapeDtypeStruct(symbolic_shape("k", scope=scope)))


def test_a_scope_prints_names_ranges_and_constraints():
    scope = SymbolicScope(["n % 2 == 0"], dims=[Dim("batch", 1, 64), Dim("seq", 2)])
    symbolic_shape("batch, seq, n", scope=scope)
    assert str(scope) == "SymbolicScope(1 <= batch <= 64, seq >= 2, n; n % 2 == 0)"


def test_scopes_do_not_mix():
    a = symbolic_shape("n")[0]
    b = symbolic_shape("n")[0]
    uses = [
        lambda: a + b,
        lambda: a >= b,
        lambda: a == b,
        lambda: anyshape.max_dim(a, 3, b),
        lambda: np.add(a, b),
        lambda: divmod(a, b),
        lambda: ShapeDtypeStruct((a, b)),
        lambda: trace(np.add)(ShapeDtypeStruct((a,)), ShapeDtypeStruct((b,))),
        lambda: trace(lambda x: x.reshape(b, 1))(ShapeDtypeStruct((a,))),
        lambda: trace(lambda x: x.shape[0] + b)(ShapeDtypeStruct((a,))),
        lambda: trace(lambda x: x * b)(ShapeDtypeStruct((a,))),
        lambda: anyshape.jit(lambda x: x.reshape(b, -1))(X),
        lambda: anyshape.jit(lambda x: x if x.shape[0] > b else -x)(X),
    ]
    for use in uses:
        with pytest.raises(errors.ScopeMismatchError) as caught:
            use()
        origins = [str(o) for o in caught.value.origins]
        assert all(o.startswith("test_specs.py:") for o in origins) and len(set(origins)) == 2
        assert all(o in str(caught.value) for o in origins)
        assert str(caught.value.where).startswith("test_specs.py:")


def test_a_program_may_close_over_sizes_of_its_specifications():
    n, m, k = symbolic_shape("n, m, k", constraints=["n >= m"])

    def function(x):
        assert x.shape[0] == n and x.shape[0] >= m and x.shape[0] + m >= 2 * m
        return x.reshape(n, m, 1) * (n - m)

    assert trace(function)(ShapeDtypeStruct((n, m)))(np.ones((5, 2))).sum() == 30
    with pytest.raises(errors.SpecError, match="k is not a size of the arguments"):
        trace(lambda x: x * k)(ShapeDtypeStruct((n, m)))


def test_sizes_of_eval_shape_mix_with_its_inputs():
    n, m = symbolic_shape("n, m")
    struct = anyshape.eval_shape(lambda x: x.reshape(-1), ShapeDtypeStruct((n, m)))
    assert struct.shape == (n * m,) and struct.shape[0] + n == n * m + n
    d = Dim("d")
    assert anyshape.eval_shape(np.transpose, ShapeDtypeStruct((d, 3))).shape[1] + n == n + d


# -- Dim ---------------------------------------------------------------------------------------------------------


def test_two_dims_of_one_name_are_two_sizes():
    a, b = Dim("n"), Dim("n", max=4)
    first, second = str(a), str(b)
    assert re.fullmatch(r"n(@\d+)?", first) and re.fullmatch(r"n@\d+", second) and first != second
    assert str(2 * b) == f"2*{second}" and set(str(a + b).split(" + ")) == {first, second}
    with pytest.raises(errors.InconclusiveDimensionError) as caught:
        bool(a == b)
    assert set(caught.value.witnesses[True]) == {first, second}
    program = trace(lambda x, y: np.concatenate([x, y]))(ShapeDtypeStruct((a,)), ShapeDtypeStruct((b,)))
    assert program(np.ones(7), np.ones(2)).shape == (9,)
    scope = SymbolicScope(dims=(a, b))
    assert str(symbolic_shape(f"{first}, {second} + 1", scope=scope)) == "(n, n' + 1)"
    assert symbolic_shape(second, scope=scope)[0] == b
    assert symbolic_shape("n", scope=SymbolicScope(dims=[b]))[0] == b
    assert a == symbolic_shape("n", scope=scope)[0]


def test_a_name_is_free_again_once_unused():
    name = "once"
    dim = Dim(name)
    double = 2 * dim
    del dim
    assert str(Dim(name)) == "once@2"
    del double
    assert str(Dim(name)) == "once"


def test_a_dim_and_a_name_of_a_specification_print_apart():
    n, m = Dim("k"), symbolic_shape("k")[0]
    assert str(n + m) == "k + k'"
    assert str(n // 2 + m) in ("(k // 2) + k'", "k + (k' // 2)")


def test_the_range_of_a_dim_is_assumed_and_checked():
    n = Dim("n", min=2, max=8)
    assert (n.lower, n.upper, n.min, n.max, n.name) == (2, 8, 2, 8, "n")
    assert (2 * n + 1).upper == 17 and n >= 2 and n <= 8 and (n % 16).upper == 8
    assert (Dim("m").lower, Dim("m").upper, Dim("m", 3).min, Dim("m", max=4).max) == (0, None, 3, 4)
    assert Dim("one", 1, 1) == 1
    program = trace(lambda x: x * 2 if x.shape[0] > 1 else -x)(ShapeDtypeStruct((n,)))
    for size in (2, 8):
        assert program(np.ones(size)).sum() == 2 * size
    for size in (0, 1, 9):
        with pytest.raises(errors.ShapeError, match="n"):
            program(np.ones(size))


def test_dims_mix_with_every_scope():
    d, e = Dim("d", 1, 5), Dim("e")
    n, m = symbolic_shape("n, m", constraints=["n >= 6"])
    assert n > d and (d + e + n).scope is n.scope and (d + e).scope.free
    assert anyshape.max_dim(n, d) is not None and str(anyshape.max_dim(n, d)) == "n"
    program = trace(lambda x, y: x.reshape(d, -1) + y)(ShapeDtypeStruct((d, n)), ShapeDtypeStruct((n,)))
    assert program(np.ones((2, 6)), np.ones(6)).shape == (2, 6)
    with pytest.raises(errors.SpecError, match="e is not a size of the arguments"):
        trace(lambda x: x + e)(ShapeDtypeStruct((d,)))
    with pytest.raises(errors.SpecError, match="e is not a size of the arguments"):
        anyshape.jit(lambda x: x + e)(X)
    assert m is not None


@pytest.mark.parametrize(
    "bounds", [(5, 3), (-1,), (1.5,), (True,), (0, float("nan")), (0, -1), ("1",), (0, 2.0), (None,)]
)
def test_an_invalid_range_is_refused(bounds):
    with pytest.raises(errors.SpecError, match="Dim"):
        Dim("n", *bounds)


@pytest.mark.parametrize("name", ["", "2n", "a b", "_", "max", "broadcast", "n@2", 3, None])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(errors.SpecError, match="not a name for a size"):
        Dim(name)


def test_dims_with_one_name_are_one_dim():
    n = Dim("n", np.int64(1), np.int8(9))
    assert isinstance(n, Dim) and not isinstance(2 * n, Dim) and isinstance(n + 0, type(2 * n))
    again = pickle.loads(pickle.dumps(n))
    assert isinstance(again, Dim) and again - n == 0 and again.max == 9 and again == n and hash(again) == hash(n)
    assert copy.deepcopy(n) is n and copy.copy(n) is n
    scope = SymbolicScope(["a >= n"], dims=[n])
    (a,) = symbolic_shape("a", scope=scope)
    b, same = pickle.loads(pickle.dumps((a, scope)))
    assert b == a and b >= n and b.scope is same and str(same) == str(scope) and b + a == 2 * a


@pytest.mark.parametrize("dims_given", [[3], ["n"], [symbolic_shape("n")[0]], [2 * Dim("other")]])
def test_only_dims_enter_a_scope(dims_given):
    with pytest.raises(errors.ArgumentError, match="dims"):
        SymbolicScope(dims=dims_given)


# -- trees of arguments --------------------------------------------------------------------------------------------


def shapes(tree):
    return anyshape.tracing.pytrees.flatten(tree)[0]


ARGS_SPECS = [
    ((X, {"w": X}), "a, b", "[(a, b), (a, b)]"),
    ((X, {"w": X}), ("a, b", None), "[(a, b), (3, 4)]"),
    ((X, {"w": X}), ["a, b", None], "[(a, b), (3, 4)]"),
    ((X, {"w": X}), ("a, _", {"w": "a, ..."}), "[(a, 4), (a, 4)]"),
    ((X, X), "...", "[(3, 4), (3, 4)]"),
    ((X, X), None, "[(3, 4), (3, 4)]"),
    ((X, 3.0, np.int8(2)), ("a, _", "", None), "[(a, 4), (), ()]"),
    ({"p": [X, X], "q": X}, {"p": "a, b", "q": "_, 2*b"}, "[(a, b), (a, b), (3, 2*b)]"),
    ((X, None), "a, _", "[(a, 4)]"),
    ((ShapeDtypeStruct((2, 3), np.float32),), "a, _", "[(a, 3)]"),
    ((), "a", "[]"),
]


@pytest.mark.parametrize(("args", "specs", "expected"), ARGS_SPECS)
def test_symbolic_args_specs(args, specs, expected):
    tree = symbolic_args_specs(args, specs)
    assert type(tree) is type(args)
    assert str([x.shape for x in shapes(tree)]) == expected
    kinds = [getattr(x, "dtype", np.result_type(x)) for x in shapes(args)]
    assert [x.dtype for x in shapes(tree)] == kinds


ARGS_MISTAKES = [
    ((X, {"w": X}), ("a, b", {"v": "a"}), errors.ArgumentError, r"shapes_specs\[1\]"),
    ((X, X, X), (None, "_, b"), errors.ArgumentError, "different numbers of entries at shapes_specs"),
    ((X, 3.0), ("a, _", (2, 3)), errors.ArgumentError, r"shapes_specs\[1\]"),
    ((X,), (3,), errors.ArgumentError, r"args\[0\]: the specification is 3"),
    ((X, {"w": X}), ("a, b", {"w": "a, b, c"}), errors.SpecError, r"3 axes, .* has 2, in args\[1\]\['w'\]"),
    ((X, X), ("a, b", "a, 5"), errors.SpecError, r"5 is not the size 4 .* in args\[1\]"),
    ((X, X), ("a, b", "a, b$"), errors.SpecError, r"'\$' is not expected here, in args\[1\]"),
    ((X, object()), "a, b", errors.ArgumentError, r"args\[1\] is of type object"),
    ((ShapeDtypeStruct("n, 3"),), "a, b", errors.ArgumentError, r"args\[0\] has a specification"),
]


@pytest.mark.parametrize(("args", "specs", "kind", "words"), ARGS_MISTAKES)
def test_symbolic_args_specs_refuses_mismatches(args, specs, kind, words):
    with pytest.raises(kind, match=words):
        symbolic_args_specs(args, specs)


def test_specs_of_arguments_share_a_scope_and_its_constraints():
    params = {"w": np.zeros((4, 2)), "b": np.zeros(2)}
    specs = symbolic_args_specs((X, params), ("n, d", {"w": "d, m", "b": "m"}), constraints=["n >= d", "m <= 3"])
    x, p = specs
    assert x.shape[1] == p["w"].shape[0] and x.shape[0] >= p["w"].shape[0] and p["b"].shape[0].upper == 3
    program = trace(lambda x, p: x @ p["w"] + p["b"])(*specs)
    assert program(np.ones((6, 5)), {"w": np.ones((5, 3)), "b": np.ones(3)}).tolist() == [[6.0] * 3] * 6
    with pytest.raises(errors.SizeMismatchError, match=r"n .* must be at least d"):
        program(np.ones((4, 5)), {"w": np.ones((5, 3)), "b": np.ones(3)})
    scope = SymbolicScope(dims=[Dim("batch", 1, 16)])
    (y,) = symbolic_args_specs((X,), "batch, _", scope=scope)
    assert y.shape[0].upper == 16 and y.shape[0].scope is scope
    with pytest.raises(errors.SpecError, match="'q' is not a name"):
        symbolic_args_specs((X,), "a, _", constraints=["q >= a"])
    with pytest.raises(errors.ContradictionError):
        symbolic_args_specs((X,), "a, b", constraints=["a >= b + 1", "b >= a"])


# -- other bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2.5, -1, float("nan"), None, True, "3", np.float64(2), np.bool_(True), 1j, X])
def test_an_invalid_size_is_refused(size):
    with pytest.raises(errors.SpecError, match="is not a size"):
        ShapeDtypeStruct((3, size))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ShapeDtypeStruct(3),
        lambda: symbolic_shape(3),
        lambda: symbolic_shape(("n", 3)),
        lambda: symbolic_shape("n", constraints="n >= 1"),
        lambda: symbolic_shape("n", constraints=[3]),
        lambda: symbolic_shape("n", scope=3),
        lambda: SymbolicScope("n >= 1"),
    ],
)
def test_arguments_of_another_kind(call):
    with pytest.raises((errors.SpecError, errors.ArgumentError)):
        call()


def test_relations_read_with_their_text():
    claims = [parse_relation(t, Names().__getitem__).claims[0] for t in ("a<b", " a >= 2*b ", "a > b//c")]
    assert [str(c) for c in claims] == ["a<b", "a >= 2*b", "a > b//c"]
    assert [c.relation for c in claims] == [">=", ">=", ">="]
