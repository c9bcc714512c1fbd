"""Read the layers from the source: who may import whom, no imports in functions, no circles, no long files.

A module that is loaded at its first use counts as imported. So a row of `support/packages.py` counts as an import of
the module that it names, wherever it is imported.
"""

import ast
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

from anyshape.graph.ir.graph import OPS
from anyshape.support import packages

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
    "backend/native",
    "backend",
    "numpy/operands",
    "numpy/sizes",
    "numpy",
    "tracing",
    "inspect",
    "program",
    "transforms/caching",
    "transforms",
    "scipy/operands",
    "scipy/special",
    "scipy/fft",
    "scipy/linalg",
    "scipy/stats",
    "scipy/integrate",
    "scipy/optimize",
    "scipy/ndimage",
    "scipy/signal",
    "scipy/interpolate",
    "scipy/sparse/linalg",
    "scipy/sparse",
    "scipy/spatial/distance",
    "scipy/spatial/transform",
    "scipy/spatial",
    "scipy/cluster",
    "scipy",
    "autograd",
    "jax",
    "torch",
    "debug",
    "optimize",
    "cluster",
    "demo",
    "cli",
    "",
    "__main__",
)
FORBIDDEN = {
    "autodiff": {"backend"},  # derivatives are graphs: they know no backend
    "backend": {"autodiff"},
    "numpy": {"autodiff", "backend"},  # NumPy's functions are compositions of ops
    "demo": set(FLOORS) - {"demo", "support", "numpy", "cluster", ""},  # public names alone
}
# Files that may load modules by name: the table of packages loaded at first use, and the command line. The latter loads
# the module that the user names.
LATE = "anyshape.support.packages"
LOADERS = {
    "__init__.py", "support/packages.py", "cli/load_target.py", "numpy/serve.py", "numpy/__init__.py",
    "numpy/random/__init__.py", "optimize/__init__.py", "scipy/__init__.py", "autograd/numpy/__init__.py",
    "autograd/scipy/signal.py", "autograd/numpy/linalg.py",
    "numpy/foreign_source.py",  # imports inside of the functions of other packages
}  # fmt: skip
FILE_LINES, FUNCTION_LINES = 800, 60
CODE_LINES, MODULES_AT_MOST = 93_309, 519  # of the package: a change that adds takes away elsewhere, or says why here
FILES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))
# the packages of SciPy's names, as numpy/, serve names by a row
LOADERS |= {f for f in FILES if f[:6] in ("scipy/", "numpy/") and " = Module(" in (PACKAGE / f).read_text("utf-8")}


@cache
def tree_of(file):
    return ast.parse((PACKAGE / file).read_text(), file)


@cache
def nodes_of(file):
    """All nodes of a file: to walk over a tree takes longer than to look at what it holds."""
    return tuple(ast.walk(tree_of(file)))


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


@cache
def late_rows():
    """The rows of the table of what is loaded late: the module by the name of the row."""
    return {
        ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]): node.value.args[0].value
        for node in nodes_of("support/packages.py")
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and ast.unparse(node.value or node.target).startswith(("Package(", "Folder("))
    }


