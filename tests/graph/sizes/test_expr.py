"""Test the algebra of sizes by brute force: generated expressions against plain Python at small assignments."""

import copy
import itertools
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.prover.decide import decide
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, InputAxis, RuntimeScalar
from anyshape.graph.sizes.substitute import broadcast_ints, evaluate, substitute, values_from
from anyshape.graph.sizes.symbols import to_source

VARIABLES = (DimVar("a"), DimVar("b"), DimVar("c", lower=1, upper=6))
VALUES = {VARIABLES[0]: (0, 1, 2, 3, 7), VARIABLES[1]: (0, 1, 2, 5), VARIABLES[2]: (1, 2, 6)}
ASSIGNMENTS = [dict(zip(VARIABLES, point, strict=True)) for point in itertools.product(*VALUES.values())]


def python_broadcast(*sizes):
    """Return the size that NumPy broadcasts to, or None if it raises."""
    stretched = {s for s in sizes if s != 1}
    return 1 if not stretched else stretched.pop() if len(stretched) == 1 else None


BINARY = {
    "add": (expr.add, lambda x, y: x + y),
    "mul": (expr.mul, lambda x, y: x * y),
    "floordiv": (expr.floordiv, lambda x, y: x // y if y else None),
    "mod": (expr.mod, lambda x, y: x % y if y else None),
    "ceildiv": (expr.ceildiv, lambda x, y: -(-x // y) if y else None),
    "max": (expr.maximum, max),
    "min": (expr.minimum, min),
    "broadcast": (expr.broadcast, python_broadcast),
}
WEIGHTS = (5, 4, 3, 2, 1, 2, 2, 2)


class Pair:
    """Expression with its value in plain Python: `truth(assignment)`, None where it is undefined."""

    def __init__(self, size, truth, text):
        self.size, self.truth, self.text = size, truth, text


def leaf_pair(rng):
    if rng.random() < 0.35:
        number = int(rng.integers(-3, 6))
        return Pair(number, lambda at: number, str(number))
    variable = VARIABLES[rng.integers(3)]
    return Pair(expr.from_atom(variable), lambda at: at[variable], variable.name)


def random_pair(rng, depth):
    """Return a random expression; its truth is None where a divisor is 0 or sizes do not broadcast."""
    if depth == 0 or rng.random() < 0.15:
        return leaf_pair(rng)
    name = list(BINARY)[rng.choice(len(BINARY), p=np.array(WEIGHTS) / sum(WEIGHTS))]
    x, y = random_pair(rng, depth - 1), random_pair(rng, depth - 1)
    build, python = BINARY[name]
    if isinstance(y.size, int) and y.size == 0 and name in ("floordiv", "mod", "ceildiv"):
        y = Pair(3, lambda at: 3, "3")
    if name == "broadcast" and isinstance(x.size, int) and isinstance(y.size, int):
        y = x  # two different constants are refused before their broadcast is built

    def truth(at):
        p, q = x.truth(at), y.truth(at)
        return None if p is None or q is None else python(p, q)

    return Pair(build(x.size, y.size), truth, f"{name}({x.text}, {y.text})")


def pairs(count, depth, seed):
    rng = np.random.default_rng(seed)
    return [random_pair(rng, depth) for _ in range(count)]


PAIRS = [*pairs(700, 2, 1), *pairs(900, 3, 2), *pairs(250, 4, 3)]


def valued():
    """Yield every (pair, assignment, value) that is defined."""
    for pair in PAIRS:
        for at in ASSIGNMENTS:
            value = pair.truth(at)
            if value is not None:
                yield pair, at, value


def test_the_canonical_form_has_the_value_python_gives():
    count = 0
    for pair, at, value in valued():
        assert evaluate(pair.size, values_from(at)) == value, f"{pair.text} = {pair.size} at {at}"
        count += 1
    assert count > 50_000  # guards against a generator that yields next to nothing


def test_bounds_hold():
    for pair, at, value in valued():
        low, high = expr.bounds(pair.size)
        assert low is None or low <= value, f"{pair.text} >= {low} fails at {at}: {value}"
        assert high is None or value <= high, f"{pair.text} <= {high} fails at {at}: {value}"


def test_generated_source_computes_the_same():
    for pair in PAIRS:
        source = to_source(pair.size, str)
        code = compile(source, "<size>", "eval")
        for at in ASSIGNMENTS:
            value = pair.truth(at)
            if value is not None:
                names = {v.name: s for v, s in at.items()}
                assert eval(code, {}, names) == value, f"{pair.text}: {source} at {at}"


def test_the_printed_form_reads_back_as_the_same_number():
    names = {"broadcast": broadcast_ints, "max": max, "min": min}
    for pair in PAIRS:
        code = compile(expr.show(pair.size), "<size>", "eval")
        for at in ASSIGNMENTS:
            value = pair.truth(at)
            if value is not None:
                assert eval(code, names, {v.name: s for v, s in at.items()}) == value, (
                    pair.text,
                    str(pair.size),
                )


def test_substitution_commutes_with_evaluation():
    """Replacing a variable by an expression and then evaluating gives the same as evaluating in the other order."""
    rng = np.random.default_rng(4)
    for pair in PAIRS[::2]:
        other = PAIRS[rng.integers(len(PAIRS))]
        if isinstance(other.size, int) and other.size < 0:
            continue
        replaced_variable = VARIABLES[rng.integers(2)]
        try:
            new = substitute(pair.size, {replaced_variable: other.size}.get)
        except ZeroDivisionError:
            continue  # the other size is 0 and a divisor
        for at in ASSIGNMENTS:
            inside = other.truth(at)
            if inside is None or inside < 0:
                continue  # a variable is at least 0
            value = pair.truth({**at, replaced_variable: inside})
            if value is not None:
                text = f"{pair.text} with {replaced_variable} = {other.text}: {new} at {at}"
                assert evaluate(new, values_from(at)) == value, text


def test_substituting_nothing_gives_the_same_object():
    for pair in PAIRS:
        assert substitute(pair.size, lambda atom: None) is pair.size or isinstance(pair.size, int)


def test_substituting_numbers_gives_the_number():
    for pair in PAIRS[::3]:
        for at in ASSIGNMENTS[::4]:
            value = pair.truth(at)
            if value is not None:
                assert substitute(pair.size, at.get) == value, (pair.text, at)


# -- identity ----------------------------------------------------------------------------------------------


def test_equal_canonical_forms_are_one_object():
    for pair in PAIRS:
        if isinstance(pair.size, DimExpr):
            rebuilt = DimExpr(tuple(pair.size.terms))
            assert rebuilt is pair.size
            assert hash(rebuilt) == hash(pair.size)
            assert pickle.loads(pickle.dumps(pair.size)) is pair.size
            assert copy.deepcopy(pair.size) is pair.size


def check_ring_laws(x, y, z):
    assert expr.add(x, y) is expr.add(y, x) or expr.add(x, y) == expr.add(y, x)
    assert expr.add(expr.add(x, y), z) == expr.add(x, expr.add(y, z))
    assert expr.mul(x, y) == expr.mul(y, x)
    assert expr.mul(x, expr.add(y, z)) == expr.add(expr.mul(x, y), expr.mul(x, z))


def check_neutral_elements(x):
    assert x - x == 0
    assert expr.add(x, 0) is x
    assert expr.mul(x, 1) is x
    assert expr.mul(x, 0) == 0


def test_ring_laws_give_one_object():
    rng = np.random.default_rng(5)
    sizes = [p.size for p in PAIRS if isinstance(p.size, DimExpr)]
    for _ in range(1500):
        x, y, z = (sizes[i] for i in rng.integers(len(sizes), size=3))
        check_ring_laws(x, y, z)
        check_neutral_elements(x)


def test_maximum_and_minimum_do_not_depend_on_the_order_of_arguments():
    rng = np.random.default_rng(6)
    sizes = [p.size for p in PAIRS]
    for _ in range(800):
        chosen = [sizes[i] for i in rng.integers(len(sizes), size=3)]
        for function in (expr.maximum, expr.minimum):
            extrema = {function(*order) for order in itertools.permutations(chosen)}
            assert len(extrema) == 1, f"{function.__name__} of {chosen} in some order: {extrema}"


def test_broadcast_does_not_depend_on_the_order_of_arguments():
    a, b, c = (expr.from_atom(v) for v in VARIABLES)
    for chosen in itertools.product([a, b, c, 1, a + 1], repeat=3):
        sizes = {expr.broadcast(*order) for order in itertools.permutations(chosen)}
        assert len(sizes) == 1, (chosen, sizes)
        assert expr.broadcast(expr.broadcast(*chosen[:2]), chosen[2]) in sizes


@pytest.mark.parametrize("other", [1.5, 2.0, float("nan"), "x", None])
def test_arithmetic_with_a_non_integer_is_refused(other):
    n = expr.variable("n")
    assert str(n + 2) == "n + 2" and n * 2 == n + n, "2.0 hits the memoised result of 2, unless it is refused first"
    functions = operator.add, operator.sub, operator.mul, operator.floordiv, operator.pow
    for function, args in itertools.product(functions, [(n, other), (other, n)]):
        with pytest.raises(TypeError):
            function(*args)
    for relation in (equal, at_least):
        with pytest.raises(TypeError):
            decide(relation(n, other))


def test_a_negative_power_is_no_size():
    for size in (expr.variable("n"), 2):
        with pytest.raises(ValueError):
            expr.power(size, -1)


def test_variables_of_one_name_differ():
    first, second = DimVar("n"), DimVar("n")
    assert first is not second
    assert expr.from_atom(first) != expr.from_atom(second)
    assert str(expr.from_atom(first)) == str(expr.from_atom(second)) == "n"
    assert pickle.loads(pickle.dumps(first)) is first


def test_leaves_of_ops_are_equal_by_value():
    assert InputAxis(0, 1) == InputAxis(0, 1)
    assert expr.from_atom(InputAxis(0, 1)) is expr.from_atom(InputAxis(0, 1))
    assert expr.from_atom(RuntimeScalar(0)) is not expr.from_atom(RuntimeScalar(1))


def test_an_expression_keeps_its_identity_in_a_fresh_process(tmp_path):
    """Pickled twice into another process, an expression is one object there and prints the same."""
    sizes = [p.size for p in PAIRS[:200]]
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(pickle.dumps(sizes))
    second.write_bytes(pickle.dumps(sizes))
    program = (
        "import pickle, sys\n"
        "a, b = (pickle.load(open(p, 'rb')) for p in sys.argv[1:])\n"
        "assert all(x is y or x == y and isinstance(x, int) for x, y in zip(a, b))\n"
        "from anyshape.graph.sizes import expr\n"
        "fresh = expr.variable('a')\n"
        "assert all(v is not fresh for x in a for v in expr.variables(x))\n"
        "print('|'.join(map(str, a)))\n"
    )
    command = [sys.executable, "-c", program, str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "|".join(map(str, sizes))


def test_a_size_has_no_truth_value():
    with pytest.raises(TypeError, match="no truth value"):
        bool(expr.variable("n"))


# -- identities that canonical forms contain ---------------------------------------------------------------

n, m = expr.variable("n"), expr.variable("m")
k = expr.variable("k", lower=1)
IDENTITIES = [
    (2 * n // 2, n),
    ((2 * n + 1) // 2, n),
    (6 * n // 4, 3 * n // 2),
    (n // 2 // 3, n // 6),
    ((4 * n + 6) // 2, 2 * n + 3),
    (n * k // k, n),
    (n * k % k, 0),
    (0 // k, 0),
    ((n + 3 * m) % 3, n % 3),
    (expr.maximum(n, 0), n),
    (expr.maximum(n, n + 2), n + 2),
    (expr.minimum(n, n + 2), n),
    (expr.minimum(n, n), n),
    (expr.maximum(n, expr.maximum(m, n)), expr.maximum(n, m)),
    (expr.broadcast(n, 1), n),
    (expr.broadcast(n, 5), 5),
    (expr.broadcast(n, expr.broadcast(m, n)), expr.broadcast(m, n)),
    (expr.ceildiv(2 * n, 2), n),
    (expr.ceildiv(n, 3), (n + 2) // 3),
    (-(-n // 3), (n + 2) // 3),
    (expr.ceildiv(expr.ceildiv(n, 2), 3), (n + 5) // 6),
    (3 * (-n // 3) + -n % 3, -n),
    (m * (-n % 7) - 7 * m * expr.ceildiv(n, 7), -m * n),
    (expr.ceildiv(n + 4, 4), 1 + expr.ceildiv(n, 4)),
    ((n + m) * (n - m), n * n - m * m),
]


@pytest.mark.parametrize(("size", "expected"), IDENTITIES, ids=lambda s: str(s))
def test_equal_sizes_have_one_canonical_form(size, expected):
    assert size is expected or size == expected


# A quotient by a size that may be 0 must stay: n * m // m is undefined where m is 0, and n is not.
@pytest.mark.parametrize("size", [n * m // m, n * m % m, n // m, m // m], ids=str)
def test_a_divisor_that_may_be_zero_stays(size):
    assert isinstance(size, DimExpr)
    atom = expr.as_atom(size)
    assert isinstance(atom, Call)


@pytest.mark.parametrize("function", [expr.floordiv, expr.mod])
def test_division_by_the_constant_zero_raises(function):
    with pytest.raises(ZeroDivisionError):
        function(n, 0)
    with pytest.raises(ZeroDivisionError):
        function(3, 0)


SHOWN = [
    (2 * n + 1, "2*n + 1"),
    ((n + 7) // 8, "(n + 7) // 8"),
    (n - 1, "n - 1"),
    (-n, "-n"),
    (3 - 2 * n, "3 - 2*n"),
    (n * n, "n**2"),
    (3 * (n // 2), "3*(n // 2)"),
    (expr.maximum(n - 1, 0), "max(n - 1, 0)"),
    (n % 2 + 1, "(n % 2) + 1"),
]


@pytest.mark.parametrize(("size", "text"), SHOWN, ids=[t for _, t in SHOWN])
def test_a_size_prints_as_users_write_it(size, text):
    assert str(size) == text
