# ruff: noqa: B007, B010, C417
"""Programs whose loops change objects by code that is not read: operators, properties, functions of C, generators."""

import bisect
import functools
import heapq
import operator
import random

import numpy as np


class Counter:
    total = 0

    def __init__(self):
        self.n = 0
        self.log = []

    def __call__(self):
        self.n += 1
        return self.n

    @property
    def tick(self):
        self.n += 1
        return self.n

    def __getitem__(self, i):
        self.n += 2
        return self.n + i

    def __add__(self, o):
        self.n += 1
        return self.n + o

    def __contains__(self, v):
        self.n += 1
        return self.n % 2 == 0

    def __len__(self):
        self.n += 1
        return self.n

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return self.n

    def __enter__(self):
        self.n += 1
        return self.n

    def __exit__(self, *a):
        return False

    def __getattr__(self, name):
        if name == "magic":
            self.n += 3
            return self.n
        raise AttributeError(name)

    def plain(self):
        self.n += 1
        return self.n

    @classmethod
    def cls(cls):
        cls.total += 1
        return cls.total


def _summed(x, f):
    s = 0.0
    for v in x:
        s += v * f()
    return s


def c_call(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        s += v * c()
    return s, c.n


def c_prop(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        s += v * c.tick
    return s, c.n


def c_item(x, k):
    c = Counter()
    s = 0.0
    for i, v in enumerate(x):
        s += v * c[i]
    return s, c.n


def c_add(x, k):
    c = Counter()
    s = 0.0
    for i, v in enumerate(x):
        s += c + v
    return s, c.n


def c_in(x, k):
    c = Counter()
    s = 0.0
    for i, v in enumerate(x):
        if i in c:
            s += v
    return s, c.n


def c_len(x, k):
    c = Counter()
    s = 0.0
    for i, v in enumerate(x):
        s += len(c) * v
    return s, c.n


def c_zip(x, k):
    c = Counter()
    s = 0.0
    for v, m in zip(x, c):
        s += m * v
    return s, c.n


def c_with(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        with c as m:
            s += m * v
    return s, c.n


def c_getattr(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        s += v * c.magic
    return s, c.n


def c_plain(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        s += v * c.plain()
    return s, c.n


def c_bound(x, k):
    c = Counter()
    f = c.plain
    s = 0.0
    for v in x:
        s += v * f()
    return s, c.n


def c_pass(x, k):
    c = Counter()
    return _summed(x, c), _summed(x, c.plain), _summed(x, lambda: c.n), c.n


def c_map(x, k):
    c = Counter()
    s = 0.0
    for v in x:
        s += v * sum(map(lambda i: c.plain(), range(2)))
    return s, c.n


def c_reset(x, k):
    c = Counter()
    out = []
    for v in x:
        if v > 2.0:
            c.n = 0
        out.append(c() * v)
    return np.array(out), c.n


def heap(x, k):
    h = []
    for v in x:
        heapq.heappush(h, v)
    return h[0] if h else 0.0, len(h)


def heap2(x, k):
    h = [3.0, 4.0]
    s = 0.0
    for i in range(len(x)):
        s += heapq.heappop(h) if h else 1.0
    return s


def insort(x, k):
    h = []
    for v in x:
        bisect.insort(h, v)
    return h


def op_setitem(x, k):
    h = [0.0, 0.0]
    for i, v in enumerate(x):
        operator.setitem(h, i % 2, v)
    return h


def set_attr(x, k):
    c = Counter()
    for v in x:
        setattr(c, "n", c.n + v)
    return c.n


def dict_method(x, k):
    d = {}
    for i, v in enumerate(x):
        d.setdefault(i % 2, []).append(v)
    return [d[q] for q in sorted(d)]


def dict_update(x, k):
    d = {"a": 0.0}
    for v in x:
        d.update(a=d["a"] + v)
    return d["a"]


def del_item(x, k):
    d = {i: i for i in range(10)}
    for i in range(len(x)):
        del d[i]
    return len(d), sum(d.values())


def iter_state(x, k):
    it = iter(range(100))
    s = 0.0
    for v in x:
        s += v * next(it)
    return s


def gen_state(x, k):
    def g():
        i = 0
        while True:
            yield i
            i += 1

    it = g()
    s = 0.0
    for v in x:
        s += v * next(it)
    return s


def gen_send(x, k):
    def g():
        t = 0.0
        while True:
            v = yield t
            t += v

    it = g()
    next(it)
    s = 0.0
    for v in x:
        s += it.send(v)
    return s


def zip_iter(x, k):
    it = iter([1.0, 2.0, 3.0])
    s = 0.0
    for v, w in zip(x, it):
        s += v * w
    return s


def rng(x, k):
    r = random.Random(3)
    s = 0.0
    for v in x:
        s += v * r.random()
    return s


def rng_np(x, k):
    r = np.random.RandomState(3)
    s = 0.0
    for v in x:
        s += v * r.rand()
    return s


def func_attr(x, k):
    def f(v):
        f.n += 1
        return v * f.n

    f.n = 0
    s = 0.0
    for v in x:
        s += f(v)
    return s, f.n


def lru(x, k):
    calls = []

    @functools.lru_cache
    def f(i):
        calls.append(i)
        return i * 2

    s = 0.0
    for i, v in enumerate(x):
        s += f(i % 2) * v
    return s, len(calls)


def class_state(x, k):
    class C:
        n = 0

    s = 0.0
    for v in x:
        C.n += 1
        s += C.n * v
    return s, C.n


def cls_method(x, k):
    Counter.total = 0
    s = 0.0
    for v in x:
        s += Counter.cls() * v
    return s, Counter.total


def partial_(x, k):
    c = Counter()

    def f(c, v):
        c.n += 1
        return c.n * v

    g = functools.partial(f, c)
    s = 0.0
    for v in x:
        s += g(v)
    return s


def slots(x, k):
    c = S()
    for v in x:
        c.n = c.n + v
    return c.n


class S:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0.0


def slots_m(x, k):
    c = S2()
    s = 0.0
    for v in x:
        s += c.go() * v
    return s, c.n


class S2(S):
    __slots__ = ()

    def go(self):
        self.n += 1
        return self.n


def np_shuffle_list(x, k):
    l = [1.0, 2.0, 3.0]
    r = random.Random(0)
    s = 0.0
    for v in x:
        r.shuffle(l)
        s += l[0] * v
    return s