def imported(file, nodes):
    """The modules of the project that import statements name, with their lines; late ones too."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = base_of(file, node)
            names = [whole if (whole := f"{base}.{a.name}") in MODULES else base for a in node.names]
            names += [late_rows().get(a.name, base) for a in node.names if base == LATE]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "anyshape")


def all_imported(file, nodes):
    """The modules that a file names anywhere. Types of lazily imported modules do not count."""
    skipped = typing_only(nodes) if file == "support/packages.py" else ()
    return imported(file, [n for n in nodes if n not in skipped])


def base_of(file, node):
    """The module that `from ... import` names, with leading dots resolved; "" for a plain import."""
    if isinstance(node, ast.Import):
        return ""
    if not node.level:
        return node.module or ""
    module = module_of(file)
    parts = module.split(".") if file.endswith("__init__.py") else module.split(".")[:-1]
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def typing_only(nodes):
    """Statements under `if TYPE_CHECKING:`, which never run."""
    return {
        inner
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }


def functions(file):
    return [n for n in nodes_of(file) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def upward_imports(file, nodes):
    """A line for each import of a floor that is not below."""
    floor = floor_of(module_of(file))
    assert floor is not None, f"{file}: in no folder of FLOORS; give it a place in tests/project/test_layers.py"
    return [
        f"anyshape/{file}:{line} imports {name}"
        for name, line in all_imported(file, nodes)
        if not may_import(floor, floor_of(name)) and (floor, name) != ("demo", "anyshape")
    ]


def test_a_floor_imports_only_floors_below():
    wrong = [line for file in FILES for line in upward_imports(file, nodes_of(file))]
    assert not wrong, "what is imported stands above:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "planted", "module"),
    [
        ("graph/ir/graph.py", "from anyshape.support.packages import traced_program", "anyshape.program.program"),
        ("ops/core/apply.py", "from anyshape.support.packages import islpy, kernels", "anyshape.backend.numpy"),
        ("autodiff/jvp.py", "from anyshape.support.packages import lower as lower", "anyshape.backend.compiler.lower"),
        ("backend/compiler/lower.py", "from anyshape.support.packages import graph_jvp", "anyshape.autodiff.jvp"),
        ("support/progress.py", "from .packages import profiler", "anyshape.transforms.profiler"),
        ("graph/ir/graph.py", "from anyshape.program.program import Program", "anyshape.program.program"),
    ],
)
def test_an_upward_import_through_the_table_is_seen(file, planted, module):
    assert upward_imports(file, [*ast.walk(ast.parse(planted))]) == [f"anyshape/{file}:1 imports {module}"]


def test_rows_of_modules_loaded_late():
    """Each names a module that exists, and type checkers see the same module."""
    own = {name: module for name, module in late_rows().items() if module.split(".")[0] == "anyshape"}
    assert set(own.values()) <= set(MODULES)
    typed = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in typing_only(nodes_of("support/packages.py"))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {n: module for n, module in own.items() if isinstance(getattr(packages, n), packages.Package)}


def test_rows_of_modules_loaded_late_have_users():
    users = [n for f in FILES for n in nodes_of(f) if isinstance(n, ast.ImportFrom) and base_of(f, n) == LATE]
    unused = set(late_rows()) - {alias.name for node in users for alias in node.names}
    assert not unused, f"rows of support/packages.py that nothing uses: {sorted(unused)}"


def import_statements():
    """Every import statement of the package, with its file."""
    return [(f, n) for f in FILES for n in nodes_of(f) if isinstance(n, (ast.Import, ast.ImportFrom))]


def test_rows_are_imported_by_name():
    """An import of the whole table, or of its class, would hide which module it loads."""
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node)}"
        for file, node in import_statements()
        for alias in node.names
        if f"{base_of(file, node)}.{alias.name}" in (LATE, f"{LATE}.*", f"{LATE}.Package", f"{LATE}.Folder")
        or (isinstance(node, ast.Import) and alias.name == LATE)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_import_does_not_need_is_not_loaded():
    """Neither the compiler, nor rules and kernels, nor reports."""
    code = "import sys, anyshape; print(*[m for m in sys.modules if m.startswith('anyshape')])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = loaded.stdout.split()
    early = set(late_rows().values()) & set(modules)
    assert not early, f"loaded at import, though rows of support/packages.py: {sorted(early)}"
    assert len(modules) <= 240, f"{len(modules)} modules at import; 0.2 ms each: which of them can come later?"


def test_a_name_of_scipy_loads_only_what_defines_it():
    code = """
    import sys
    from anyshape.scipy.special import erf
    from anyshape.scipy.linalg import toeplitz
    print(*sorted(m.removeprefix("anyshape.scipy.") for m in sys.modules if m.startswith("anyshape.scipy.")))
    """
    arguments = [sys.executable, "-c", textwrap.dedent(code)]
    loaded = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert {m.partition(".")[0] for m in loaded} == {"linalg", "operands", "special"}
    assert {m for m in loaded if m.startswith("linalg.")} == {"linalg.structured"}, loaded


def test_the_first_calls_load_only_the_families_that_they_use():
    """A value and its gradient need a module of each table per family of their ops, and no other."""
    code = """
    import sys, numpy, anyshape, anyshape.numpy as np
    def loaded(folder):
        return sorted(m.rpartition(".")[2] for m in sys.modules if m.startswith(folder + "."))
    anyshape.value_and_grad(lambda x: np.sum(np.sin(x) * x))(numpy.ones(3))
    for name in sys.argv[1:]: print(*loaded(name))
    """
    folders = [late_rows()[name] for name in ("kernels", "derivative_rules")]
    arguments = [sys.executable, "-c", textwrap.dedent(code), *folders]
    lines = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    used = {"creation", "elementwise", "movement", "reduction"}
    assert [set(line.split()) - used for line in lines] == [set()] * 2, lines


def test_forbidden_folders_exist():
    assert set(FORBIDDEN) <= set(FLOORS)
    for floor in FLOORS:
        assert floor in ("", "__main__") or (PACKAGE / floor).is_dir(), floor


def test_no_module_is_loaded_by_its_name():
    """Neither importlib, nor __import__, nor a module's __getattr__ hides an import from this test."""
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node).splitlines()[0]}"
        for file in FILES
        if file not in LOADERS
        for node in nodes_of(file)
        if (isinstance(node, (ast.Import, ast.ImportFrom)) and "importlib" in ast.unparse(node))
        or (isinstance(node, ast.Name) and node.id == "__import__")
        or (node in tree_of(file).body and getattr(node, "name", "") == "__getattr__")
    ]
    assert not wrong, "only support/packages.py loads at first use:\n" + "\n".join(wrong)


