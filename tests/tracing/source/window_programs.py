# as people write them
"""Functions that slice windows in loops, and run over what ends late or never: each beside Python."""

from collections import Counter, deque

import numpy as np

from tests.tracing.source.loop_programs import program


@program
def windows(x):
    k = 3
    return np.array([x[i : i + k] for i in range(len(x) - k + 1)])


@program
def windows_downwards(x):
    out = []
    for i in range(len(x) - 3, -1, -1):
        out.append(x[i : i + 3][::-1])
    return np.array(out), np.array([x[i - 2 : i] for i in range(2, len(x))])


@program
def windows_apart(x):
    b = 3
    rows = [x[i : i + 4] for i in range(0, len(x) - 3, 2)]
    return np.array(rows), np.array([x[i * b : (i + 1) * b] for i in range(len(x) // b)])


@program
def windows_with_steps(x):
    return np.array([x[i : i + 6 : 2] for i in range(len(x) - 4)])


@program
def patches(x):
    m, n = np.outer(x, x + 1), len(x)
    return np.array([[m[i : i + 2, j : j + 2] for j in range(n - 1)] for i in range(n - 1)])


@program
def windows_at_the_ends(x):
    before = np.array([x[i - 2 : i + 1].sum() for i in range(len(x))])
    return before, np.array([x[i : i + 3].sum() for i in range(len(x))])


def weighted(a, b, c=1.0):
    return a * 2 + b - c


@program
def windows_as_arguments(x):
    s = 0.0
    for i in range(len(x) - 2):
        s += weighted(*x[i : i + 3])
    return s


@program
def windows_of_a_generator(x):
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in (x[i : i + 2] for i in range(len(x) - 1)))


@program
def window_written_to(x):
    y = np.zeros(len(x))
    for i in range(len(x) - 2):
        y[i : i + 3] += x[i] * np.array([1.0, 2.0, 3.0])
        if y[i] > 20:
            break
    return y


@program
def parts_of_ranges(x):
    s = 0.0
    for i in range(len(x))[1:-1]:
        s += x[i] * i
    for i in range(len(x))[::-2]:
        s = s * 0.5 + x[i]
    return s, len(range(1, len(x), 2)), np.array([x[i] for i in range(1, len(x))[-2::-1]])


@program
def indices_of_arrays(x):
    m, t = np.outer(x, x), 0.0
    for i, j in np.ndindex(len(x), 2):
        t += m[i, j % len(x)] * (i + j)
    for (i, j), v in np.ndenumerate(m):
        t += v * (i - j)
    return t


@program
def zip_strictly(x):
    s = 0.0
    for a, b in zip(x, x[::-1], strict=True):
        s += a * b * b
    return s


@program
def zip_with_what_ends_late(x):
    def late():
        for i in range(10**12):
            yield i * 0.5

    s = 0.0
    for a, v in zip(late(), x):
        s += a * v
    return s


@program
def zip_with_a_condition_that_ends_late(x):
    def late():
        i = 0
        while i < 10**12:
            yield i * 0.5
            i += 1

    s = 0.0
    for v, a in zip(x, late()):
        s += a * v
    return s


@program
def classes_of_values(x):
    n = len(x)
    if type(n) is not int or type(float(x.sum())) is not float or type(x) is not np.ndarray:
        raise TypeError("a class of another package")
    return x * n


@program
def counter_of_integers(x):
    counts = Counter(int(v) for v in x)
    return counts[1], counts[2], len({int(v) for v in x}), len(set(int(v) for v in x))  # noqa: C401


@program
def cleared(x):
    q, s, out = deque(), 0.0, []
    for v in x:
        q.append(v)
        out.append(v)
        if len(q) == 3:
            s += sum(q)
            q.clear()
        if v > 4:
            out.clear()
    return s, len(q), np.array(out)


@program
def cleared_where_it_is_appended_to_or_not(x):
    current, best = [], 0.0
    for v in x:
        if v > 1.0:
            current.append(v)
        else:
            best = max(best, sum(current))
            current.clear()
    return max(best, sum(current))


@program
def table_of_lists(x):
    n = len(x)
    t = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            t[i][j] = x[i] * x[j] + (t[i - 1][j] if i > 0 else 0.0)
    return np.array(t)


@program
def choice_with_effects(x):
    calls, s = [], 0.0

    def is_large(v):
        calls.append(v)
        return v > 1

    for v in x:
        if is_large(v) and is_large(v * 0.7):
            s += v
    return s, len(calls)
