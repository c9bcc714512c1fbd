# ruff: noqa: SIM105
"""Looks at values: their errors, which the user's code catches, do not come back, unless they may matter."""

import contextlib
import io
import logging
import pdb
import sys

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, export, fori_loop, grad, jit, vmap
from anyshape.errors import AnyshapeError

LOG = logging.getLogger("tests.looks")
SEEN = []


class Counter:
    """Counts its calls."""

    def __init__(self):
        self.count = 0

    def tell(self, x):
        self.count += 1
        return x

    mean = tell


COUNTER = Counter()


def shown(x):
    try:
        return f"{float(np.mean(x)):.3f}"
    except Exception:
        return repr(x)


def number(x):
    return float(x.mean())


def number_that_counts(x):
    value = float(x.mean())
    COUNTER.tell(value)
    return value


def described(x):
    text = shown(x)
    return f"mean {text}"


def number_or_zero(x):
    try:
        return float(x[0])
    except Exception:
        return 0.0


class Model:
    """Object whose text has a value."""

    def __init__(self, w):
        self.w = w

    def __repr__(self):
        try:
            return f"Model({float(self.w.sum()):.2f})"
        except TypeError:
            return "Model(?)"


# -- looks


def a_text_that_nothing_reads(x):
    y = x * 2
    msg = shown(y)  # noqa: F841
    return y.sum()


def a_text_that_is_printed(x):
    y = x * 2
    msg = described(y)
    line = f"step: {msg}"
    print(line)
    if x.shape[0] > 2:
        print("long", msg, file=sys.stderr)
    return y.sum()


def a_call_inside_of_a_print(x):
    print("x", shown(x))
    return x.sum()


def a_logged_number(x):
    try:
        LOG.info("mean %f", float(x.mean()))
    except Exception:
        pass
    return x.sum()


def a_suppressed_error(x):
    with contextlib.suppress(Exception):
        print(float(x[0]), round(x[1].item(), 2))
    return x.sum()


def a_number_by_logging_itself(x):
    LOG.warning("mean %f", x.mean())
    return x.sum()


def a_number_by_a_helper(x):
    try:
        value = number(x)
        LOG.info("mean %f", value)
    except Exception as error:
        LOG.info("no mean: %s", error)
    return x.sum()


def a_narrow_handler(x):
    try:
        value = float(x.sum())
    except TypeError:
        value = None
    print(value)
    return x.sum()


def an_int_with_a_broad_handler(x):
    try:
        print(int(x[0] * 0.5))
    except Exception:
        print("?")
    return x.sum()


def an_array(x):
    for _ in range(3):
        try:
            print(np.asarray(x), x.tolist())
        except Exception:
            print("?")
    return x.sum()


def a_text_of_an_object(x):
    model = Model(x)
    print(model)
    return x.sum()


def a_handler_inside_of_another(x):
    try:
        try:
            value = float(x.sum())
        except KeyError:
            value = 3.0
        print(value)
    except Exception:
        print("?")
    return x.sum()


LOOKS = [
    a_suppressed_error,
    a_text_that_nothing_reads,
    a_text_that_is_printed,
    a_call_inside_of_a_print,
    a_logged_number,
    a_number_by_logging_itself,
    a_number_by_a_helper,
    a_narrow_handler,
    an_int_with_a_broad_handler,
    an_array,
    a_text_of_an_object,
    a_handler_inside_of_another,
]


