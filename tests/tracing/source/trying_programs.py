"""Functions whose loops try, enter contexts, and use deques, default dicts and generators, beside plain Python."""

import warnings
from collections import defaultdict, deque

import numpy as np

from tests.tracing.source.loop_programs import program


@program
def tried_to_the_end(x):
    s, k = 0.0, 0
    for v in x:
        try:
            s = s + 1.0 / (v + 1.0)
        except (ZeroDivisionError, ValueError) as error:
            s = float(str(error))
        else:
            s = s * 1.5
        finally:
            k = k + 1
    return s, k * 1.0


@program
def tried_and_left(x):
    s = 0.0
    for v in x:
        try:
            if v > 4:
                continue
            s = s + v
            if s > 6:
                return s
        except ValueError:
            break
        finally:
            s = s + 1.0
    return s * 2


@program
def tried_around(x):
    s = 0.0
    try:
        for v in x:
            s = s + np.sqrt(v)
    except:  # noqa: E722 - it sees what the library raises, too
        s = -1.0
    return s


@program
def tried_slices(x):
    s = 0.0
    for i in range(len(x)):
        try:
            s = s + np.sum(x[i : i + 3] * np.array([1.0, 2.0, 3.0]))
        except ValueError:
            s = s + 1.0
    return s


@program
def tried_items(x):
    s, steps = 0.0, np.array([1.0, 2.0, 3.0])
    for i in range(len(x)):
        try:
            s = s + steps[i] * x[i]
        except IndexError:
            s = s - 1.0
    return s


@program
def raised_and_handled(x):
    s = 0.0
    for v in x:
        try:
            if v > 2.5:
                raise ValueError("large")
            s = s + v
        except ValueError:
            s = s - 1.0
    return s


@program
def asserted_and_handled(x):
    s = 0.0
    for v in x:
        try:
            assert v < 2.5
            s = s + v
        except:  # noqa: E722 - as above
            s = s - 1.0
    return s


@program
def keys_tried(x):
    counts = {}
    for k, v in enumerate(x):
        try:
            counts[k % 2] = counts[k % 2] + v
        except KeyError:
            counts[k % 2] = v
    return np.array([counts.get(0, 0.0), counts.get(1, 0.0)])


@program
def in_error_states(x):
    s = 0.0
    for v in x:
        with np.errstate(divide="ignore"), warnings.catch_warnings():
            s = s + np.log(v)
    return s


@program
def window_of_a_deque(x):
    window, s = deque([0.0, 0.0, 0.0], maxlen=3), 0.0
    for v in x:
        window.append(v)
        s = s + sum(window) / 3 * window[0]
    return s, np.array(window)


@program
def pairs_of_a_deque(x):
    last, s = deque(maxlen=2), 0.0
    for v in x:
        last.appendleft(v)
        if len(last) == 2:
            s = s + last[0] * last[1]
    return s


@program
def sums_of_a_default_dict(x):
    sums = defaultdict(float)
    for v in x:
        sums["first"] += v
        sums["second"] += v * v
    return sums["first"] + sums["second"]


@program
def lists_of_a_default_dict(x):
    columns = defaultdict(list)
    for v in x:
        columns["first"].append(v)
        columns["second"].append(v * v)
    return np.array(columns["first"]), np.array(columns["second"])


@program
def repeated_value(x):
    sums = [x.sum()] * len(x)
    for i in range(len(x)):
        sums[i] = sums[i] * i + x[i]
    return np.array(sums)


@program
def repeated_row(x):
    rows = [np.ones(2)] * len(x)
    for i in range(len(x)):
        rows[i] = np.array([x[i], 1.0])
    return np.stack(rows) if len(x) else np.zeros((0, 2))


def squares(x):
    """Yield squares, and twice the large ones."""
    for v in x:
        yield v * v
        if v > 2:
            yield 2 * v


def halves(x):
    while x > 0.1:
        x = x / 2
        yield x


@program
def sum_of_a_generator(x):
    return 1.0 * sum(squares(x)), max(squares(x), default=0.0)


@program
def list_of_a_generator(x):
    return np.array(list(squares(x)))


@program
def sum_of_halves(x):
    return sum(halves(x.sum() + 1.0))


@program
def loop_over_a_generator(x):
    s = 0.0
    for v in squares(x):
        s = s + v
        if s > 20:
            break
    return s


@program
def circle(x):
    s = 0.0
    for i in range(len(x)):
        s = s - x[i] * x[(i + 1) % len(x)]
    return s


@program
def stack_machine(x):
    stack = []
    for v in x:
        if v > 2.5 and len(stack) >= 2:
            a, b = stack.pop(), stack.pop()
            stack.append(a + b)
        elif v < 1.0 or not stack:
            stack.append(v)
        else:
            stack[-1] = stack[-1] * v
    return 1.0 * sum(stack)
