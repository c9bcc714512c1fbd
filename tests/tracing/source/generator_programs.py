# ruff: noqa: B007, B023  # as people write them
"""Functions that run over generators, filters and deques, as people write them: each beside Python."""

import itertools
from collections import Counter, defaultdict, deque

import numpy as np

from tests.tracing.source.loop_programs import program


class Scale:
    def __init__(self):
        self.k = 1.0

    def scaled(self, x):
        for v in x:
            yield v * self.k

    def halved(self, x):
        for v in x:
            yield v * self.half()

    def half(self):
        return self.k / 2


class Window:
    def __init__(self, n):
        self.buf, self.tot = deque(maxlen=n), 0.0

    def add(self, v):
        if len(self.buf) == self.buf.maxlen:
            self.tot -= self.buf[0]
        self.buf.append(v)
        self.tot += v
        return self.tot / len(self.buf)


@program
def generator_left(x):
    def gen():
        for v in x:
            yield v * 2

    s = 0.0
    for g in gen():
        s += g
        if s > 5:
            break
    return s


@program
def generator_of_what_is_written(x):
    y = x * 1.0

    def gen():
        for i in range(len(y)):
            yield y[i] * 2

    s = 0.0
    for i, g in enumerate(gen()):
        s += g
        y[-1] = s
    return s, y


@program
def generator_of_a_list_that_grows(x):
    q = [0.5]

    def gen():
        k = 0
        while k < len(q) and k < 6:
            yield q[k]
            k += 1

    s = 0.0
    for v in gen():
        s += v
        if len(x):
            q.append(v + 1)
    return s + len(q)


@program
def generator_of_a_variable(x):
    c = 1.0

    def gen():
        for v in x:
            yield v * c

    s = 0.0
    for g in gen():
        s += g
        c = c * 0.5
    return s


@program
def generator_of_an_attribute(x):
    a, s = Scale(), 0.0
    for g in a.scaled(x):
        s += g
        a.k += 0.25
    return s


@program
def generator_of_a_method(x):
    a, s = Scale(), 0.0
    for g in a.halved(x):
        s += g * a.k
    return s


@program
def generator_in_zip(x):
    def gen(step):
        for i in range(0, len(x), step):
            yield i, x[i]

    s = 0.0
    for (i, a), b in zip(gen(2), x):
        s += i * a * b
    return s


@program
def generator_with_state(x):
    def run(y):
        s, m = 0.0, -1e9
        for v in y:
            s += v
            m = max(m, v)
            if s > 1:
                yield s, m

    out = []
    for s, m in run(x):
        out.append(s * m)
    return np.array(out)


@program
def generator_of_an_item_put_back(x):
    c = [1.0]

    def gen():
        for v in x:
            yield v * c[0]

    s = 0.0
    for g in gen():
        s += g
        c[0] = 2.0
    c[0] = 1.0
    return s


@program
def generator_of_views(x):
    y = x * 1.0

    def rows():
        for i in range(len(y)):
            yield y[i:]

    s = 0.0
    for r in rows():
        r[0] = s
        s += r.sum()
    return s, y


@program
def generator_expression(x):
    s = 0.0
    for v in (w * 2 for w in x if w > 1):
        s += v
    return s


@program
def taken_while(x):
    s, last = 0.0, -1.0
    for v in itertools.takewhile(lambda v: v < 2.5, x):
        s += v
        if s > 4:
            continue
        last = v
    return s, last


@program
def taken_while_a_variable(x):
    s, last = 0.0, -1.0
    for v in itertools.takewhile(lambda v: s < 2.5, x):
        s += v
        last = v
    last = last + 10
    return s, last


@program
def filtered_sums(x):
    return sum(filter(lambda v: v > 1.4, x)), np.array(list(filter(lambda v: v < 2, x)))


@program
def filtered_by_a_variable(x):
    lim = 1.0
    s = 0.0
    for v in filter(lambda v: v > lim, x):
        s += v
        lim = lim + 0.3
        if s > 6:
            break
    return s, lim


@program
def generator_expression_of_pairs(x):
    out = []
    for a, b in ((v, i) for i, v in enumerate(x) if v > 1):
        out.append(a * b)
    return np.array(out)


