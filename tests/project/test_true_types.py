"""Rule: modules that meet values of users ask by `has_type` for classes that traced values stand for."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "anyshape"
# Elsewhere values are arrays of a run, expressions of sizes and parameters of ops: none of them is traced
FOLDERS = ("numpy", "ops", "optimize", "scipy", "tracing", "transforms")
STOOD_FOR = {
    *("int", "float", "complex", "bool"),
    *("ndarray", "generic", "number", "integer", "floating", "inexact", "bool_", "complexfloating"),
    *("int64", "float64", "Number", "Integral", "Real", "Complex"),
}
FILES = sorted(p for folder in FOLDERS for p in (PACKAGE / folder).rglob("*.py"))


def tables(tree):
    """Return the names of tuples of classes that a module holds, by the classes in them."""
    return {
        target.id: {name for name in names_in(node.value, {}) if name in STOOD_FOR}
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, (ast.Tuple, ast.BinOp))
    }


def names_in(node, known):
    """Return the names of classes in the second argument of `isinstance`."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return names.union(*[known.get(name, set()) for name in names])


def fooled(source):
    """List the lines that ask a value for a class that traced values say they have."""
    tree = ast.parse(source)
    known = tables(tree) | {name: {"int"} for name in ("PYTHON_SCALARS", "INTEGERS", "INEXACT")}
    return [node.lineno for node in ast.walk(tree) if asks(node, known)]


def asks(node, known):
    """Return True for `isinstance(x, int)`, `np.isscalar(x)`, `case int():` and `x.__class__`."""
    if isinstance(node, ast.MatchClass):
        return bool(names_in(node.cls, known) & STOOD_FOR)
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return not (isinstance(node.value, ast.Name) and node.value.id == "self")
    if not isinstance(node, ast.Call):
        return False
    called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if called in ("isscalar", "iterable", "singledispatch"):
        return True
    return called == "isinstance" and bool(names_in(node.args[1], known) & STOOD_FOR)


def test_classes_that_traced_values_stand_for_are_asked_for_by_has_type():
    wrong = [f"{path.relative_to(PACKAGE)}:{line}" for path in FILES for line in fooled(path.read_text())]
    assert not wrong, "write has_type(x, ...) of anyshape.support.true_types:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("isinstance(x, np.ndarray)", True),
        ("isinstance(n, (str, int))", True),
        ("isinstance(n, int | str)", True),
        ("K = (int, str)\nisinstance(n, K)", True),
        ("isinstance(n, (*K, PYTHON_SCALARS))", True),
        ("isinstance(n, numbers.Integral)", True),
        ("np.isscalar(x)", True),
        ("x.__class__ is int", True),
        ("match x:\n    case float():\n        pass", True),
        ("has_type(x, np.ndarray)", False),
        ("isinstance(x, Traced)", False),
        ("isinstance(x, (list, tuple))", False),
        ("self.__class__", False),
        ("type(x) is np.ndarray", False),
    ],
)
def test_the_rule_itself(source, wrong):
    assert bool(fooled(source)) == wrong