@pytest.mark.parametrize("file", [f for f in FILES if f.startswith("demo/")])
def test_the_demo_uses_public_names_only(file):
    lent = {f"anyshape.support.{name}" for name in ("packages", "terminal")}
    allowed = {"anyshape", "anyshape.numpy", "anyshape.cluster", *lent}
    names = all_imported(file, nodes_of(file))
    wrong = [f"anyshape/{file}:{n} imports {m}" for m, n in names if m not in allowed and floor_of(m) != "demo"]
    assert not wrong, "\n".join(wrong)


def test_no_import_inside_a_function():
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node)}"
        for file in FILES
        for function in functions(file)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not wrong, "\n".join(wrong)


def late_imports(file):
    """Imports that follow another statement; under TYPE_CHECKING and in try blocks they may."""
    seen = False
    for node in tree_of(file).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if seen:
                yield f"anyshape/{file}:{node.lineno} {ast.unparse(node)}"
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            seen = seen or not isinstance(node, (ast.If, ast.Try))


def test_imports_stand_at_the_top():
    wrong = [line for file in FILES for line in late_imports(file)]
    assert not wrong, "\n".join(wrong)


def entered(module, name):
    """The modules that Python executes for an import: the one named, and the folders that it enters for it."""
    parts = name.split(".")
    folders = (".".join(parts[:n]) for n in range(2, len(parts)))  # not `anyshape` itself, which imports them all
    return {name, *[f for f in folders if not f"{module}.".startswith(f"{f}.")]}


def test_no_circle_between_modules():
    edges = {}
    for module, file in MODULES.items():
        skipped = typing_only(nodes_of(file))
        nodes = [n for n in nodes_of(file) if n not in skipped]
        edges[module] = {m for name, _ in imported(file, nodes) if name != module for m in entered(module, name)}
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


def code_lines(file):
    """How many lines of a file are neither blank, nor a comment, nor a docstring."""
    documented = {
        line
        for node in nodes_of(file)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and ast.get_docstring(node)
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    lines = enumerate((PACKAGE / file).read_text("utf-8").splitlines(), 1)
    return sum(n not in documented and not line.lstrip().startswith("#") and bool(line.strip()) for n, line in lines)


def test_the_package_grows_no_larger():
    total = sum(map(code_lines, FILES))
    assert total <= CODE_LINES, f"{total} lines of code"
    assert len(FILES) <= MODULES_AT_MOST, f"{len(FILES)} files"


def test_no_file_is_too_long():
    lengths = {file: len((PACKAGE / file).read_text().splitlines()) for file in FILES}
    wrong = [f"anyshape/{file} has {lines} lines" for file, lines in lengths.items() if lines > FILE_LINES]
    assert not wrong, "split by what it is about:\n" + "\n".join(wrong)


def length(function):
    """Lines of the body; the signature and the docstring are not work to read."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_function_is_too_long():
    lengths = [(file, f, length(f)) for file in FILES for f in functions(file)]
    wrong = [f"anyshape/{file}:{f.lineno} {f.name} has {n} lines" for file, f, n in lengths if n > FUNCTION_LINES]
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


def test_no_public_name_is_filled_in_from_a_list():
    wrong = [
        f"anyshape/{file}:{node.lineno} {ast.unparse(node)}"
        for file in FILES
        if file not in ("__init__.py", "numpy/__init__.py")  # they keep what they have loaded
        for node in nodes_of(file)
        if _fills_names(node)
    ]
    assert not wrong, "write the names out:\n" + "\n".join(wrong)


def test_every_module_says_what_it_is_for():
    wrong = [f"anyshape/{file} has no docstring" for file in FILES if not ast.get_docstring(tree_of(file))]
    assert not wrong, "\n".join(wrong)


def test_the_layout_of_families_is_the_same_in_every_folder():
    """One family, one file name: a rule, a batching rule or a kernel has the file name of its op."""
    families = {f"{op.family}.py" for op in OPS.values()}
    for folder in ("autodiff/rules/", "backend/numpy/"):
        here = {f.removeprefix(folder) for f in FILES if f.startswith(folder)} - {"__init__.py"}
        stray = {f for f in here - families if not f.startswith("_")}
        assert not stray, f"anyshape/{folder} has {sorted(stray)}, anyshape/ops has no such file"
