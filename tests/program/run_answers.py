"""Load every program of a folder and compare its answers with the expected ones. Needs NumPy and anyshape alone.

Run as `python run_answers.py folder`. There, `expected.pickle` maps the name of each file to pairs of arguments and an
answer: arrays, or the class of an error and its sizes.
"""

import pickle
import sys
from pathlib import Path

import numpy as np

import anyshape


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (list, tuple)) else [np.asarray(tree)]


def answer(program, xs):
    try:
        with np.errstate(all="ignore"):
            return leaves(program(*xs))
    except Exception as error:
        return type(error).__name__, repr(getattr(error, "sizes", None))


def same(got, expected):
    if isinstance(got, tuple) or isinstance(expected, tuple):
        return got == expected
    return len(got) == len(expected) and all(map(same_array, got, expected))


def same_array(x, y):
    return (x.dtype, x.shape) == (y.dtype, y.shape) and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def main():
    folder = Path(sys.argv[1])
    expected = pickle.loads((folder / "expected.pickle").read_bytes())
    wrong = []
    for name, calls in expected.items():
        program = anyshape.load(folder / name)
        for xs, wanted in calls:
            got = answer(program, xs)
            if not same(got, wanted):
                wrong.append(f"{name} at {[x.shape for x in xs]}: {got}, expected {wanted}")
    assert not [m for m in sys.modules if m.startswith(("tests", "examples"))]
    print(f"{len(expected)} programs, {sum(map(len, expected.values()))} calls, {len(wrong)} differ")
    print("\n".join(wrong[:10]), file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
