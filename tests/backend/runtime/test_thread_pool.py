"""Tests of the thread pool: errors and Ctrl-C surface at once; threads, forks and nested runs may run programs."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import jit
from anyshape.backend.runtime import thread_pool
from anyshape.backend.runtime.thread_pool import run_tiles
from tests.backend.compiler.codegen.tiling import tiled, untiled


def within(seconds, function):
    """Return the result of a function that runs in its own thread; fail if that takes longer."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "it did not end"
    return results[0]


def in_a_process(source, seconds=120, interrupt_at=None, **environment):
    """Run the source in a process and return its return code, output and errors.

    With `interrupt_at`, send Ctrl-C so many seconds after the first line of output.
    """
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore it
    process = subprocess.Popen(
        [sys.executable, "-c", listen + textwrap.dedent(source)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )
    try:
        first = process.stdout.readline() if interrupt_at is not None else ""
        if interrupt_at is not None:
            time.sleep(interrupt_at)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, first + out, err


def chain(x):
    return np.sum(np.sin(x) * x + np.exp(-x)), np.tanh(x) * 2


# -- errors


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_error_surfaces_and_no_more_tiles_start(threads):
    begun = []

    def work(tiles):
        for k in tiles:
            begun.append(k)
            time.sleep(0.002)
            if k in (5, 6, 7):
                raise ValueError(k)

    with tiled(threads=threads):
        for _ in range(5):
            begun.clear()
            with pytest.raises(ValueError, match=r"^5$"):
                run_tiles(work, 1000)
            assert max(begun) < 8 + threads
            time.sleep(0.01)
            assert max(begun) < 8 + threads, "a tile began after the error had surfaced"


@pytest.mark.parametrize("per", [1, 2, 5, 100])
@pytest.mark.parametrize("count", [0, 1, 5, 23])
def test_each_tile_runs_once_and_each_block_in_order_on_one_thread(count, per):
    ran = []

    def work(tiles):
        for k in tiles:
            ran.append((k, threading.get_ident()))
            time.sleep(0.0005)

    with tiled(threads=3):
        run_tiles(work, count, per)
    assert sorted(k for k, _ in ran) == list(range(count))
    for start in range(0, count, per):
        block = [(k, thread) for k, thread in ran if start <= k < start + per]
        assert block == sorted(block) and len({thread for _, thread in block}) == 1


def test_the_error_of_the_first_tile_of_a_block_surfaces():
    def work(tiles):
        for k in tiles:
            time.sleep(0.001 if k < 5 else 0)
            if k in (4, 5):
                raise ValueError(k)

    with tiled(threads=3):
        for _ in range(5):
            with pytest.raises(ValueError, match=r"^4$"):
                run_tiles(work, 100, 5)


def test_an_error_names_the_operation_and_its_line_in_every_thread():
    with tiled(threads=3):
        step = jit(lambda x: np.log(x) * 2 + x)
        for bad in (0, 7, 13, 39):
            x = np.ones(40)
            x[bad] = 0.0
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match=r"^np\.log\(x\): .*at "):
                step(x)
            assert step(np.ones(40)).tolist() == [1.0] * 40


def test_an_error_holds_no_arrays_alive():
    with tiled(threads=2):
        alive = []

        def work(tiles):
            data = Data()
            for _ in tiles:
                raise ValueError(str(data))

        class Data:
            def __init__(self):
                alive.append(1)

            def __del__(self):
                alive.pop()

        for _ in range(20):
            with pytest.raises(ValueError, match="Data"):
                run_tiles(work, 10)
        assert within(5, lambda: wait_for(lambda: len(alive) <= 2))


def wait_for(condition):
    while not condition():
        time.sleep(0.01)
    return True


def test_ctrl_c_at_the_end_of_a_wait_does_not_wait_again():
    """The call that acquires the lock raises it."""

    class Interrupted:
        def __init__(self, lock):
            self.lock, self.release = lock, lock.release

        def acquire(self):
            self.lock.acquire()
            raise KeyboardInterrupt

    def work(tiles):
        for _ in tiles:
            time.sleep(0.05)

    def run():
        tiles = thread_pool._Run(work, 2, 1)
        tiles.idle = Interrupted(tiles.idle)
        helper = threading.Thread(target=tiles.help)
        helper.start()
        wait_for(lambda: tiles.helpers)
        with pytest.raises(KeyboardInterrupt):
            tiles.close()
        helper.join()
        return True

    assert within(10, run)


