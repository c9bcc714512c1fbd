"""Functions with comprehensions, tables and sums that begin with a number, as people write them."""

import math

import numpy as np

from tests.tracing.source.loop_programs import program

TABLE = np.array([1.0, 2.0, 0.5])
ROWS = np.arange(12.0).reshape(4, 3)
NUMBERS = [1.0, 2.0, 0.5]
VECTORS = [np.arange(3.0), np.ones(3), np.array([2.0, 0.0, 1.0])]


@program
def list_with_a_test(x):
    return np.array([v * 2 for v in x if v > 1 and v < 4]), sum(v for v in x if v > 2)


@program
def list_of_pairs(x):
    return np.array([a * b for i, a in enumerate(x) for j, b in enumerate(x) if i < j])


@program
def list_of_pairs_with_two_tests(x):
    return np.sum([a * b for a in x if a > 1 for b in x if b > 2 if b > a])


@program
def number_of_items(x):
    return sum(1 for v in x if v > 3), len([v for v in x if v > 2])


@program
def any_and_all(x):
    return any(v > 5 for v in x), all(v > 1 for v in x)


@program
def any_and_all_with_tests(x):
    return any(v > 5 for v in x if v < 3), all(v > 3 for v in x if v > 3)


@program
def any_ends_at_the_first(x):
    return any(v > 2.5 or math.sqrt(4 - v) > 1 for v in x)


@program
def all_ends_at_the_first(x):
    return all(v < 3 and math.sqrt(3 - v) > 0 for v in x)


@program
def any_in_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        if any(x[j] > x[i] for j in range(i)):
            s += x[i]
    return s


@program
def sum_with_a_test_in_a_loop(x):
    s = 0.0
    for i in range(len(x)):
        s += sum(x[j] for j in range(i) if x[j] < x[i])
        s += sum(w * x[i] for w in (1.0, 2.0, 3.0) if w * x[i] > 4)
    return s


@program
def extreme_or_default(x):
    return max((v for v in x if v > 4), default=-1.0), min([v for v in x if v < 1], default=0.0)


@program
def matrix_of_lists(x):
    return np.array([[x[i] * x[j] for j in range(len(x))] for i in range(len(x))])


@program
def nearest_pair(x):
    return min((abs(a - b) for i, a in enumerate(x) for b in x[i + 1 :]), default=0.0)


@program
def table_of_numpy(x):
    s = 0.0
    for i in range(len(x)):
        row = ROWS[i % 4]
        s += row[i % 3] * x[i] + ROWS[i % 4, i % 3] * TABLE[i % 3]
    return s


@program
def table_of_python(x):
    s, widths = 0.0, (1, 2, 3)
    for i in range(len(x)):
        s += x[i] * NUMBERS[-1 - i % 3] / widths[i % 3] + widths[i % 3] // 2
    return s


@program
def table_of_arrays(x):
    parts, s = [x * 2, x + 1, x - 1], 0.0
    for i in range(len(x)):
        s += parts[i % 3][i]
    return s


@program
def array_of_a_table_is_written_to(x):
    parts = [np.zeros(3), np.ones(3)]
    for i in range(len(x)):
        part = parts[i % 2]
        part += x[i]
    return parts[0] + 2 * parts[1]


def item_that_is_not_there(x):
    s = 0.0
    for i in range(len(x)):
        s += NUMBERS[i] * x[i]
    return s


@program
def sum_of_arrays_from_a_number(x):
    s = 0.0
    for v in x:
        s += VECTORS[0] * v
    return s


@program
def sums_of_arrays_from_numbers_in_a_loop(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0
        for j in range(len(x)):
            s = s + x * x[j]
        out[i] = s[i]
    return out


@program
def inverses_of_positions(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * (1 / (i + 1)) + (i + 1) ** 0.5
    return s


def inverses_of_zero(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * (1 / i)
    return s


@program
def increasing_subsequence(x):
    best = [1] * len(x)
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i]:
                best[i] = max(best[i], best[j] + 1)
    return max(best) if best else 0


@program
def sorted_elements(x):
    s = sorted(x)
    n = len(s)
    return s[0] + s[-1] * 2 + sum(v * i for i, v in enumerate(s)) if n else 0.0


@program
def largest_elements(x):
    return np.array(sorted(x, reverse=True)[:3])


@program
def list_of_an_array_is_written_to(x):
    a = list(x)
    for i in range(len(a)):
        a[i] = a[i] * 2
    return np.array(a)


@program
def list_of_pairs_taken_apart(x):
    out = []
    for i, v in enumerate(x):
        out.append((v, v * i))
    if not out:
        return np.zeros(0), np.zeros(0)
    a, b = zip(*out)
    return np.array(a), np.array(b)


@program
def list_of_numbers_then_elements(x):
    out = [0.0]
    for v in x:
        out.append(out[-1] * 0.5 + v)
    return np.array(out), sum(out)


@program
def list_of_ints(x):
    c = []
    for v in x:
        c.append(int(v))
    return sum(c), sum(c) / 2, c.count(2), (3 in c), max(c) if c else -1


@program
def list_of_an_array_grows(x):
    xs = list(x)
    xs.append(5.0)
    ys = xs[:]
    ys.append(1.0)
    return np.array(xs), np.array(ys), len(xs)


@program
def list_bound_anew(x):
    state = [0.0] * 3
    for v in x:
        state = [v * 0.1 + state[2], state[0], state[1]]
    return np.array(state)


@program
def comprehension_bound_anew(x):
    state = [v * 0.0 for v in x]
    for v in x:
        state = [s + v for s in state]
    return np.array(state)


@program
def repeated_number_is_written_to(x):
    r = [0.0] * len(x)
    for i in range(len(x)):
        r[i] = x[i] + (r[i - 1] if i else 0.0)
    return np.array(r)


@program
def ranks(x):
    n = len(x)
    rank = [0] * n
    order = np.argsort(x)
    for k in range(n):
        rank[int(order[k])] = k
    return np.array(rank), sum((rank[i] - i) ** 2 for i in range(n))


@program
def sorted_comprehension(x):
    vals = sorted([v * 2 for v in x if v > 1])
    return vals[len(vals) // 2] if vals else 0.0


@program
def weights_bound_anew(x):
    w = [1.0] * len(x)
    for _ in range(3):
        t = sum(a * b for a, b in zip(w, x))
        w = [a * b / t for a, b in zip(w, x)]
    return np.array(w)


@program
def targets_within_targets(x):
    products = [i * a + c for (i, (a, [b, c])) in enumerate(zip(x, zip(x, x[::-1]))) if b > 1]
    return sum(k * p for (k, p), _ in zip(enumerate(products), products)), len(products)
