"""Load every program of a folder and compare it with its expected results. Needs NumPy and anyshape alone.

Run as `python run_saved.py folder`. There, `expected.pickle` maps the name of each file to (tolerance, calls). A call
is a tuple of arguments, results, and the directions and slopes of a derivative, or None for both.
"""

import pickle
import sys
import traceback
from pathlib import Path

import numpy as np

import anyshape


def leaves(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    return [np.asarray(tree)]


def close(got, expected, tolerance, note):
    assert len(got) == len(expected), f"{note}: {len(got)} results, expected {len(expected)}"
    for g, e in zip(got, expected, strict=True):
        assert (g.dtype, g.shape) == (e.dtype, e.shape), f"{note}: {g.dtype}{g.shape}, expected {e.dtype}{e.shape}"
        finite = np.abs(e[np.isfinite(e)]) if e.dtype.kind in "fc" else np.zeros(0)
        scale = max(1.0, float(finite.max(initial=0)))
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * scale, err_msg=note)


def split_jvp(program, xs):
    """Return a function of directions and arguments: the derivative of the inexact results in the inexact arguments."""
    flags = [x.dtype.kind in "fc" for x in xs]

    def moving(ts, xs):
        def function(*some):
            remaining = iter(some)
            results = program(*[next(remaining) if flag else x for x, flag in zip(xs, flags, strict=True)])
            return [y for y in leaves_of(results) if y.dtype.kind in "fc"]

        return anyshape.jvp(function, tuple(x for x, flag in zip(xs, flags, strict=True) if flag), tuple(ts))[1]

    return anyshape.jit(moving)


def leaves_of(result):
    """Return the leaves of a result that may be traced."""
    return [x for part in result for x in leaves_of(part)] if isinstance(result, (tuple, list)) else [result]


def check(path, tolerance, calls):
    program = anyshape.load(path)
    derivative = None
    with np.errstate(all="ignore"):
        for number, (xs, results, ts, slopes) in enumerate(calls):
            note = f"call {number}, {[x.shape for x in xs]}"
            close(leaves(program(*xs)), results, tolerance, note)
            if slopes is not None:
                derivative = derivative or split_jvp(program, xs)
                close(leaves(derivative(ts, xs)), slopes, max(tolerance, 1e-9), f"derivative, {note}")


def main():
    folder = Path(sys.argv[1])
    expected = pickle.loads((folder / "expected.pickle").read_bytes())
    failed = []
    for name, (tolerance, calls) in expected.items():
        try:
            check(folder / name, tolerance, calls)
        except Exception:
            failed.append(f"{name}: {traceback.format_exc(limit=-3)}")
    assert not [m for m in sys.modules if m.startswith(("tests", "examples"))]
    print(f"{len(expected) - len(failed)} of {len(expected)} programs agree")
    print("\n".join(failed[:10]), file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
