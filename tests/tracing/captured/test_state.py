"""One snapshot serves all programs of a function: its own traces change it unnoticed, and nothing else does."""

import collections
import dataclasses
import enum
import functools
import importlib
import linecache
import logging
import queue
import textwrap
import threading
import types
import warnings

import numpy as np
import pytest

import anyshape
from anyshape.errors import AnyshapeWarning

X = np.ones(2)
_LOG = logging.getLogger("a_logger_of_these_tests")


@pytest.fixture
def caught():
    """All warnings of a test."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def warnings_in(caught):
    """Return what the library warned of, with the line."""
    return [f"{w.message} at {w.filename}:{w.lineno}" for w in caught if issubclass(w.category, AnyshapeWarning)]


# -- changes that a trace makes itself


class Counts:
    def __init__(self):
        self.n = 0
        self.history = []

    def f(self, x):
        self.n += 1
        return x * 2


def appends_to_a_list():
    history = []

    def f(x):
        history.append(x.ndim)
        return x * 2

    return f, "history.append(x.ndim)"


def appends_an_array():
    history = []

    def f(x):
        history.append(np.ones(3))
        return x * 2 + len(history) * 0

    return f, "history.append"


def stores_in_a_dict():
    seen = {}

    def f(x):
        seen[len(seen)] = x.dtype
        return x * 2

    return f, "seen[len(seen)]"


def counts_in_a_counter():
    seen = collections.Counter()

    def f(x):
        seen[x.ndim] += 1
        return x * 2

    return f, "seen[x.ndim]"


def counts_in_a_set():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x * 2

    return f, "seen.add"


def counts_in_a_deque():
    seen = collections.deque(maxlen=3)

    def f(x):
        seen.append(len(seen))
        return x * 2

    return f, "seen.append"


def counts_in_an_array():
    seen = np.zeros(3)

    def f(x):
        seen[0] += 1
        return x * 2

    return f, "seen[0] += 1"


def counts_by_setattr():
    o = types.SimpleNamespace(n=0)

    def f(x):
        setattr(o, "n", o.n + 1)  # noqa: B010 (the text is the point)
        return x * 2

    return f, ""


OWN = [
    appends_to_a_list, appends_an_array, stores_in_a_dict, counts_in_a_counter, counts_in_a_set, counts_in_a_deque,
    counts_in_an_array, counts_by_setattr,
]  # fmt: skip


@pytest.mark.parametrize("make", OWN, ids=lambda make: make.__name__)
def test_what_a_trace_changes_needs_no_other_trace(make, caught):
    function, _ = make()
    f = anyshape.jit(function)
    for _ in range(3):
        for x in (np.ones(2), np.ones((2, 2)), np.ones(2, "f"), np.ones(5)):
            np.testing.assert_array_equal(f(x), x * 2)
    assert f.cache_info().traces == 3 and f.explain().revalidations == 0
    (line,) = warnings_in(caught)
    assert "once per trace" in line and "test_state.py:" in line


def test_a_memo_that_a_package_keeps_is_not_told_of(caught, monkeypatch, tmp_path):
    """Keep columns as a data frame does: no line of the function names them."""
    (tmp_path / "site-packages").mkdir()
    source = """
        class Table:
            def __init__(self, rows):
                self.rows, self._columns = rows, {}

            def __getitem__(self, k):
                return self._columns.setdefault(k, self.rows[:, k])
    """
    (tmp_path / "site-packages" / "tables_of_a_test.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    table = importlib.import_module("tables_of_a_test").Table(np.arange(6.0).reshape(3, 2))
    f = anyshape.jit(lambda x: x * np.sum(table[1]))
    assert f(2.0) == 18.0 and f(3.0) == 27.0 and not warnings_in(caught)
    table.rows = table.rows + 1
    table._columns.clear()
    assert f(2.0) == 24.0


def test_code_of_a_large_package_is_not_followed_but_objects_are(monkeypatch, tmp_path):
    (tmp_path / "site-packages").mkdir()
    names = [f"f{i}" for i in range(2500)]
    source = f"""
        class Model:
            def __init__(self, rate):
                self.rate, self.data = rate, {{"x": [1.0, 2.0]}}

            def loss(self):
                return lambda w: [{", ".join(names)}][0](w * self.rate * self.data["x"][1])
    """
    text = "\n".join([f"def {name}(x): return x" for name in names]) + textwrap.dedent(source)
    (tmp_path / "site-packages" / "large_package_of_a_test.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    model = importlib.import_module("large_package_of_a_test").Model(3.0)
    f = anyshape.jit(model.loss())
    assert f(2.0) == 12.0
    model.data["x"][1] = 5.0
    assert f(2.0) == 30.0
    model.rate = 1.0
    assert f(2.0) == 10.0 and len(f.state.watch.things) < 50
    assert any("large_package_of_a_test" in str(line) for line in f.explain().programs[0].unwatched)


@pytest.mark.parametrize("make", [m for m in OWN if m is not counts_by_setattr], ids=lambda make: make.__name__)
def test_the_line_that_changes_it_is_named(make, caught):
    function, code = make()
    anyshape.jit(function)(X)
    (line,) = warnings_in(caught)
    file, number = line.rpartition(" at ")[2].rsplit(":", 1)
    text = linecache.getline(file, int(number))
    assert code in text


def test_a_change_from_outside_makes_every_program_stale():
    o = Counts()

    def f(x):
        o.history.append(x.ndim)
        return x * len(o.history)

    program, flat, square = anyshape.jit(f), np.ones(2), np.ones((2, 2))
    assert program(flat)[0] == 1 and program(square)[0, 0] == 2
    assert program(flat)[0] == 1 and program(square)[0, 0] == 2
    o.history += [0] * 10
    assert program(square)[0, 0] == 13 and program(flat)[0] == 14
    assert program(square)[0, 0] == 13 and program.cache_info().traces == 4
    o.history.clear()
    assert program(flat)[0] == 1


def test_functions_that_count_in_one_object_do_not_retrace_each_other():
    o = Counts()

    def loss(x):
        o.history.append(x.ndim)
        return np.sum(x * 2)

    plain, derivative, both = anyshape.jit(loss), anyshape.grad(loss), anyshape.value_and_grad(loss)
    for _ in range(4):
        assert plain(X) == 4 and derivative(X)[0] == 2 and both(X)[0] == 4
    assert [f.cache_info().traces for f in (plain, derivative, both)] == [1, 1, 1]
    assert len(o.history) == 3


def test_a_trace_that_fails_changes_state_too():
    history = []

    def f(x):
        history.append(x.ndim)
        if x.ndim == 2:
            raise ValueError("two axes")
        return x * 2

    program = anyshape.jit(f)
    program(X)
    with pytest.raises(ValueError, match="two axes"):
        program(np.ones((2, 2)))
    program(X)
    assert program.cache_info().traces == 1 and history == [1, 2]


def test_a_traced_value_that_leaks_is_still_an_error():
    history = queue.SimpleQueue()

    def f(x):
        history.put(x)
        return x * 2

    program = anyshape.jit(f)
    for _ in range(3):
        program(X)
    assert program.cache_info().traces == 1
    with pytest.raises(anyshape.errors.LeakedTracerError):
        history.get(timeout=5) + 1


def test_a_value_made_at_the_first_trace_is_kept():
    class Lazy:
        table = None

        def __call__(self, x):
            if self.table is None:
                self.table = np.arange(3.0)
            return x * self.table

    o = Lazy()
    program = anyshape.jit(o)
    for _ in range(3):
        np.testing.assert_array_equal(program(np.ones(3)), np.arange(3.0))
    assert program.cache_info().traces == 2
    o.table[1] = 7.0
    assert program(np.ones(3))[1] == 7.0


# -- changes after which the program is the same


def test_a_toggle_uses_the_programs_that_are_there():
    o = types.SimpleNamespace(training=True)
    program = anyshape.jit(lambda x: x * 2 if o.training else x)
    for training in (True, False, True, False, True):
        o.training = training
        assert program(X)[0] == (2 if training else 1)
    assert program.cache_info().traces == 2 and program.explain().revalidations == 3
    assert "3 more gave a program that was there" in str(program.explain())


def test_a_change_that_makes_no_difference_keeps_the_program():
    config = {"rate": 2.0, "name": "a"}
    program = anyshape.jit(lambda x: x * config["rate"])
    program(X)
    (before,) = program.programs()
    config["name"] = "b"
    assert program(X)[0] == 2 and program.programs() == [before]
    assert (program.cache_info().traces, program.explain().revalidations) == (1, 1)


def test_a_rebound_array_of_equal_values_is_another_constant():
    w = np.ones(2)
    first = w
    program = anyshape.jit(lambda x: x * w)
    program(X)
    w = np.ones(2)
    assert program(X).tolist() == [1, 1]
    first[:] = 7.0
    assert program(X).tolist() == [1, 1]
    w[:] = 5.0
    assert program(X).tolist() == [5, 5]


def test_an_array_that_goes_on_changing_is_said_once(caught):
    w = np.ones(2)
    program = anyshape.jit(lambda x: x * w if w[0] < 9 else x)  # which decides on the values, so it gets no argument
    for k in range(6):
        w[:] = k
        assert program(X)[0] == k
    assert program.cache_info().traces == 1
    (line,) = warnings_in(caught)
    assert "w" in line and "test_state.py:" in line and "pass it as an argument" in line


def test_a_captured_array_can_still_be_resized_and_frozen():
    w = np.ones(2)
    program = anyshape.jit(lambda x: x * float(w.sum()))
    assert program(X)[0] == 2
    w.resize(4, refcheck=False)
    w[:] = 1.0
    assert program(X)[0] == 4
    w.setflags(write=False)
    assert program(X)[0] == 4


def test_equal_numbers_that_are_other_objects_are_the_same():
    o = types.SimpleNamespace(rate=0.5, shape=(2, 3.5), dtype=np.float32(2))
    program = anyshape.jit(lambda x: x * o.rate * o.shape[1] * o.dtype)
    for _ in range(3):
        o.rate, o.shape, o.dtype = float("0.5"), (2, float("3.5")), np.float32("2")
        assert program(X)[0] == 3.5
    assert program.cache_info().traces == 1 and program.explain().revalidations == 0


# -- nothing changes


class Mode(enum.Enum):
    FAST, EXACT = 1, 2


@dataclasses.dataclass(frozen=True)
class Config:
    rate: float = 2.0
    mode: Mode = Mode.FAST
    names: tuple = ("a", "b")


class Layer:
    def __init__(self, config):
        self.config, self.w, self.calls = config, np.ones(2), 0
        self.lock, self.log = threading.Lock(), logging.getLogger("layer")

    @functools.cached_property
    def bias(self):
        return np.ones(2)

    def __call__(self, x):
        self.log.debug("called")
        with self.lock:
            return x * self.w + self.bias


class Model:
    def __init__(self):
        self.config = Config()
        self.layers = [Layer(self.config) for _ in range(5)]
        self.parent = types.SimpleNamespace(model=self, steps=0, big=[[i] for i in range(2000)])

    def __call__(self, x):
        import math

        _LOG.info("shape %s", x.shape)
        for layer in self.layers:
            x = layer(x) * math.sqrt(self.config.rate)
        return x if self.config.mode is Mode.FAST else -x


def unchanged():
    model = Model()
    yield "model", model, lambda: setattr(model.parent, "steps", model.parent.steps + 1)
    yield "log", lambda x: (_LOG.info("x"), x)[1], lambda: [_LOG.isEnabledFor(k) for k in (10, 20, 30)]
    yield "module", lambda x: np.linalg.norm(x) + len(x), lambda: globals().update(another_name=object())
    yield "partial", functools.partial(lambda k, x: x * k, 2.0), lambda: None
    yield "enum", lambda x: x * Mode.FAST.value, lambda: Mode(2)
    yield "layer", model.layers[0], lambda: setattr(model.layers[0], "calls", model.layers[0].calls + 1)
    yield "nan", functools.partial(lambda k, x: x + k, float("nan")), lambda: None


@pytest.fixture(params=["alone", "beside another thread"])
def other_thread(request):
    """Another thread that lives: then a change made while a function is traced may be that thread's."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    if request.param != "alone":
        thread.start()
    yield
    stop.set()
    if request.param != "alone":
        thread.join()