@program
def zipped_to_the_longest(x):
    s = 0.0
    for a, b in itertools.zip_longest(x, x[1:], fillvalue=0):
        s += a * b
    return s


@program
def filter_taken_twice(x):
    it = filter(lambda v: v > 1, x)
    s = 0.0
    for v in it:
        s += v
    for v in it:
        s += 10 * v
    return s


@program
def taken_while_twice(x):
    it = itertools.takewhile(lambda v: v < 2.5, x)
    s = 0.0
    for v in it:
        s += v
        break
    for v in it:
        s += 10 * v
    return s


@program
def moving_average(x):
    q = deque(maxlen=3)
    out = []
    for v in x:
        q.append(v)
        out.append(sum(q) / len(q))
    return np.array(out)


@program
def deque_from_the_left(x):
    q = deque(maxlen=2)
    s = 0.0
    for v in x:
        q.appendleft(v)
        s += q[0] - q[-1] * len(q)
    return s, list(q)


@program
def deque_as_queue(x):
    q = deque([0.5])
    s = 0.0
    k = 0
    while q and k < 20:
        v, k = q.popleft(), k + 1
        s += v
        if v < 2:
            q.append(v + 0.7)
        if v < 1:
            q.append(v + 0.9)
    return s + x.sum(), k


@program
def deque_of_an_object(x):
    w = Window(3)
    return np.array([w.add(v) for v in x])


@program
def deque_of_an_object_in_a_loop(x):
    w, s = Window(3), 0.0
    for v in x:
        s += w.add(v)
    return s, len(w.buf)


@program
def deque_returned(x):
    q = deque(maxlen=3)
    for v in x:
        q.append(v)
    return q


@program
def sliding_maximum(x):
    q = deque()
    out = []
    for i in range(len(x)):
        while q and x[q[-1]] <= x[i]:
            q.pop()
        q.append(i)
        if q[0] <= i - 3:
            q.popleft()
        out.append(x[q[0]])
    return np.array(out)


@program
def deque_run_over(x):
    q = deque(maxlen=2)
    s = 0.0
    for v in x:
        for w in q:
            s += v * w
        q.append(v)
    return s


@program
def deque_of_two_names(x):
    q = deque()
    p, s = q, 0.0
    for v in x:
        q.append(v)
        s += len(p)
    return s


@program
def deque_in_branches(x):
    q = deque(maxlen=4)
    q.extend([1.0, 2.0])
    for v in x:
        if v > 1:
            q.extend([v, v * 2])
        else:
            q.append(v)
    return np.array(q), np.mean(q)


@program
def index_error_past_value_errors(x):
    s, errors = 0.0, 0
    for i in range(4):
        try:
            s = s + x[i]
        except ValueError:
            errors += 1
        except IndexError:
            break
    return s, errors


@program
def truths_of_numbers(x):
    new = (x > 1.5).astype(int)
    cells = new.copy()
    for i in range(len(x)):
        if cells[i] and i > 0:
            new[i] = 2
        elif not cells[i] and (cells[i - 1] or i == 1):
            new[i] = 3
    return new


@program
def rows_of_a_table(x):
    before = [float(j) for j in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        row = [float(i)]
        for j in range(1, len(x) + 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + abs(x[i - 1] - x[-j])))
        before = row
    return before[-1]


@program
def counts_of_values(x):
    counts, seen = Counter(), defaultdict(list)
    for v in x:
        counts[int(v)] += 1
        seen[int(v), len(counts)].append(v)
        if int(v) not in counts:
            return -1.0
    return len(counts), sum(counts.values()), sum(v for vs in seen.values() for v in vs), counts.get(3, 0)


@program
def truths_in_comprehensions(x):
    k = (x > 1.6).astype(int)
    s = sum(v for v, t in zip(x, k) if t and v)
    return s, np.array([v * 2 for v, t in zip(x, k) if not t or v > 3])


@program
def comprehensions_of_filters(x):
    out = [v * 2 for v in filter(lambda t: t > 1.1, x)]
    return np.array(out), sum(v for v in filter(lambda t: t < 2.1, x) if v > 0.4)
