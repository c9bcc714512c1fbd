"""Run the examples of HIPS/autograd with `anyshape.autograd` in its place, beside autograd itself.

`python -m tests.external.autograd_examples FOLDER --reference PYTHON` prints a row for each example of a checkout of
github.com/HIPS/autograd. PYTHON is an interpreter that has autograd, numpy and scipy. Both runs record what the first
calls of `grad` and its siblings return, and these numbers must agree. The text of an example stays as it is, but for
numbers of steps and seeds in EDITS, which both runs read. Stubs stand for pictures, and for data that would be
fetched. EXCEPTIONS names the examples that are about autograd itself.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import types
from collections import Counter
from pathlib import Path
from unittest.mock import MagicMock

import numpy

ROOT = Path(__file__).parents[2]
CALLS = 8  # of derivatives, whose results are recorded
TRANSFORMS = ("grad", "value_and_grad", "elementwise_grad", "jacobian", "hessian_vector_product", "multigrad_dict")
PICTURES = ("matplotlib", "matplotlib.pyplot", "matplotlib.image", "matplotlib.cm", "mpl_toolkits", "graphviz")
AGREEMENT = {"rtol": 1e-6, "atol": 1e-8}
OF_SOLVERS = {"rtol": 1e-2, "atol": 1e-2}  # autograd integrates adjoints back with the tolerances of SciPy
LOOSE = ("ode_net",)
SKIPPED = ("__init__", "data", "data_mnist")
EDITS = {
    "convnet": ("npr.RandomState()", "npr.RandomState(0)"),
    "ode_net": ("rtol=0.01", "rtol=1e-9, atol=1e-9"),
    "fluidsim/wing": ("simulation_timesteps = 20", "simulation_timesteps = 2"),
}
EXCEPTIONS = {
    "dot_graph": "draws the nodes of autograd's tracer",
    "print_trace": "prints the nodes of autograd's tracer",
    "rkhs": "differentiates by an object, through a vector space of its own for autograd's tracer",
    "fluidsim/fluidsim": "indexes an array that no line of it made, a picture, by traced positions",
}


class EnoughError(BaseException):
    """Raised to end an example once enough results are recorded."""


class Recorder:
    """Results of calls that come from the example itself, as flat lists of floats."""

    def __init__(self):
        self.results = []

    def watch(self, transform):
        """Return a transform whose functions record their results, where these are numbers."""

        def watched(*args, **kwargs):
            function = transform(*args, **kwargs)

            def recorded(*inner, **options):
                result = function(*inner, **options)
                flat = numbers_of(result)
                if flat is not None:
                    self.results.append(flat)
                    if len(self.results) >= CALLS:
                        raise EnoughError
                return result

            return recorded

        return watched


def numbers_of(tree):
    """Return the floats of nested containers; None if something there is no array of NumPy."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, (list, tuple)):
        parts = [numbers_of(part) for part in tree]
        return None if any(part is None for part in parts) else [x for part in parts for x in part]
    if type(tree).__module__.partition(".")[0] not in ("numpy", "builtins") or not hasattr(tree, "__float__"):
        return None
    return numpy.ravel(tree).astype(float).tolist()


# -- autograd's names


def watch_autograd(recorder):
    """Let autograd's own transforms record their results."""
    autograd = importlib.import_module("autograd")
    importlib.import_module("autograd.misc.optimizers")
    for name in TRANSFORMS:
        if hasattr(autograd, name):
            setattr(autograd, name, recorder.watch(getattr(autograd, name)))


# -- one example