FORKED = """
    import os, signal, threading, time
    import numpy as np
    import anyshape

    inside = threading.Event()

    def slow(x):
        inside.set()
        time.sleep(1)
        return np.sin(x)

    step = anyshape.jit(slow)
    thread = threading.Thread(target=step, args=(np.ones(3),))
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a deadlocked process
        os._exit(0 if np.allclose(step(np.ones(3)), np.sin(1)) else 1)
    print("child", os.waitpid(child, 0)[1])
    thread.join()
    print("parent", np.allclose(step(np.ones(5)), np.sin(1)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_forked_while_a_thread_traces_can_call_the_same_function():
    code, out, err = in_a_process(FORKED)
    assert code == 0, err
    assert out.split("\n")[:2] == ["child 0", "parent True"]


def test_callbacks_that_fail_leave_the_pool_usable():
    def fail(x):
        raise KeyError("no")

    with tiled(threads=2):
        step = jit(lambda x: anyshape.pure_callback(fail, anyshape.ShapeDtypeStruct((20,), "float64"), np.sin(x) * 2))
        with pytest.raises(KeyError):
            step(np.ones(20))
        np.testing.assert_allclose(jit(chain)(np.ones(20))[1], chain(np.ones(20))[1])


SLOW = """
    import time
    import numpy as np, scipy.special as sc
    import anyshape
    from anyshape.backend.runtime import thread_pool
    thread_pool.config.num_threads = {threads}
    x = np.linspace(0.1, 0.9, 4_000_000)
    step = anyshape.jit(lambda x: sc.betainc(3.5, 2.5 + x, x) * x)
    few = step(x[:70_000])
    before = x.copy()
    print("begun", flush=True)
    try:
        step(x)
        print("ended")
    except KeyboardInterrupt:
        print("interrupted", time.time())
    np.testing.assert_array_equal(step(x[:70_000]), few)
    np.testing.assert_array_equal(x, before)
    print("right")
"""


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_ctrl_c_surfaces_at_once_and_later_calls_succeed(threads):
    code, out, err = in_a_process(SLOW.format(threads=threads), interrupt_at=0.2)
    ended = time.time()
    assert code == 0, err
    first, second, third = out.split("\n")[:3]
    assert (first, third) == ("begun", "right")
    assert second.startswith("interrupted"), "the call was over before it was interrupted"
    assert ended - float(second.split()[1]) < 5


# -- warnings


def warnings_of(function, *args):
    """Return the text and the category of each warning of a call."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        function(*args)
    return sorted((str(w.message), w.category) for w in caught)


def test_a_step_warns_once_per_call_like_numpy():
    def function(x):
        return np.log(x) * 2 + np.sqrt(x - 1)

    x = np.zeros(40)
    with untiled():
        expected = warnings_of(jit(function), x)
    assert len(expected) == 2
    for threads in (1, 2, 4):
        with tiled(threads=threads):
            step = jit(function)
            for _ in range(2):
                assert warnings_of(step, x) == expected
            with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
                step(x)
            assert not caught


def test_steps_that_warn_in_the_same_words_warn_once_each():
    x = np.zeros(40)
    for threads in (1, 2):
        with tiled(threads=threads):
            caught = warnings_of(jit(lambda x: np.log(x) + np.log(x * 2)), x)
        assert [text for text, _ in caught] == ["divide by zero encountered in log"] * 2


def test_warnings_that_are_errors_name_the_operation():
    with tiled(threads=2), np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero") as raised:
            jit(lambda x: np.log(x) * 2 + x)(np.zeros(40))
    assert "raised by log" in raised.value.__notes__[0]


def test_the_error_state_of_the_caller_holds_in_every_thread():
    calls = []
    with tiled(threads=3), np.errstate(all="ignore", divide="call", call=lambda kind, flag: calls.append(kind)):
        jit(lambda x: np.log(x) * 2 + x)(np.zeros(40))
    assert set(calls) == {"divide by zero"}


# -- threads, forks, nested runs, shutdown


def test_a_tile_may_run_programs():
    with tiled(threads=2):
        step = jit(chain)
        x = np.linspace(0, 1, 50)
        expected = step(x)

        def nested(depth):
            def work(tiles):
                for _ in tiles:
                    np.testing.assert_array_equal(step(x)[1], expected[1])
                    if depth:
                        run_tiles(nested(depth - 1), 3)

            return work

        assert within(60, lambda: run_tiles(nested(3), 4) is None)


def give_up(*_):
    raise TimeoutError("deadlock")


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal here")
def test_a_signal_handler_may_run_programs(monkeypatch):
    results, start, x = [], threading.Thread.start, np.linspace(0, 1, 50)

    def started(thread):
        signal.raise_signal(signal.SIGUSR1)  # the pool is about to grow
        start(thread)

    def work(tiles):
        for _ in tiles:
            if threading.current_thread() is threading.main_thread():
                signal.raise_signal(signal.SIGUSR1)

    with tiled(threads=3):
        step = jit(chain)
        expected = step(x)[1].tolist()
        before = signal.signal(signal.SIGUSR1, lambda *_: results.append(step(x)[1].tolist()))
        monkeypatch.setattr(thread_pool, "_POOL", thread_pool._Pool())
        monkeypatch.setattr(threading.Thread, "start", started)
        late = signal.signal(signal.SIGALRM, give_up)
        try:
            signal.alarm(30)
            run_tiles(work, 20)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGUSR1, before)
            signal.signal(signal.SIGALRM, late)
    assert len(results) > 1 and all(values == expected for values in results)


