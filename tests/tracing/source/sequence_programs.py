"""Functions with lists, ranges and unpacking, for tests of kept loops: each is run beside plain Python."""

import functools
import itertools

import numpy as np

from tests.tracing.source.loop_programs import program


@program
def inserted_first(x):
    path = [0.0]
    for v in x:
        path.insert(0, v)
    return np.array(path)


@program
def inserted_anywhere(x):
    first, last = [1.0], [0.0]
    for v in x:
        if v > 2:
            first.insert(1, v)
        last.insert(-1, v)
    return np.array(first), np.array(last)


@program
def traced_back(x):
    i = x.shape[0] - 1
    path = [i]
    while i > 0:
        i -= 1 if x[i] > 2 else 2
        path.insert(0, i)
    return np.array(path)


@program
def in_depth(x):
    rows = [x * 0]
    for v in x:
        rows.append(v * x)
    return np.dstack(rows)


@program
def lists_for_arrays(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.max([v * x[i] for v in x]) + np.linalg.norm([v + 0 for v in x])
    return total


@program
def rows_for_arrays(x):
    out = np.zeros((x.shape[0], 2))
    for i in range(x.shape[0]):
        out[i] = np.sum([np.array([v, 1.0]) for v in x], axis=0)
    return out


@program
def ranges_for_arrays(x):
    n = len(x)
    return x + range(n), np.array(range(n)) * 2, np.sum(range(n)), x[::2] * range(1, n + 1, 2)


@program
def unpacked_slices(x):
    total = 0.0
    for i in range(x.shape[0] - 2):
        a, b, c = x[i : i + 3]
        (d, e), f = x[i : i + 2], x[i]
        total += a * b - c + d * e * f
    return total


@program
def reduced(x):
    return functools.reduce(lambda a, v: a * 0.5 + v, x, 0.0)


@program
def reduced_from_the_first(x):
    return functools.reduce(_larger_or_less, x)


def _larger_or_less(a, v):
    if v > a:
        return v
    return a - 1.0


@program
def pairs_in_a_row(x):
    out = [0.5]
    for a, b in itertools.pairwise(x):
        if abs(b - a) > 1:
            out.append(b)
    return np.array(out), sum(b - a for a, b in itertools.pairwise(x)) * 1.0


@program
def filled_from_lists(x):
    out, s = [], 0.0
    for v in x:
        s = 0.5 * s + v
        out.append(s)
    return np.fromiter(out, float), np.fromiter((v * v for v in x if v > 0), dtype=float), np.fromiter(x, int)


@program
def counters_of_functions(x):
    def counter(k):
        c = 0.0

        def count(v):
            nonlocal c
            c += v * k
            return c

        return count

    f, g = counter(1.0), counter(2.0)
    for v in x:
        f(v)
        if v > 1:
            g(v)
    return f(0.0), g(0.0)


@program
def named_in_tests(x):
    out, total = [], 0.0
    for v in x:
        if (square := v * v) > 4 and square < 30:
            total += square
        out.append(square if (half := square / 2) > 1 else half)
        total += (third := v / 3) and third * 2
        total += 1.0 if 0 < (fourth := v / 4) < 1 else fourth
    return total, np.array(out)