def stub_surroundings():
    """Let pictures be nothing, and data be small random arrays."""
    for name in PICTURES:
        sys.modules[name] = MagicMock(name=name)
    draws = numpy.random.RandomState(5)
    plt = sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
    plt.subplots.side_effect = lambda *args, **kwargs: (MagicMock(), MagicMock())
    plt.imread.side_effect = lambda path: draws.rand(*((24, 24) if "skull" in path else (12, 12, 4)))
    images = lambda count: (draws.rand(count, 28, 28) * 255).astype("uint8")
    labels = lambda count: draws.randint(0, 10, count).astype("uint8")
    fake = types.ModuleType("data_mnist")
    fake.mnist = lambda: (images(64), labels(64), images(16), labels(16))
    sys.modules["data_mnist"] = fake
    numpy.random.seed(0)


def run_example(options):
    """Print the recorded results of an example as JSON, with the error that ended it."""
    recorder = Recorder()
    stub_surroundings()
    sys.path.insert(0, str(options.folder / "examples"))
    if options.inside == "anyshape":
        importlib.import_module("as_autograd")
    watch_autograd(recorder)
    end = ""
    try:
        path = options.folder / "examples" / f"{options.names[0]}.py"
        text = path.read_text().replace(*EDITS.get(options.names[0], ("", "")))
        exec(compile(text, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    except EnoughError:
        pass
    except Exception as error:
        end = f"{type(error).__name__}: {error}"
    Path(options.out).write_text(json.dumps({"results": recorder.results, "end": end}))


def outcome(interpreter, options, name, inside):
    """Run an example in a process of its own, and return what it recorded."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [interpreter, str(Path(__file__)), str(options.folder), "--names", name]
        command += ["--inside", inside, "--out", str(out)]
        environment = os.environ | ({"PYTHONPATH": str(ROOT)} if inside == "anyshape" else {})
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=options.seconds,
                check=False,
                cwd=folder,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return {"results": [], "end": f"not done in {options.seconds} s"}
        if not out.exists():
            return {"results": [], "end": (run.stderr.strip().splitlines() or ["no result"])[-1]}
        return json.loads(out.read_text())


def verdict(theirs, ours, agreement):
    """Return "right" with the number of results that agree, or what differs."""
    count = len(theirs["results"])
    if not count:
        return f"autograd gives nothing to compare: {theirs['end']}"
    if ours["end"] and not theirs["end"]:
        return ours["end"].strip().replace("\n", " ")
    if len(ours["results"]) != count:
        return f"{len(ours['results'])} results, {count} by autograd {theirs['end']}"
    for i, (a, b) in enumerate(zip(ours["results"], theirs["results"], strict=True)):
        if len(a) != len(b) or not numpy.allclose(a, b, equal_nan=True, **agreement):
            return f"result {i} differs"
    return f"right, {count} results {theirs['end'][:60]}"


def main(arguments=None):
    """Compare examples, and return 1 unless all agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of github.com/HIPS/autograd")
    parser.add_argument("--reference", default=sys.executable, help="an interpreter that has autograd")
    parser.add_argument("--names", nargs="*", help="examples; all without it")
    parser.add_argument("--seconds", type=float, default=120.0, help="time for each run")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.inside:
        run_example(options)
        return 0
    counts = Counter()
    paths = [*(options.folder / "examples").glob("*.py"), options.folder / "examples" / "fluidsim" / "fluidsim.py"]
    paths.append(options.folder / "examples" / "fluidsim" / "wing.py")
    names = sorted(str(p.relative_to(options.folder / "examples"))[:-3] for p in paths if p.stem not in SKIPPED)
    for name in options.names or names:
        if name in EXCEPTIONS:
            print(f"{name:34}left out: {EXCEPTIONS[name]}", flush=True)
            continue
        theirs = outcome(options.reference, options, name, "autograd")
        ours = outcome(sys.executable, options, name, "anyshape")
        row = verdict(theirs, ours, OF_SOLVERS if name in LOOSE else AGREEMENT)
        counts["right"] += row.startswith("right")
        counts["all"] += 1
        print(f"{name:34}{row[:160]}", flush=True)
    print(f"{counts['right']} of {counts['all']} have autograd's numbers")
    return int(counts["right"] < counts["all"])


if __name__ == "__main__":
    sys.exit(main())
