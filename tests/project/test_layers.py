"""Read the layers from the source: who may import whom, no imports in functions, no circles, no long files."""

import ast
from functools import cache
from pathlib import Path

import pytest

from anyshape.graph.ir.graph import OPS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "anyshape"
# Folders from the ground up. A folder imports itself and folders above it in this list, unless FORBIDDEN says no.
FLOORS = (
    "errors",
    "support",
    "graph/sizes",
    "graph/prover",
    "graph/shapes",
    "graph/signature",
    "graph/ir",
    "graph",
    "ops/core",
    "ops",
    "autodiff",
    "backend/runtime",
    "backend/compiler",
    "backend/numpy",
    "backend",
    "numpy/operands",
    "numpy/sizes",
    "numpy",
    "tracing",
    "inspect",
    "program",
    "transforms/caching",
    "transforms",
    "demo",
    "cli",
    "",
    "__main__",
)
FORBIDDEN = {
    "autodiff": {"backend"},  # derivatives are graphs: they know no backend
    "backend": {"autodiff"},
    "numpy": {"autodiff", "backend"},  # NumPy's functions are compositions of ops
    "demo": set(FLOORS) - {"demo", "support", "numpy", ""},  # public names alone: `anyshape` and `anyshape.numpy`
}
# Files that may load modules by name: the table of packages loaded at first use, and the command line, which loads
# the module that the user names.
LOADERS = {"support/packages.py", "cli/load_target.py"}
FILE_LINES, FUNCTION_LINES = 500, 40
FILES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))


@cache
def tree_of(file):
    return ast.parse((PACKAGE / file).read_text(), file)


def module_of(file):
    """anyshape/graph/sizes/expr.py -> anyshape.graph.sizes.expr; a package is its __init__."""
    parts = ["anyshape", *file.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(module):
    """The longest folder of FLOORS that holds the module; '' for the package itself."""
    path = "/".join(module.split(".")[1:])
    inside = [f for f in FLOORS if f and (path == f or path.startswith(f + "/"))]
    return max(inside, key=len, default="" if not path else None)


def may_import(floor, other):
    """A floor imports itself and what is below; FORBIDDEN holds for folders and all folders in them."""
    parts = floor.split("/")
    for folder in ("/".join(parts[:n]) for n in range(1, len(parts) + 1)):
        if any(other == f or other.startswith(f + "/") for f in FORBIDDEN.get(folder, ()) if f):
            return False
    return FLOORS.index(other) <= FLOORS.index(floor)


MODULES = {module_of(f): f for f in FILES}


def imported(file, nodes):
    """The modules of the project that import statements name, with their lines."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = base_of(file, node)
            names = [whole if (whole := f"{base}.{a.name}") in MODULES else base for a in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "anyshape")


def base_of(file, node):
    """The module that `from ... import` names, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    module = module_of(file)
    parts = module.split(".") if file.endswith("__init__.py") else module.split(".")[:-1]
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def typing_only(tree):
    """Statements under `if TYPE_CHECKING:`, which never run."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }


def functions(file):
    return [n for n in ast.walk(tree_of(file)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


@pytest.mark.parametrize("file", FILES)
def test_a_floor_imports_only_floors_below(file):
    floor = floor_of(module_of(file))
    assert floor is not None, f"{file}: in no folder of FLOORS; give it a place in tests/project/test_layers.py"
    wrong = [
        f"anyshape/{file}:{line} imports {name}"
        for name, line in imported(file, ast.walk(tree_of(file)))
        if not may_import(floor, floor_of(name)) and (floor, name) != ("demo", "anyshape")
    ]
    assert not wrong, f"{floor} stands below:\n" + "\n".join(wrong)


def test_forbidden_folders_exist():
    assert set(FORBIDDEN) <= set(FLOORS)
    for floor in FLOORS:
        assert floor in ("", "__main__") or (PACKAGE / floor).is_dir(), floor


@pytest.mark.parametrize("file", [f for f in FILES if f not in LOADERS])
def test_no_module_is_loaded_by_its_name(file):
    """Neither importlib, nor __import__, nor a module's __getattr__ hides an import from this test."""
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node).splitlines()[0]}"
        for node in ast.walk(tree_of(file))
        if (isinstance(node, (ast.Import, ast.ImportFrom)) and "importlib" in ast.unparse(node))
        or (isinstance(node, ast.Name) and node.id == "__import__")
        or (node in tree_of(file).body and getattr(node, "name", "") == "__getattr__")
    ]
    assert not wrong, "only support/packages.py loads at first use:\n" + "\n".join(wrong)


