"""Run NumPy's own test files with `anyshape.numpy` in place of `numpy`, used eagerly, beside NumPy itself.

`python -m tests.external.numpy_tests lib/tests/test_twodim_base.py` counts the tests that pass with each, and names
the tests that pass with NumPy alone. Paths are those in the installed package of NumPy, or in `--numpy FOLDER`.

Exceptions of test_ufunc.py: it reads private members of ufuncs and of `linalg` (`_resolve_dtypes_and_context`,
`_get_strided_loop`, `_umath_linalg`), and a pickle that names `numpy`.

Exceptions of test_umath.py: an operand with `__array_ufunc__` is given NumPy's own ufunc. Two tests write docstrings of
ufuncs. One leaves out `spacing` of float16 by `is np.spacing`.

Exceptions of test_linalg.py: classes have `array = np.array`, and a function of Python becomes a method there. It also
reads `linalg.lapack_lite`, which is private.

Exceptions of test_nanfunctions.py: it compares signatures, and ours have annotations.

Exceptions elsewhere: test_function_base.py reads the text of an error, test_random.py the file of a warning. Its other
names have the name of the module in them. `test_huge_list_error` of test_shape_base.py makes a list of 2**31 arrays.
"""

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy

import anyshape.numpy as anp

ROOT = Path(__file__).parents[2]
SWAPPED = {name: f"anyshape.{name}" for name in ("numpy", "numpy.linalg", "numpy.fft", "numpy.random")}
BESIDE = ("_natype.py", "_locales.py", "data")  # what test files read beside them


def numpy_itself():
    """Return an expression for the module that NumPy is."""
    return ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant("numpy")], [])


class Swap(ast.NodeTransformer):
    """Imports of NumPy, as imports of anyshape.numpy; its private names stay NumPy's."""

    def visit_Import(self, node):
        """Import anyshape.numpy for NumPy."""
        node.names = [
            ast.alias(SWAPPED.get(a.name, a.name), a.asname or ("numpy" if a.name == "numpy" else None))
            for a in node.names
        ]
        return node

    def visit_ImportFrom(self, node):
        """Import public functions from anyshape.numpy."""
        if node.module in SWAPPED and not node.level:
            node.module = SWAPPED[node.module]
        if node.module != "numpy._core" or node.level:
            return node
        ours = [a for a in node.names if a.name in anp.__all__]
        others = [a for a in node.names if a not in ours]
        parts = [("anyshape.numpy", ours), ("numpy._core", others)]
        return [ast.copy_location(ast.ImportFrom(module, names, 0), node) for module, names in parts if names]

    def visit_Call(self, node):
        """Remove NumPy's own functions from lists of its private modules, and take ufuncs of both for ufuncs."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and ast.unparse(node.args[1]) == "np.ufunc":
            node.args[1] = ast.parse("(np.ufunc, type(np.add))", mode="eval").body
        if isinstance(node.func, ast.Attribute) and node.func.attr == "remove":
            for arg in node.args:
                if isinstance(arg, ast.Attribute) and isinstance(arg.value, ast.Name) and arg.value.id == "np":
                    arg.value = ast.copy_location(numpy_itself(), arg)
        return node

    def visit_Compare(self, node):
        """Look for a ufunc of NumPy's private module in a list of public ones by its name."""
        self.generic_visit(node)
        if ast.unparse(node) == "ufunc in escape":
            return ast.copy_location(
                ast.parse("ufunc.__name__ in [f.__name__ for f in escape]", mode="eval").body, node
            )
        return node

    def visit_Attribute(self, node):
        """Read private names from NumPy."""
        self.generic_visit(node)
        is_numpy = isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy")
        if is_numpy and node.attr[0] == "_" and node.attr != "__version__":
            node.value = ast.copy_location(numpy_itself(), node)
        return node


def write_copies(source, folder):
    """Write a test file as it is and with the other namespace, and return both paths."""
    text = source.read_text()
    tree = ast.fix_missing_locations(Swap().visit(ast.parse(text)))
    copies = {"numpy": text, "anyshape": ast.unparse(tree)}
    for name, content in copies.items():
        (folder / name).mkdir(parents=True)
        (folder / name / source.name).write_text(content)
        for neighbour in BESIDE:
            if (source.parent / neighbour).exists():
                os.symlink(source.parent / neighbour, folder / name / neighbour)
    return [folder / name / source.name for name in copies]


def outcomes(path, workers):
    """Run a test file, and return the outcome of each of its tests by name."""
    report = path.with_suffix(".xml")
    (path.parent / "pytest.ini").write_text("[pytest]\nfilterwarnings = default\nmarkers =\n  slow: x\n")
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        str(workers),
        f"--junitxml={report}",
        "--rootdir",
        str(path.parent),
    ]
    command = [sys.executable, "-m", "pytest", *options, "-c", "pytest.ini", "--rootdir", ".", str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False, env=environment, cwd=path.parent)
    results = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
        results[name] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
    return results


def compare(file, folder, workers):
    """Run a file with both namespaces, and print what passes with NumPy alone; return both counts."""
    with tempfile.TemporaryDirectory() as temporary:
        theirs, ours = (outcomes(path, workers) for path in write_copies(folder / file, Path(temporary) / "copies"))
    worse = [name for name, outcome in theirs.items() if outcome == "passed" != ours.get(name)]
    counts = [Counter(results.values())["passed"] for results in (theirs, ours)]
    print(f"{file}: {counts[1]} of {counts[0]} pass", flush=True)
    for name in worse:
        print(f"    {name}")
    return counts


def main(arguments=None):
    """Compare test files, and return 1 if a test passes with NumPy alone."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", help="as lib/tests/test_twodim_base.py")
    parser.add_argument("--numpy", type=Path, default=Path(numpy.__file__).parent, help="folder of the package")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    counts = [compare(file, options.numpy, options.workers) for file in options.files]
    theirs, ours = map(sum, zip(*counts, strict=True))
    print(f"{ours} of {theirs} tests that NumPy passes")
    return int(ours < theirs)


if __name__ == "__main__":
    sys.exit(main())