@pytest.mark.parametrize("function", LOOKS, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("as_written")
def test_a_look_changes_nothing(function, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for call, x in ((jit(function), np.arange(1.0, 5.0)), (grad(function), np.ones(3))):
            for scale in (1, -7):  # the same program
                expected = function(x * scale) if call is not grad else None
                got = call(x * scale)
                np.testing.assert_array_equal(got, expected if np.ndim(got) == 0 else np.full(3, got[0]))
        assert vmap(function)(np.ones((2, 3))).shape == (2,)
        assert export(function)(ShapeDtypeStruct("n"))(np.ones(3)) == function(np.ones(3))


# -- reads that may matter


def a_number_that_is_used(x):
    try:
        value = float(x[0])
    except Exception:
        value = 0.0
    return x * value


def a_number_that_is_returned(x):
    return x * number_or_zero(x)


def a_text_that_is_compared(x):
    return x * 2 if shown(x) == "1.000" else x * 3


def a_text_whose_length_is_used(x):
    msg = shown(x)
    return x * len(msg)


def a_text_that_a_later_line_reads(x):
    msg = shown(x)
    scale = 2.0
    if msg == "1.000":
        scale = 3.0
    return x * scale


def a_return_on_one_way(x):
    try:
        print(float(x[0]))
        return x * 2
    except Exception:
        pass
    return x * 3


def a_change_behind_the_read(x):
    try:
        print(float(x[0]))
        SEEN.append(1)
    except Exception:
        pass
    return x * len(SEEN)


def a_change_behind_the_read_in_a_block(x):
    count = 0
    with contextlib.suppress(Exception):
        print(float(x[0]))
        count = 1
    return x * count


def a_block_of_another_kind_too(x):
    with contextlib.suppress(Exception), contextlib.nullcontext():
        print(float(x[0]))
    return x


def a_change_in_a_helper(x):
    before = COUNTER.count
    try:
        print(number_that_counts(x))
    except Exception:
        pass
    return x * (COUNTER.count - before)


def a_change_by_a_method_with_a_name_of_numpy(x):
    before = COUNTER.count
    try:
        print(COUNTER.mean(float(x[0])))
    except Exception:
        pass
    return x * (COUNTER.count - before)


def a_name_of_the_enclosing_function(x):
    scale = 1.0

    def look():
        nonlocal scale
        try:
            scale = float(x[0])
        except Exception:
            pass

    look()
    return x * scale


def a_name_that_a_function_reads(x):
    try:
        scale = float(x[0])
    except Exception:
        scale = 1.0

    def scaled():
        return x * scale

    return scaled()


def an_outer_try_that_returns(x):
    try:
        try:
            scale = float(x[0])
        except Exception:
            scale = 2.0
        return x * scale
    except Exception:
        return x * 3


def a_name_by_its_text(x):
    try:
        scale = float(x[0])
    except Exception:
        scale = 2.0
    return x * locals()["scale"]


def a_loop_that_ends(x):
    count = 0
    for _ in range(3):
        count += 1
        try:
            print(float(x[0]))
        except Exception:
            break
    return x * count


def an_attribute(x):
    model = Model(x)
    try:
        model.scale = float(x[0])
    except Exception:
        model.scale = 2.0
    return x * model.scale


def an_item(x):
    seen = {}
    try:
        seen["scale"] = float(x[0])
    except Exception:
        seen["scale"] = 2.0
    return x * seen["scale"]


def an_operator_in_place(x):
    seen = []
    alias = seen
    try:
        seen += [float(x[0])]
    except Exception:
        pass
    return x * len(alias)


def an_int_that_may_raise(x):
    try:
        print(int(x[0] / 0.0))
    except TypeError:
        print("?")
    return x


def an_iterator(x):
    rows = iter([2.0, 3.0])
    try:
        print(float(x[0]), next(rows))
    except Exception:
        pass
    return x * next(rows)


def a_generator(x):
    def scales():
        try:
            scale = float(x[0])
        except Exception:
            scale = 2.0
        yield scale

    return x * next(scales())


def a_shadowed_print(x):
    scales = []
    print = scales.append
    try:
        print(float(x[0]))
    except Exception:
        pass
    return x * len(scales)


def an_assert(x):
    try:
        print(float(x[0]))
        raise KeyError
    except TypeError:
        return x
    except KeyError:
        return x * 2


def a_finally(x):
    try:
        value = float(x[0])
    except Exception:
        value = 2.0
    finally:
        x = x * 3
    print(value)
    return x


def an_attribute_of_the_model(x):
    text = repr(Model(x))
    return x * len(text)


MATTER = [
    a_change_behind_the_read_in_a_block,
    a_block_of_another_kind_too,
    a_number_that_is_used,
    a_number_that_is_returned,
    a_text_that_is_compared,
    a_text_whose_length_is_used,
    a_text_that_a_later_line_reads,
    a_return_on_one_way,
    a_change_behind_the_read,
    a_change_in_a_helper,
    a_change_by_a_method_with_a_name_of_numpy,
    a_name_of_the_enclosing_function,
    a_name_that_a_function_reads,
    an_outer_try_that_returns,
    a_name_by_its_text,
    a_loop_that_ends,
    an_attribute,
    an_item,
    an_operator_in_place,
    an_iterator,
    a_generator,
    a_shadowed_print,
    an_assert,
    an_attribute_of_the_model,
]


@pytest.mark.parametrize("function", MATTER, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("as_written")
def test_a_read_that_may_matter_ends_the_trace(function):
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(AnyshapeError, match=r"float\(\)|int\(\)|its text"):
        jit(function)(np.array([1.0, 4.0]))


def test_an_int_that_may_raise_is_more_than_a_look():
    program = export(an_int_that_may_raise)(ShapeDtypeStruct("n"))
    with np.errstate(divide="ignore"), pytest.raises(AnyshapeError, match="cannot convert float infinity"):
        program(np.ones(2))


def test_what_finally_changes_is_no_other_result():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(AnyshapeError):
        np.testing.assert_array_equal(jit(a_finally)(np.ones(2)), a_finally(np.ones(2)))


@pytest.mark.usefixtures("as_written")
def test_a_function_without_its_source_hides_nothing(tmp_path):
    text = "def f(x):\n    try:\n        print(float(x[0]))\n    except Exception:\n        pass\n    return x\n"
    file = tmp_path / "looking.py"
    file.write_text(text)
    namespace = {"__name__": "looking"}
    exec(compile(text, str(file), "exec"), namespace)
    np.testing.assert_array_equal(jit(namespace["f"])(np.ones(2)), np.ones(2))
    for changed in (text.replace("x[0]", "x[1]"), text.replace("try:", "try:  # looks\n")):
        namespace = {"__name__": "looking"}
        exec(compile(changed, str(file), "exec"), namespace)
        with pytest.raises(AnyshapeError, match=r"float\(\)"):
            jit(namespace["f"])(np.ones(2))


# -- debuggers


def at_the_prompt(function, commands, monkeypatch):
    """Return what pdb prints for commands at the line `breakpoint()` of a function, and the result of the call."""
    printed = io.StringIO()
    lines = io.StringIO("".join(f"{c}\n" for c in (*commands, "c")))
    debugger = pdb.Pdb(stdin=lines, stdout=printed, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    monkeypatch.setattr(sys, "breakpointhook", lambda: debugger.set_trace(sys._getframe(1)))
    result = function()
    sys.settrace(None)
    return printed.getvalue(), result


def test_a_look_in_a_debugger_changes_nothing(monkeypatch):
    def stops(x):
        y = x * 2
        breakpoint()
        return y.sum()

    call = jit(stops)
    asked = ["p float(y[0])", "p y", "p y.show_value()", "p y[1].show_value()", "p 'more' if y[0] > 3 else 'less'"]
    printed, result = at_the_prompt(lambda: call(np.array([1.0, 2.0])), asked, monkeypatch)
    assert result == 6
    assert "*** anyshape.errors.ConcretizationError: float()" in printed
    assert "Array<f64[x.shape[0]] made by x * 2 at test_looks.py" in printed
    assert "(Pdb) array([2., 4.])\n" in printed and "(Pdb) array(4.)\n" in printed and "'less'" in printed
    for x in (np.array([5.0, 2.0]), np.ones(3)):
        assert call(x) == 2 * x.sum()
    assert call.cache_info().traces == 1, "the answer at the prompt is no decision of the program"


def test_values_are_shown_where_there_are_any():
    texts = []

    def look(x):
        texts.append(x.show_value())
        return x.sum()

    grad(look)(np.array([1.0, 2.0]))
    vmap(look)(np.array([[3.0, 4.0], [5.0, 6.0]]))
    export(look)(ShapeDtypeStruct("n"))
    jit(lambda x: fori_loop(0, 3, lambda i, c: c + look(c * x), 0.0))(np.ones(2))
    assert texts[:2] == ["array([1., 2.])", "array([3., 4.])"]
    assert "without arguments" in texts[2] and "in each trip of a loop" in texts[3]


def test_a_shown_value_is_a_text():
    with pytest.raises(TypeError):
        jit(lambda x: x * x.show_value())(np.ones(2))


def test_a_caught_look_changes_nothing_in_a_function_that_is_read():
    def shown(x):
        try:
            return f"{float(np.mean(x)):.3f}"
        except TypeError:
            return repr(x)

    @jit
    def total(x):
        print("mean:", shown(x))
        s = 0.0
        for v in x:
            s = s + v
        return s

    assert total(np.ones(3)) == 3 and total(np.ones(5)) == 5 and total.cache_info().traces == 1