@pytest.mark.parametrize("file", [f for f in FILES if f.startswith("demo/")])
def test_the_demo_uses_public_names_only(file):
    allowed = {"anyshape", "anyshape.numpy", "anyshape.support.packages"}
    names = imported(file, ast.walk(tree_of(file)))
    wrong = [f"anyshape/{file}:{n} imports {m}" for m, n in names if m not in allowed and floor_of(m) != "demo"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES)
def test_no_import_inside_a_function(file):
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node)}"
        for function in functions(file)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES)
def test_imports_stand_at_the_top(file):
    """After the first other statement no import follows; under TYPE_CHECKING and in try blocks they may."""
    body = tree_of(file).body
    seen, wrong = False, []
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if seen:
                wrong.append(f"anyshape/{file}:{node.lineno} {ast.unparse(node)}")
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            seen = seen or not isinstance(node, (ast.If, ast.Try))
    assert not wrong, "\n".join(wrong)


def test_no_circle_between_modules():
    edges = {}
    for module, file in MODULES.items():
        skipped = typing_only(tree_of(file))
        nodes = [n for n in ast.walk(tree_of(file)) if n not in skipped]
        edges[module] = {name for name, _ in imported(file, nodes) if name != module}
    done, path = set(), []

    def visit(module):
        if module in path:
            pytest.fail("a circle of imports: " + " -> ".join([*path[path.index(module) :], module]))
        if module not in done:
            path.append(module)
            for name in sorted(edges.get(module, ())):
                visit(name)
            path.pop()
            done.add(module)

    for module in sorted(edges):
        visit(module)


@pytest.mark.parametrize("file", FILES)
def test_no_file_is_too_long(file):
    lines = len((PACKAGE / file).read_text().splitlines())
    assert lines <= FILE_LINES, f"anyshape/{file} has {lines} lines; split it by what it is about"


def length(function):
    """Lines of the body; the signature and the docstring are no work to read."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("file", FILES)
def test_no_function_is_too_long(file):
    lengths = [(f, length(f)) for f in functions(file)]
    wrong = [f"anyshape/{file}:{f.lineno} {f.name} has {n} lines" for f, n in lengths if n > FUNCTION_LINES]
    assert not wrong, "\n".join(wrong)


def _fills_names(node):
    """A call such as globals(), vars()[...] = , setattr(module or class, ...)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "globals":
            return True
        return node.func.id == "setattr"
    targets = node.targets if isinstance(node, ast.Assign) else []
    calls = [t.value for t in targets if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Call)]
    return any(ast.unparse(c.func) in ("vars", "locals") for c in calls)


@pytest.mark.parametrize("file", FILES)
def test_no_public_name_is_filled_in_from_a_list(file):
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node)}" for node in ast.walk(tree_of(file)) if _fills_names(node)
    ]
    assert not wrong, "write the names out:\n" + "\n".join(wrong)


@pytest.mark.parametrize("file", FILES)
def test_every_module_says_what_it_is_for(file):
    assert ast.get_docstring(tree_of(file)), f"anyshape/{file} has no docstring"


def test_the_layout_of_families_is_the_same_in_every_folder():
    """One family, one file name: a rule, a batching rule or a kernel has the file name of its op."""
    families = {f"{op.family}.py" for op in OPS.values()}
    for folder in ("autodiff/rules/", "autodiff/batching/", "backend/compiler/traits/", "backend/numpy/"):
        here = {f.removeprefix(folder) for f in FILES if f.startswith(folder)} - {"__init__.py"}
        stray = {f for f in here - families if not f.startswith("_")}
        assert not stray, f"anyshape/{folder} has {sorted(stray)}, anyshape/ops has no such file"
