"""`minimize`: optimisers over chunks, with a bar of progress, which stop and resume from a file.

Identity of a run: a digest of its function with what that reads, of all shapes, and of data or a sample of it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import marshal
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.cluster.chunked import ChunkedSum
from anyshape.cluster.chunks import chunks_of, fetched, mapped_leaves, value_of
from anyshape.errors import ArgumentError, ClusterError
from anyshape.program.program import Program
from anyshape.support.packages import gradient_transformations, scipy_optimize
from anyshape.support.terminal import progress_bar
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.digest import state_digest
from anyshape.tracing.captured.watch import watch
from anyshape.tracing.pytrees import flatten, is_array, unflatten
from anyshape.transforms.control import ravel_pytree
from anyshape.transforms.grad import value_and_grad
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.vmap import hvp

if TYPE_CHECKING:
    from anyshape.optimize.transformations import GradientTransformation

_SCIPY = {"l-bfgs-b": "L-BFGS-B", "newton-cg": "Newton-CG"}
_STEPWISE = ("sgd", "adam")
_MOST = 1 << 28  # bytes of recorded answers in a file
_EVERY = 10.0  # seconds between writes


def minimize(
    chunked: ChunkedSum,
    w0: Any,
    args: Sequence[Any] = (),
    *,
    method: str | GradientTransformation = "L-BFGS-B",
    steps: int = 100,
    rate: float = 1e-2,
    options: Mapping[str, Any] | None = None,
    chunks_per_step: int | None = None,
    seed: int = 0,
    file: str | os.PathLike[str] | None = None,
    progress: bool = False,
    callback: Callable[[Any], Any] | None = None,
) -> Any:
    """Return SciPy's result for the tree `w` that minimises `chunked(w, *args)`, its first argument.

    - `chunked` is a `chunked_sum` of a loss, or of its `value_and_grad`.
    - `method` is "L-BFGS-B" or "newton-cg" of SciPy, with its `options`. Or it is "sgd" or "adam" with their `rate`, or
      an optimiser of `anyshape.optimize`.
    - `steps` is the most iterations. "sgd" and "adam" take `chunks_per_step` chunks for each, drawn by `seed`; None
      takes all of them.
    - `file` keeps the run: written every ten seconds, at the end, at Ctrl-C and where the cluster fails. A run with the
      same arguments goes on from it, to the same bits as a run without a stop. The same function has
      the same code and reads the same. The same data have equal shapes and elements, in a sample of remote chunks.
      A file of another run is refused, not written over: it may hold hours of work, of a script that was edited since.
    - `progress` shows a bar, for which it needs rich.
    - `callback` takes a result after each iteration, with `x`, `fun` and `nit`; where it returns True, the run stops.

    Raise ArgumentError for a file that is damaged, of another run, or in a place that cannot be read and written. Raise
    ClusterError with the attribute `last`, the last iterate, where workers or the scheduler are lost.

    >>> from anyshape.cluster import chunked_sum
    >>> loss = chunked_sum(lambda w, x: np.sum((x @ w - 1.0) ** 2), over="x")
    >>> result = minimize(loss, np.zeros(2), ([np.eye(2), 2 * np.eye(2)],))
    >>> result.x.round(4), result.success
    (array([0.6, 0.6]), True)
    """
    if not isinstance(chunked, ChunkedSum):
        raise ArgumentError("minimize", "chunked", f"is of type {type(chunked).__name__}", "make it by chunked_sum")
    pair, loss = _with_gradient(chunked)
    name = method if isinstance(method, str) else ""
    run = _Run(
        steps, Path(os.fspath(file)) if file is not None else None, callback, functools.partial(_problem, pair, args)
    )
    with progress_bar(
        name or "minimize", steps, "{done:.0f}/{total}, value {value:.6g}", disable=not progress
    ) as run.show:
        if name.lower() in _SCIPY:
            solver = _SCIPY[name.lower()]
            return _by_scipy(run, (pair, loss), w0, tuple(args), solver, dict(options or {}))
        if name and name.lower() not in _STEPWISE:
            advice = 'give "L-BFGS-B", "newton-cg", "sgd", "adam", or an optimiser of anyshape.optimize'
            raise ArgumentError("minimize", "method", f"is {method!r:.50}", advice)
        optimiser = _optimiser(method, rate) if isinstance(method, str) else method
        identity = f"{name or _behaviour(optimiser, w0)} {rate} {seed} {chunks_per_step}"
        batches = _Batches(pair, tuple(args), chunks_per_step, seed)
        return _by_steps(run, pair, w0, optimiser, batches, identity)


def _optimiser(name: str, rate: float) -> GradientTransformation:
    """Return the optimiser of a name in `_STEPWISE`."""
    return gradient_transformations.sgd(rate) if name.lower() == "sgd" else gradient_transformations.adam(rate)


def _behaviour(optimiser: GradientTransformation, w0) -> str:
    """Return a digest of what an optimiser does with some gradients, as functions do not tell their options."""
    leaves, structure = flatten(w0)
    content, state = hashlib.sha256(), optimiser.init(w0)
    for size in (1.0, -3.0):
        updates, state = optimiser.update(unflatten(structure, [np.full_like(x, size) for x in leaves]), state, w0)
        add_arrays(content, flatten((updates, state))[0])
    return content.hexdigest()


def _with_gradient(chunked: ChunkedSum) -> tuple[ChunkedSum, Any]:
    """Return the sum of the value and gradient of a loss, and the loss."""
    function = chunked.function
    while isinstance(function, Jitted):
        transform, arguments = function.recipe[:2] if function.recipe else (None, ())
        if transform is value_and_grad:
            return chunked, arguments[0]
        if not arguments or not isinstance(arguments[0], Jitted):
            break
        function = arguments[0]
    return chunked.of(value_and_grad(chunked.function)), chunked.function


class _Run:
    """Iterations of a run: what is shown, called back, and kept in a file."""

    def __init__(
        self,
        steps: int,
        file: Path | None,
        callback: Callable[[Any], Any] | None,
        problem: Callable[[], dict[str, str]],
    ) -> None:
        self.steps, self.file, self.callback, self.problem = steps, file, callback, problem
        self.show: Callable[..., None] = lambda n, **fields: None
        self.last: Any = None
        self._written = time.monotonic()

    def load(self, method: str, w0: Any) -> dict[str, np.ndarray]:
        """Return the arrays of the file, none without one; raise ArgumentError for a file of another run."""
        if self.file is None:
            return {}
        leaves, structure = flatten(w0)
        start = hashlib.sha256(f"{structure}".encode())
        add_arrays(start, leaves)
        self.identity = {**self.problem(), "start": start.hexdigest(), "method and options": method}
        with _in_place(self.file):
            with self._temporary() as temporary:
                temporary.touch()  # a run whose end cannot be written should not begin
            data = self.file.read_bytes() if self.file.exists() else None
        if data is None:
            return {}
        stored, arrays = _read(self.file, data)
        others = [part for part, content in self.identity.items() if stored.get(part) != content]
        if others:
            advice = "remove it to begin anew, name another file, or give the arguments that it was written for"
            problem = f"{self.file} is of another run, with other {', '.join(others)}"
            raise ArgumentError("minimize", "file", problem, advice)
        return arrays

    def save(self, arrays: Callable[[], Mapping[str, Any]], *, now: bool = False) -> None:
        """Write arrays to the file, if it is time."""
        if self.file is None or not (now or time.monotonic() - self._written > _EVERY):
            return
        contents = {name: np.asarray(x) for name, x in arrays().items()}
        header = json.dumps({"identity": self.identity, "content": _content(contents)})
        with _in_place(self.file), self._temporary() as temporary:
            with temporary.open("wb") as out:
                np.savez(out, header=np.array(header), **contents)  # type: ignore[arg-type]  # names of arrays, not options
            os.replace(temporary, self.file)
        self._written = time.monotonic()

    @contextlib.contextmanager
    def _temporary(self) -> Iterator[Path]:
        """Yield the path of a file beside the one of the run, which does not stay."""
        assert self.file is not None
        temporary = self.file.with_name(f"{self.file.name}.{os.getpid()}.part")
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def ended(self, w: Any, value: float, count: int) -> bool:
        """Show an iteration and call back; return True where that stops the run."""
        self.last = w
        self.show(count, value=value)
        return self.callback is not None and bool(self.callback(_result(w, value, count)))

    @contextlib.contextmanager
    def keeping(self, arrays: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
        """Write the file at the end, however the run ends, and give the last iterate to errors of the cluster."""
        try:
            yield
        except ClusterError as error:
            error.last = self.last
            raise
        finally:
            self.save(arrays, now=True)


def _problem(pair: ChunkedSum, args: Sequence[Any]) -> dict[str, str]:
    """Return digests of the function and data of a run; the parameters are not among `args`."""
    places = [at - 1 for at in pair.places if isinstance(at, int)]
    return {"function": f"{pair.reduce} {function_digest(pair.function)}", "data": data_digest(places, args, pair.name)}


def _read(file: Path, data: bytes) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the identity and the arrays of a file; raise ArgumentError for one that is damaged."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = dict(stored)
        header = json.loads(str(arrays.pop("header")))
        identity, is_whole = dict(header["identity"]), header["content"] == _content(arrays)
    except Exception as error:  # of zipfile, zlib, struct, json and NumPy
        raise _damaged(file) from error
    if not is_whole:
        raise _damaged(file)
    return identity, arrays


@contextlib.contextmanager
def _in_place(file: Path) -> Iterator[None]:
    """Name the file in errors of the system."""
    try:
        yield
    except OSError as error:
        problem = f"{file} cannot be read and written: {error.strerror or error}"
        raise ArgumentError("minimize", "file", problem, "give the path of a file that you may write to") from error


def _damaged(file: Path) -> ArgumentError:
    return ArgumentError("minimize", "file", f"{file} is damaged", "remove it: the run begins again without it")


def _content(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the digest of the arrays of a file."""
    content = hashlib.sha256(" ".join(sorted(arrays)).encode())
    add_arrays(content, [arrays[name] for name in sorted(arrays)])
    return content.hexdigest()


