"""Reads of the outside world in traced functions: each line has a warning, as the program keeps what the trace got."""

import builtins
import cProfile
import datetime
import io
import logging
import os
import pathlib
import secrets
import socket
import time
import uuid
import warnings
from time import perf_counter as clock

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, export, grad, jit, pure_callback
from anyshape.errors import FrozenValueWarning

FILE = pathlib.Path(__file__)
LOG = logging.getLogger("tests.world")


def first_line(path):
    with open(path) as file:
        return float(len(file.readline()))


class Timed:
    """Object that holds a function of the clock."""

    def __init__(self):
        self.read = time.monotonic

    def scale(self):
        return self.read()


TIMED = Timed()

READS = {
    "clock": [
        lambda: time.time(),
        lambda: clock(),
        lambda: datetime.datetime.now().timestamp(),
        lambda: datetime.date.today().toordinal(),
        lambda: time.localtime().tm_year,
    ],
    "environment": [
        lambda: len(os.environ["PATH"]),
        lambda: len(os.environ.get("PATH")),
        lambda: len(os.getenv("PATH", "")),
        lambda: len(dict(os.environ)),
    ],
    "file": [
        lambda: len(open(FILE).read()),  # noqa: SIM115
        lambda: len(FILE.read_text()),
        lambda: FILE.exists(),
        lambda: os.path.getsize(FILE),
        lambda: len(os.listdir(FILE.parent)),
        lambda: len(list(FILE.parent.iterdir())),
        lambda: os.path.isfile(FILE),
    ],
    "random bits": [lambda: uuid.uuid4().int % 7, lambda: len(secrets.token_hex())],
    "network": [lambda: len(socket.gethostname())],
}


def warned(function, *args, category=FrozenValueWarning):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args)
    return [w for w in caught if issubclass(w.category, category)]


@pytest.mark.parametrize(("kind", "read"), [(k, r) for k, reads in READS.items() for r in reads])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_each_read_is_said_at_its_line(kind, read):
    def scaled(x):
        return x * read()

    (said,) = warned(jit(scaled), np.ones(2))
    assert kind in str(said.message) and "while scaled is traced" in str(said.message)
    assert (said.filename, said.lineno) == (__file__, read.__code__.co_firstlineno)


def test_input_and_a_file_of_numbers(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
    (said,) = warned(jit(lambda x: x * float(input())), 1.0)
    assert "input() reads the keyboard" in str(said.message)
    np.save(tmp_path / "w.npy", np.ones(2))
    (said,) = warned(jit(lambda x: x * np.load(tmp_path / "w.npy")), np.ones(2))
    assert "np.load" in str(said.message) and said.filename == __file__


def test_functions_that_are_called_and_objects_count():
    (said,) = warned(jit(lambda x: x * first_line(FILE)), 1.0)
    assert said.lineno == first_line.__code__.co_firstlineno + 1
    (said,) = warned(jit(lambda x: x * TIMED.scale()), 1.0)
    assert "self.read() reads a clock" in str(said.message)


@pytest.mark.parametrize(
    "way", [jit, grad, lambda f: export(f)(ShapeDtypeStruct(())), lambda f: lambda x: anyshape.trace(f)(x)]
)
def test_all_transforms_say_it(way):
    def scaled(x):
        return x * time.time()

    assert len(warned(lambda: way(scaled)(1.0))) == 1


def test_rules_of_the_user_are_seen_while_derivatives_are_made():
    f = anyshape.custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda primals, tangents: (np.sin(primals[0]), tangents[0] * time.time()))
    g = anyshape.custom_vjp(lambda x: np.sin(x))
    g.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * x * time.time(),))
    for rule in (f, g):
        (said,) = warned(lambda rule=rule: jit(grad(lambda x: rule(x) * np.exp(x)))(1.0))
        assert "time.time() reads a clock" in str(said.message)


def test_a_line_is_said_once():
    def scaled(x):
        return sum(x * time.time() for _ in range(3))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        made = jit(scaled)
        for n in (1, 2):
            made(np.ones((1,) * n))
    assert [w.category for w in caught] == [FrozenValueWarning]


def test_a_filter_may_make_it_an_error_and_no_program_stays():
    scaled = jit(lambda x: x * time.time())
    with warnings.catch_warnings():
        warnings.simplefilter("error", FrozenValueWarning)
        for _ in range(2):
            with pytest.raises(FrozenValueWarning, match=r"time\.time\(\) reads a clock"):
                scaled(1.0)
    assert scaled.cache_info().traces == 0


class Station:
    """Object whose attributes have the names of functions that read."""

    def __init__(self):
        self.time, self.now, self.open = 2.0, lambda: 3.0, True


STATION = Station()


def logs(x):
    LOG.warning("traced")
    return x


def writes(x):
    with open(os.devnull, "w") as file:
        file.write("traced")
    pathlib.Path(os.devnull).write_text("traced")
    return x


def names(x):
    return x * STATION.time * STATION.now() if STATION.open else x


def joins(x):
    return x * len(os.path.join("a", "b"))


def calls_back(x):
    return x if pure_callback(lambda v: np.float64(time.time() > v), ShapeDtypeStruct(()), x) > 0 else -x


@pytest.mark.parametrize("function", [logs, writes, names, joins, calls_back, np.sin])
def test_nothing_is_said_of_other_code(function):
    assert not warned(jit(function), 1.0)


def test_a_profiler_of_the_user_goes_on():
    profile = cProfile.Profile()
    with profile:
        jit(lambda x: x * time.time())(1.0)
    assert any("time.time" in str(entry.code) for entry in profile.getstats())


def test_builtins_stay_as_they_are():
    before = builtins.open, time.time, os.environ
    warned(jit(lambda x: x * time.time()), 1.0)
    assert before == (builtins.open, time.time, os.environ)
