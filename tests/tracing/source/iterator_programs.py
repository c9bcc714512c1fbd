# ruff: noqa: B007, C417, RUF007  # as people write them
"""Functions that match patterns, sort by keys and run over iterators, as people write them: each beside Python."""

import functools
import itertools
import operator

import numpy as np

from tests.tracing.source.loop_programs import program


class State:
    """Constants that patterns name."""

    A, B = 0, 1


@program
def matched_values(x):
    s = 0.0
    for i in range(len(x)):
        match i % 3:
            case 0:
                s += x[i]
            case 1:
                s -= x[i]
            case _:
                s *= 0.5
    return s


@program
def matched_alternatives(x):
    s = 0.0
    for i in range(len(x)):
        match i:
            case 0 | 2 | 4:
                s += x[i]
            case k if k > 5:
                s -= k
            case k:
                s += k
    return s


@program
def matched_by_guards(x):
    s = 0.0
    for v in x:
        match v:
            case t if t > 2:
                s += t
            case t if t < 1:
                s -= t
            case _:
                s += 1
    return s


@program
def matched_pairs(x):
    s = 0.0
    for i in range(len(x)):
        match (i % 2, x[i]):
            case (0, v):
                s += v
            case (1, v) if v > 2:
                s -= v
            case _:
                s += 0.25
    return s


@program
def matched_texts(x):
    s = 0.0
    for kind in ("a", "b"):
        for v in x:
            match kind:
                case "a":
                    s += v
                case "b":
                    s *= 0.9
    return s


@program
def sorted_by_key(x):
    return np.array(sorted(x, key=lambda v: -v))


@program
def positions_sorted_by_key(x):
    idx = sorted(range(len(x)), key=lambda i: x[i])
    s = 0.0
    for k, i in enumerate(idx):
        s += k * x[i]
    return s


@program
def list_sorted_by_key(x):
    out = []
    for i in range(len(x)):
        out.append((i % 3, x[i]))
    out.sort(key=lambda t: t[1])
    return np.array([t[1] for t in out])


@program
def list_sorted(x):
    out = []
    for v in x:
        out.append(-v)
    out.sort()
    return np.array(out)


@program
def accumulated(x):
    return np.array(list(itertools.accumulate(x)))


@program
def accumulated_by_function(x):
    return np.array(list(itertools.accumulate(x, lambda a, b: 0.5 * a + b)))


@program
def accumulated_from_one(x):
    s = 0.0
    for v in itertools.accumulate(x, operator.mul, initial=1.0):
        s += v
    return s


@program
def accumulated_extremes(x):
    return list(itertools.accumulate(x, max))


@program
def reduced_by_add(x):
    return functools.reduce(operator.add, x, 0.0)


@program
def reduced_by_max(x):
    return functools.reduce(max, x, -1.0)


@program
def reduced_list(x):
    return functools.reduce(operator.mul, [v + 1 for v in x], 1.0)


@program
def least_by_key(x):
    return min(x, key=lambda v: abs(v - 2)) if len(x) else 0.0


@program
def position_of_least(x):
    return min(range(len(x)), key=lambda i: x[i]) if len(x) else 0


@program
def largest_pair_by_key(x):
    pts = [(v, i) for i, v in enumerate(x)]
    return max(pts, key=lambda p: p[0])[1] if pts else -1


@program
def largest_pair(x):
    pts = [(v, i) for i, v in enumerate(x)]
    return max(pts)[1] if pts else -1


@program
def pairs_sorted(x):
    a = sorted(zip(x, range(len(x))))
    return np.array([v for v, _ in a])


@program
def all_but_two(x):
    s = 0.0
    for v in itertools.islice(x, 2, None):
        s += v
    return s


@program
def chained(x):
    s = 0.0
    for v in itertools.chain(x, x * 2):
        s = 0.9 * s + v
    return s


@program
def pairs_of_two(x):
    s = 0.0
    for a, b in itertools.product(x, x):
        s += a * b
    return s


@program
def pairs_of_one(x):
    s = 0.0
    for a, b in itertools.combinations(x, 2):
        s += abs(a - b)
    return s


@program
def products_by_starmap(x):
    return sum(itertools.starmap(lambda i, v: i * v, enumerate(x)))


@program
def sum_of_map(x):
    return sum(map(lambda v: v * 2, x))


@program
def list_of_map(x):
    return list(map(lambda a, b: a * b, x, x[::-1]))


@program
def returned_from_a_case(x):
    for i in range(len(x)):
        match (i, x[i] > 2):
            case (_, True):
                return x[i]
            case (k, _) if k > 4:
                return -1.0
    return 0.0


@program
def broken_in_a_case(x):
    s = 0.0
    for v in x:
        match v:
            case t if t > 3:
                break
            case t:
                s += t
    return s


@program
def matched_variable_pair(x):
    s = 0.0
    p = (0.0, 1.0)
    for v in x:
        match p:
            case (a, b):
                p = (b, a + v)
            case _:
                p = None
        s += p[1]
    return s


@program
def guard_binds_what_is_read(x):
    s = 0.0
    w = 5.0
    for v in x:
        match v:
            case w if w > 2:
                s += w
            case _:
                s += 0.5
    return s + w


@program
def matched_none(x, y=None):
    s = 0.0
    for v in x:
        match y:
            case None:
                s += v
            case _:
                s -= v
    return s


@program
def matched_as(x):
    s = 0.0
    for i in range(len(x)):
        match i % 4:
            case 1 | 2 as k:
                s += k * x[i]
            case -1:
                s = -100.0
            case 3:
                s -= 1
    return s


@program
def matched_class(x):
    s = 0.0
    for v in x:
        match s:
            case float():
                s += v
            case _:
                s -= v
    return s


@program
def state_machine(x):
    state, n = State.A, 0
    for v in x:
        match state:
            case State.A:
                if v > 2:
                    state = State.B
            case State.B:
                if v < 1:
                    state = State.A
                    n += 1
    return n, state


@program
def zip_taken_twice(x):
    z = zip(x, x)
    a = sum(v * w for v, w in z)
    b = sum(v * w for v, w in z)
    return a, b * 1.0


@program
def enumerate_taken_twice(x):
    z = enumerate(x)
    s = 0.0
    for i, v in z:
        s += v
    for i, v in z:
        s += v * 10
    return s


@program
def zip_after_next(x):
    z = zip(x, x[1:])
    s = 0.0
    if len(x) > 1:
        s = next(z)[0] * 100
    for a, b in z:
        s += a * b
    return s


@program
def enumerate_taken_in_a_loop(x):
    z = enumerate(x)
    s = 0.0
    for i in range(len(x)):
        for k, v in z:
            s += v
    return s


@program
def reversed_taken_after_break(x):
    z = reversed(x)
    s = 0.0
    for v in z:
        s += v
        if v > 2:
            break
    for v in z:
        s += 100 * v
    return s


@program
def enumerate_taken_in_a_branch(x):
    z = enumerate(x)
    s = 0.0
    if x.sum() > 3:
        for k, v in z:
            s += v
    for k, v in z:
        s += v * 10
    return s


@program
def zip_listed_twice(x):
    z = zip(x, x)
    a = list(z)
    return len(a), len(list(z))


@program
def map_taken_twice(x):
    m = map(lambda v: v * 2, x)
    return sum(m), sum(m) * 1.0


@program
def accumulated_taken_twice(x):
    a = itertools.accumulate(x)
    s = 0.0
    for v in a:
        s += v
    for v in a:
        s += 10 * v
    return s