@pytest.mark.parametrize("name", [name for name, _, _ in unchanged()])
def test_where_nothing_changed_nothing_is_traced_again(name, other_thread):
    function, between = {name: rest for name, *rest in unchanged()}[name]
    program, gradient = anyshape.jit(function), anyshape.grad(lambda x: np.sum(function(x)))
    for n in (2, 2, 2, 2):
        program(np.ones(n))
        gradient(np.ones(n))
        between()
    for f in (program, gradient):
        assert f.cache_info().traces == 1 and f.explain().revalidations == 0


def test_attributes_that_no_code_names_are_not_watched():
    model = Model()
    program = anyshape.jit(model)
    program(X)
    model.note = "new"
    model.layers[2].name = "third"
    program(X)
    test = program._cache.state_holds
    program(X)
    assert program._cache.state_holds is test and test()  # the fast test serves on
    assert program.cache_info().traces == 1 and program.explain().revalidations == 0


# -- threads


@pytest.mark.parametrize("kind", ["cell", "attribute", "list", "dict"])
def test_threads_that_call_while_another_changes_the_state(kind):
    box, items, table = types.SimpleNamespace(k=1.0), [1.0], {"k": 1.0}
    k = 1.0

    def change(value):
        nonlocal k
        k = box.k = items[0] = table["k"] = value
        if value % 3 == 0:
            items.append(value)
            table[value] = value
            del items[1:], table[value]

    reads = {"cell": lambda x: x * k, "attribute": lambda x: x * box.k}
    reads |= {"list": lambda x: x * items[0], "dict": lambda x: x * table["k"]}
    program, problems, done = anyshape.jit(reads[kind]), [], threading.Event()

    def calls():
        try:
            while not done.is_set():
                value = program(X)[0]
                assert value == int(value) and 1 <= value <= 12
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=calls) for _ in range(2)]
    for thread in threads:
        thread.start()
    for value in range(1, 13):
        change(float(value))
        done.wait(0.02)
    done.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert program(X)[0] == 12
