"""Attack on files of runs on clusters: damaged, of other runs and versions, and in places that take none."""

import io
import json
import tempfile
from pathlib import Path

import numpy as np

from anyshape.cluster import Serial, chunked_sum, minimize
from anyshape.errors import ArgumentError
from tests.attack.kit import Wrong
from tests.program.damaged_files import damaged

METHODS = ({"method": "L-BFGS-B"}, {"method": "newton-cg"}, {"method": "sgd"}, {"method": "adam", "chunks_per_step": 1})
DATA = [np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[-0.3, 0.7]])]


def loss(w, x):
    return np.sum((x @ w - 1.0) ** 2) + 0.1 * np.sum(w * w)


def other_loss(w, x):
    return np.sum((x @ w + 1.0) ** 2)


def run(path, options, steps=3, function=loss, data=DATA):
    """Return the parameters that a run ends with."""
    chunked = chunked_sum(function, over="x", executor=Serial())
    return minimize(chunked, np.zeros(2), (data,), file=path, steps=steps, rate=0.01, **options).x


def _truncated(rng, data, path):
    return data[: rng.integers(len(data))]


def _damaged(rng, data, path):
    return damaged(rng, data)


def _of_another_run(rng, data, path):
    """Return the file of a run of another loss, other data or another method."""
    others = ({"function": other_loss}, {"data": [2 * x for x in DATA]}, {"options": METHODS[2]})
    beside = path.with_name("beside")
    run(beside, **{"options": METHODS[0], **others[rng.integers(len(others))]})
    return beside.read_bytes()


def _of_another_version(rng, data, path):
    """Return the file with another header, as older and newer versions may write."""
    with np.load(io.BytesIO(data)) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"]))
    headers = ({**header, "identity": "0" * 64}, {"format": 9, **header, "identity": {"run": "0"}}, {}, [], "run")
    arrays["header"] = np.array(json.dumps(headers[rng.integers(len(headers))]))
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _of_something_else(rng, data, path):
    out = io.BytesIO()
    np.save(out, np.arange(3.0))
    return (b"", b"\0" * len(data), out.getvalue(), rng.bytes(len(data)))[rng.integers(4)]


CHANGES = (_truncated, _damaged, _of_another_run, _of_another_version, _of_something_else)


def _placed(rng, path):
    """Return a path that cannot be read or written: a folder, one in a missing folder, and one below a file."""
    (path.parent / "folder").mkdir()
    return (path.parent / "folder", path.parent / "missing" / "run", path / "run")[rng.integers(3)]


def resume_files(rng):
    """Change the file of a run: the next one goes on to the same bits, or refuses and leaves the file alone."""
    options = METHODS[rng.integers(len(METHODS))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        expected = run(None, options, steps=5)
        run(path, options, steps=2)
        data = path.read_bytes()
        change = None if rng.integers(6) == 0 else CHANGES[rng.integers(len(CHANGES))]
        if change is None:
            path, content = _placed(rng, path), None
        else:
            path.write_bytes(content := change(rng, data, path))
        try:
            result = run(path, options, steps=5)
        except ArgumentError as error:
            if error.path != "file" or (content is not None and path.read_bytes() != content):
                raise Wrong(f"{options} after {change}: {error}, or the file was changed") from error
            outcome = "refused files"
        else:
            outcome = "harmless changes"
            if not np.array_equal(result, expected):
                raise Wrong(f"{options} after {change} gives {result}, not {expected}")
        left = list(Path(folder).glob("**/*.part"))
    if left:
        raise Wrong(f"{options} after {change} leaves {left}")
    return outcome