def test_many_user_threads_at_different_shapes():
    with tiled(threads=2):
        stress(jit(chain), anyshape.grad(lambda x: chain(x)[0]), range(1, 60), seconds=1.0)


@pytest.mark.slow
def test_many_user_threads_for_a_long_time():
    step, derivative = jit(chain), anyshape.grad(lambda x: chain(x)[0])
    for threads in (1, 2, 4):
        with tiled(threads=threads):
            stress(step, derivative, range(0, 200), seconds=5.0)
        with tiled(tile=1 << 14, least=1 << 16, threads=threads):
            stress(step, derivative, [1 << 10, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 100_003], seconds=5.0)


def stress(step, derivative, sizes, seconds):
    """Call the same functions from eight threads at random sizes while the number of threads changes."""
    wrong, calls, end = [], [], time.time() + seconds

    def work(seed):
        rng = np.random.default_rng(seed)
        while time.time() < end and not wrong:
            x = rng.normal(size=rng.choice(sizes))
            try:
                value, row = step(x)
                np.testing.assert_allclose(value, chain(x)[0], rtol=1e-9, atol=1e-9)
                np.testing.assert_array_equal(row, chain(x)[1])
                np.testing.assert_allclose(derivative(x), np.cos(x) * x + np.sin(x) - np.exp(-x), rtol=1e-9, atol=1e-9)
                calls.append(len(x))
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    while time.time() < end:
        thread_pool.config.num_threads = 1 + thread_pool.config.num_threads % 4
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert not wrong and len(calls) > 8


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_after_use_of_the_pool_and_while_tiles_run():
    with tiled(threads=3):
        step, x = jit(chain), np.linspace(0, 1, 40)
        expected = step(x)[1].tolist()
        ended = threading.Event()

        def busy():
            while not ended.is_set():
                step(x)

        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            context = multiprocessing.get_context("fork")
            for _ in range(5):
                ours, theirs = context.Pipe()
                child = context.Process(target=lambda end=theirs: end.send(step(x)[1].tolist()))
                child.start()
                assert ours.poll(20), "the child did not answer"
                assert ours.recv() == expected
                child.join(20)
                assert child.exitcode == 0
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        assert step(x)[1].tolist() == expected


def test_calls_during_shutdown():
    source = """
        import atexit, threading, time
        import numpy as np
        import anyshape
        from anyshape.backend.runtime import thread_pool
        thread_pool.config.num_threads = 2
        step, x = anyshape.jit(lambda x: np.sin(x) * x + 1), np.ones(200_000)

        def late():
            time.sleep(0.3)
            print("late", step(x).shape)

        def forever():
            while True:
                step(x)

        atexit.register(lambda: print("at exit", step(x).shape))
        threading.Thread(target=late).start()
        threading.Thread(target=forever, daemon=True).start()
        step(x)
    """
    code, out, err = in_a_process(source)
    assert (code, err) == (0, "")
    assert out.splitlines() == ["late (200000,)", "at exit (200000,)"]


def test_a_pool_that_cannot_grow_runs_in_the_calling_thread(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(thread_pool, "_POOL", thread_pool._Pool())
    with tiled(threads=4):
        np.testing.assert_array_equal(jit(chain)(np.ones(40))[1], chain(np.ones(40))[1])


# -- number of threads


@pytest.mark.parametrize("number", [0, -1, 1.5, "2", None, True])
def test_the_number_of_threads_must_be_positive(number):
    before = anyshape.config.num_threads
    with pytest.raises(anyshape.errors.ArgumentError, match="num_threads is"):
        anyshape.config.num_threads = number
    assert anyshape.config.num_threads == before
    with pytest.raises(AttributeError):
        anyshape.config.num_thread = 2


def test_the_number_of_threads_can_change_at_any_time():
    seen = set()

    def work(tiles):
        for _ in tiles:
            seen.add(threading.get_ident())
            time.sleep(0.002)

    for threads in (1, 3, 2, 1, 4):
        seen.clear()
        with tiled(threads=threads):
            run_tiles(work, 40)
        assert len(seen) == threads if threads == 1 else 1 < len(seen) <= threads


@pytest.mark.parametrize(
    ("text", "threads", "warns"),
    [("3", 3, False), (" 2 ", 2, False), ("", None, False), ("0", None, True), ("two", None, True)],
)
def test_the_environment_sets_the_number_of_threads(text, threads, warns):
    source = "import anyshape; print(anyshape.config.num_threads)"
    _, out, err = in_a_process(source, ANYSHAPE_NUM_THREADS=text)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert int(out) == (threads or cores)
    assert ("ANYSHAPE_NUM_THREADS" in err) == warns
