"""Short tracebacks: errors show the lines of the user, and the frames of anyshape only where asked for."""

import importlib
import pickle
import queue
import statistics
import sys
import traceback
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import scipy.optimize

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, errors, grad, jit, jvp, pure_callback, trace, vjp, vmap
from anyshape.backend.runtime.config import config
from anyshape.support.packages import Package
from tests.errors.mistakes import MISTAKES
from tests.errors.rubric import TABLES

for _table in TABLES:
    importlib.import_module(f"tests.errors.{_table}")


def names_of_frames(error: BaseException) -> list[str]:
    """Return the names of the functions in the traceback, without the ones of this test."""
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return names[names.index("caught") + 1 :]


def caught(call: Callable[[], object]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def helper(x):
    return x @ np.ones((7, 2))


def model(x):
    return helper(x).sum()


@pytest.mark.usefixtures("as_written")
def test_a_mistake_shows_few_lines():
    lines = []
    for row in MISTAKES:
        error = caught(row.make)
        text = "".join(traceback.format_exception(error))
        lines.append(text.count("\n") - 2)  # the frame of `caught` is not the user's
    assert statistics.mean(lines) <= (8 if sys.version_info < (3, 13) else 9)  # 3.13 marks parts of more lines
    assert max(lines) <= 12


USES_OF_LEAKED = [
    lambda x: x + 1, lambda x: np.ones(3) * x, lambda x: x > 2, lambda x: x[0], lambda x: x.sum(), lambda x: np.sin(x),
    lambda x: np.sum(x), lambda x: np.concatenate([x, x]), lambda x: anp.sin(x), lambda x: anp.std(x), np.asarray,
    lambda x: anp.linalg.norm(x), lambda x: anp.zeros(x.shape), lambda x: x.__setitem__(0, 1),
    lambda x: x.reshape(3, 1),
]  # fmt: skip


def test_a_use_of_a_leaked_array_shows_no_frame_of_anyshape():
    queued = queue.SimpleQueue()

    def keep(x):
        queued.put(x * 2)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jit(keep)(np.ones(3))
    leaked = queued.get()
    for use in USES_OF_LEAKED:
        error = caught(lambda use=use: use(leaked))
        assert isinstance(error, errors.LeakedTracerError)
        assert set(names_of_frames(error)) == {"<lambda>"}, names_of_frames(error)


@pytest.mark.parametrize("transform", [jit, grad, vmap, lambda f: jit(grad(f))])
def test_the_frames_are_those_of_the_user(transform):
    def call():
        transform(model)(np.ones((3, 5)))

    expected = ["call", "model", "helper"]
    assert names_of_frames(caught(call)) == expected
    assert names_of_frames(caught(call)) == expected


@pytest.mark.parametrize(
    "transform", [jvp, lambda f, x, t: vjp(f, *x), lambda f, x, t: trace(f)(ShapeDtypeStruct((3, 5)))]
)
def test_functions_of_values_show_no_frame_of_their_own(transform):
    x = np.ones((3, 5))
    shown = names_of_frames(caught(lambda: transform(model, (x,), (x,))))
    assert [name for name in shown if name != "<lambda>"] == ["model", "helper"]


def test_a_call_that_fits_no_program_ends_at_the_call():
    f = jit(lambda x, w: x @ w)
    f(np.ones((2, 3)), np.ones(3))
    for _ in range(2):  # with and without a plan of that call
        error = caught(lambda: f(np.ones((2, 3)), np.ones(4)))
        assert isinstance(error, errors.ShapeError)
        assert names_of_frames(error) == ["<lambda>"]


def test_an_exception_of_the_user_keeps_its_frames_and_its_causes():
    def read():
        raise KeyError("weights")

    def load():
        try:
            read()
        except KeyError as error:
            raise RuntimeError("no weights") from error

    @jit
    def step(x):
        load()
        return x

    error = caught(lambda: step(np.ones(3)))
    assert names_of_frames(error) == ["<lambda>", "step", "load"]
    assert [frame.name for frame in traceback.extract_tb(error.__cause__.__traceback__)] == ["load", "read"]
    assert not hasattr(error, "__notes__")


def test_an_exception_of_a_callback_keeps_its_frames():
    def host(x):
        raise LookupError("no such row")

    f = jit(lambda x: pure_callback(host, x, x))
    assert names_of_frames(caught(lambda: f(np.ones(3))))[-1] == "host"


def test_frames_of_other_packages_stay_in_their_own_errors():
    f = jit(lambda x: x + scipy.optimize.brentq(lambda t: t * t + 1, 0.0, 1.0))
    error = caught(lambda: f(np.ones(2)))
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert any("scipy" in file for file in files)
    assert not any("/anyshape/" in file for file in files if "/tests/" not in file)


def test_wrong_arguments_of_the_function_are_not_taken_for_a_defect():
    error = caught(lambda: jit(lambda x, y: x + y)(np.ones(2)))
    assert isinstance(error, TypeError)
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize(
    "call", [lambda: grad(), lambda: trace(model, 1.0), lambda: vjp(lambda x: x), lambda: jvp(model)(1.0)]
)
def test_wrong_arguments_of_a_transform_are_not_taken_for_a_defect(call):
    error = caught(call)
    assert isinstance(error, TypeError)
    assert not any("config.traceback" in note for note in getattr(error, "__notes__", ()))
    assert names_of_frames(error) == ["<lambda>"]


def test_a_recursion_of_the_user_is_not_taken_for_a_defect():
    def endless(x):
        return endless(x + 1)

    error = caught(lambda: jit(endless)(1.0))
    assert isinstance(error, RecursionError)
    assert not hasattr(error, "__notes__") and set(names_of_frames(error)) == {"<lambda>", "endless"}


def test_a_pickle_that_lacks_a_package_ends_at_the_call(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.setattr("anyshape.transforms.function_pickle.cloudpickle", Package("cloudpickle", extra="cluster"))
    error = caught(lambda: pickle.dumps(jit(lambda x: x)))
    assert isinstance(error, errors.MissingPackageError)
    assert "".join(traceback.format_exception(error)).count("Traceback") == 1
    assert names_of_frames(error) == ["<lambda>"]


def test_an_error_that_the_library_did_not_mean_says_how_to_see_where(monkeypatch):
    monkeypatch.setattr("anyshape.transforms.jitted.pytrees.flatten", None)
    error = caught(lambda: jit(lambda x: x)(np.ones(2)))
    assert any("config.traceback" in note for note in error.__notes__)


def test_an_error_of_python_that_the_library_raises_on_purpose_has_no_note():
    error = caught(lambda: trace(lambda x: x)(np.ones(2)).save("no/such/folder/program"))
    assert isinstance(error, FileNotFoundError)
    assert not hasattr(error, "__notes__")


def test_all_frames_are_shown_where_asked_for(monkeypatch):
    monkeypatch.setattr(config, "traceback", "full")
    assert len(names_of_frames(caught(lambda: jit(model)(np.ones((3, 5)))))) > 8


def test_the_setting_has_two_values():
    with pytest.raises(errors.ArgumentError, match="config: traceback is 'long'"):
        config.traceback = "long"
    assert config.traceback == "short"
    assert "traceback='short'" in repr(config)


def test_a_mistake_in_the_call_of_a_transform_ends_at_the_call():
    for call in (lambda: jit(3), lambda: grad(model, argnums="x")(np.ones(2)), lambda: vmap(model, in_axes=3)(1.0)):
        assert names_of_frames(caught(call)) == ["<lambda>"]