def _result(w, value: float, count: int, **others):
    return scipy_optimize.OptimizeResult(x=w, fun=value, nit=count, **others)


# -- methods of SciPy


class _Record:
    """Answers of the passes of a run, in order: a run that resumes gets them again, and then goes on as it would have.

    Methods of SciPy have no state to keep. They are deterministic: the same answers lead to the same questions.
    """

    def __init__(self, stored: Mapping[str, np.ndarray]) -> None:
        data, ends = stored.get("answers", np.empty(0)), stored.get("ends", np.empty(0, int))
        self.answers = np.split(data, ends[:-1]) if len(ends) else []
        self.questions = [bytes(q) for q in stored.get("questions", np.empty((0, 32), np.uint8))]
        self.number, self.bytes = 0, data.nbytes

    def answer(self, question: np.ndarray, ask: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the recorded answer to the next question, or ask and record it."""
        digest = hashlib.sha256(question.tobytes()).digest()
        number, self.number = self.number, self.number + 1
        if number < len(self.answers):
            if self.questions[number] == digest:
                return self.answers[number]
            del self.answers[number:], self.questions[number:]  # another version of SciPy asks otherwise
        answer = ask()
        if number == len(self.answers) and self.bytes < _MOST:
            self.answers.append(answer)
            self.questions.append(digest)
            self.bytes += answer.nbytes
        return answer

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a file."""
        return {
            "answers": np.concatenate([np.empty(0), *self.answers]),
            "ends": np.cumsum([len(a) for a in self.answers], dtype=int),
            "questions": np.array([list(q) for q in self.questions], np.uint8).reshape(-1, 32),
        }


def _by_scipy(
    run: _Run, functions: tuple[ChunkedSum, Any], w0, args: tuple[Any, ...], solver: str, options: dict[str, Any]
):
    """Run a method of SciPy on the raveled tree."""
    pair, loss = functions
    flat, unravel = ravel_pytree(w0)
    start = np.asarray(flat, np.float64)
    record = _Record(run.load(f"{solver} {sorted(options.items())}", w0))
    count = 0

    def value_and_slope(x: np.ndarray) -> tuple[float, np.ndarray]:
        def ask() -> np.ndarray:
            value, slope = pair(unravel(x), *args)
            return np.concatenate([[float(value)], np.asarray(ravel_pytree(slope)[0], np.float64)])

        answer = record.answer(x, ask)
        run.save(record.arrays)
        return float(answer[0]), answer[1:].copy()

    def after(intermediate_result) -> None:
        nonlocal count
        count += 1
        if run.ended(unravel(np.array(intermediate_result.x)), float(intermediate_result.fun), count):
            raise StopIteration

    products = {"hessp": _products(pair, loss, record, unravel, args)} if solver == "Newton-CG" else {}
    run.last = w0
    with run.keeping(record.arrays):
        result = scipy_optimize.minimize(
            value_and_slope, start, jac=True, method=solver, callback=after,
            options={"maxiter": run.steps, **options}, **products,
        )  # fmt: skip
    result.x, result.jac = unravel(result.x), unravel(result.jac)
    return result


def _products(
    pair: ChunkedSum, loss, record: _Record, unravel: Callable[[Any], Any], args: tuple[Any, ...]
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the function of products with the Hessian, each a pass over the chunks."""
    over = [at + 1 if isinstance(at, int) else at for at in pair.places]
    product = pair.of(lambda w, v, *rest: hvp(lambda w: loss(w, *rest), (w,), (v,)), over)

    def times(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        def ask() -> np.ndarray:
            return np.asarray(ravel_pytree(product(unravel(x), unravel(v), *args))[0], np.float64)

        return record.answer(np.concatenate([x, v]), ask).copy()

    return times


# -- methods that take a step for each gradient


class _Batches:
    """Arguments of each step: all chunks, or some of them in an order that the seed alone decides."""

    def __init__(self, pair: ChunkedSum, args: tuple[Any, ...], size: int | None, seed: int) -> None:
        self.args, self.size, self.seed = args, size, seed
        if size is None:
            return
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ArgumentError("minimize", "chunks_per_step", f"is {size!r:.50}", "give a number of at least 1")
        self.places = [at - 1 for at in pair.places if isinstance(at, int)]  # after the parameters
        columns = [chunks_of(args[at], path, pair.name) for at, path in zip(self.places, pair.paths)]
        self.columns, self.count = columns, len(columns[0])
        self.size = min(size, self.count)

    def of_step(self, step: int) -> tuple[Any, ...]:
        """Return the arguments of a step, which depend on its number alone."""
        if self.size is None:
            return self.args
        epoch, turn = divmod(step, -(-self.count // self.size))
        order = np.random.default_rng([self.seed, epoch]).permutation(self.count)
        chosen = sorted(order[turn * self.size : (turn + 1) * self.size])
        args = list(self.args)
        for at, column in zip(self.places, self.columns):
            args[at] = [column[i] for i in chosen]
        return tuple(args)


def _by_steps(run: _Run, pair: ChunkedSum, w0, optimiser: GradientTransformation, batches: _Batches, identity: str):
    """Run an optimiser that takes a step for each gradient."""
    w, state, values = w0, optimiser.init(w0), [np.nan]
    stored = run.load(identity, w0)
    first = int(stored.get("step", 0))
    if stored:
        (w, state), values = _restored((w, state), stored), [float(stored["value"])]
    run.last, step = w, first

    def arrays() -> dict[str, Any]:
        leaves = flatten((w, state))[0]
        return {"step": step, "value": values[0], **{f"leaf{i}": np.asarray(x) for i, x in enumerate(leaves)}}

    stopped = False
    with run.keeping(arrays):
        while step < run.steps and not stopped:
            value, slope = pair(w, *batches.of_step(step))
            updates, state_after = optimiser.update(slope, state, w)
            w, state = gradient_transformations.apply_updates(w, updates), state_after
            values[0], step = float(value), step + 1
            stopped = run.ended(w, float(value), step)
            run.save(arrays)
    message = "the callback stopped it" if stopped else "all steps are done"
    return _result(w, values[0], step, success=not stopped, message=message)


def _restored(tree, stored: Mapping[str, np.ndarray]):
    """Return a tree with the leaves of a file."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [stored[f"leaf{i}"] for i in range(len(leaves))])


_SAMPLE = 4  # chunks on workers whose content the client reads


def data_digest(places: Sequence[int | str], args: Sequence[Any], name: str) -> str:
    """Return a digest of arguments; those at some places are chunks."""
    content = hashlib.sha256()
    for at, argument in enumerate(args):
        if at in places:
            _add_chunks(content, chunks_of(argument, str(at), name))
        else:
            add_arrays(content, flatten(argument)[0])
    return content.hexdigest()


def function_digest(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a function and of all that it reads."""
    if isinstance(function, Program):
        return hashlib.sha256(pickle.dumps(function)).hexdigest()
    state = watch(function)
    if (digest := state_digest(state)) is not None:
        return digest.total
    return hashlib.sha256(b"".join(map(marshal.dumps, state.codes))).hexdigest()  # beside what cannot be read


def add_arrays(content: Any, leaves: Iterable[Any]) -> None:
    """Add the shapes, dtypes and elements of arrays to a digest."""
    for x in [np.asarray(x) for x in leaves if is_array(x)]:
        content.update(f"{x.shape} {x.dtype}".encode() + x.tobytes())


def _add_chunks(content, chunks: Sequence[Any]) -> None:
    """Add the shapes of chunks, and the content of those that are here, or of a sample of the others."""
    sample = set(np.linspace(0, len(chunks) - 1, _SAMPLE).astype(int).tolist())
    for number, chunk in enumerate(chunks):
        leaves: list[Any] = []
        mapped_leaves(leaves.append, chunk)
        for x in leaves:
            content.update(f"{number} {getattr(x, 'shape', None)} {getattr(x, 'dtype', None)}".encode())
            if has_type(x, np.ndarray) or number in sample:
                add_arrays(content, flatten(value_of(fetched(x)))[0])
