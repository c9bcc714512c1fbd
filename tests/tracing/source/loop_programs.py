# ruff: noqa: B007, RUF007, RUF021, SIM105  # as people write them
"""Functions as people write them, for tests of how their loops are kept: each is run beside plain Python."""

import numpy as np

PROGRAMS = {}


def program(function):
    """Add a function of one vector to the table."""
    PROGRAMS[function.__name__] = function
    return function


@program
def last_bound(x):
    for i in range(x.shape[0]):
        y = x[i] * 2
    return y


@program
def loopvar(x):
    for i in range(x.shape[0]):
        pass
    return x.sum() + i


@program
def intsum(x):
    s = 0
    for i in range(x.shape[0]):
        s += x[i]
    return s


@program
def intcount(x):
    c = 0
    for i in range(x.shape[0]):
        if x[i] > 2:
            c += 1
    return c


@program
def prevdiff(x):
    y = 0.0
    for i in range(x.shape[0]):
        if i == 0:
            prev = x[0]
        else:
            y += x[i] - prev
            prev = x[i]
    return y


@program
def brk(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 3:
            break
        s += x[i]
    else:
        s = -s
    return s


@program
def cont(x):
    s = 0.0
    for v in x:
        if v > 2 and v < 5:
            continue
        s = s + v
    return s


@program
def ret_in(x):
    for i, v in enumerate(x):
        if v > 3:
            return i * 10 + v
    return -1.0


@program
def nested_break(x):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            if x[j] > x[i] + 2:
                break
            t += x[j]
    return t


@program
def swap(x):
    a = x.copy()
    b = np.ones_like(x)
    for i in range(x.shape[0]):
        b[...] = a * 2 + b
        a, b = b, a
    return a, b


@program
def swap_third(x):
    a = x.copy()
    b = np.ones_like(x)
    c = b
    for i in range(x.shape[0]):
        b[...] = a * 2 + b
        a, b = b, a
    return a, b, c


@program
def swap_args(x):
    a = x
    b = np.ones_like(x)
    for i in range(3 * x.shape[0]):
        b[...] = a * 2 + b
        a, b = b, a
    return a, b


@program
def view_alias(x):
    a = x.copy()
    v = a[:1]
    for i in range(x.shape[0]):
        a[i] = a[i] + 1
        a = a * 2
    return a, v


@program
def best_alias(x):
    best = x.copy()
    y = x * 2
    for i in range(x.shape[0]):
        if x[i] > 2:
            best = y
    if x.shape[0]:
        best[0] = 7
    return best, y


@program
def carry_alias(x):
    a = x * 1
    b = x * 2
    for i in range(x.shape[0]):
        a = b
    if x.shape[0]:
        a[0] = 5
    return a, b


@program
def countdown(x):
    n = x.shape[0]
    s = 0.0
    for i in range(n - 1, -1, -1):
        s = s * 0.5 + x[i]
    return s


@program
def tri(x):
    n = x.shape[0]
    L = np.zeros_like(x) if False else x * 0
    for i in range(n):
        for j in range(i):
            L[i] += x[j]
    return L


@program
def whil(x):
    s = x.sum()
    k = 0
    while s > 1:
        s = s / 2
        k += 1
    return s, k


@program
def while_true(x):
    s = x.sum()
    k = 0
    while True:
        s = s / 2
        k += 1
        if s < 1:
            break
    return s, k


@program
def walrus(x):
    s = 0.0
    t = x.sum()
    while (h := t / 2) > 1:
        s += h
        t = h
    return s


@program
def append_(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2)
    return sum(out)


@program
def comp(x):
    return sum([v * 2 for v in x])


@program
def gen(x):
    return sum(x[i] * i for i in range(x.shape[0]))


@program
def condexp(x):
    s = 0.0
    for v in x:
        s += v if v > 1 else -v
    return s


@program
def lists_carry(x):
    st = [0.0, 1.0]
    for v in x:
        st = [st[1], st[0] + v]
    return st


@program
def list_item(x):
    st = [0.0, 1.0]
    for v in x:
        st[0] = st[0] + v
    return st[0]


@program
def dict_item(x):
    st = {"a": 0.0}
    for v in x:
        st["a"] += v
    return st["a"]


@program
def closure(x):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for v in x:
        add(v)
    return s


@program
def closure_read(x):
    s = 0.0

    def twice():
        return s * 2

    t = 0.0
    for v in x:
        s = s + v
        t = t + twice()
    return t


def helper(v, lo=2.0):
    if v > lo:
        return v * 3
    return -v


@program
def call_helper(x):
    s = 0.0
    for v in x:
        s += helper(v)
    return s


def early_helper(v):
    for k in range(3):
        if v > k + 1:
            return v * k
    return v


@program
def call_early(x):
    s = 0.0
    for v in x:
        s += early_helper(v)
    return s


@program
def rows(x):
    y = np.outer(x, x)
    for row in y:
        row += 1
    return y


@program
def rowsw(x):
    y = np.outer(x, x)
    for row in y:
        row[:] = row.sum()
    return y


@program
def zipped(x):
    s = 0.0
    for a, b in zip(x, x[1:]):
        s += a * b
    return s


@program
def rev(x):
    s = 0.0
    for a in reversed(x):
        s = s / 2 + a
    return s


@program
def enum2(x):
    s = 0.0
    for k, (a, b) in enumerate(zip(x, x * 2), 1):
        s += k * a - b
    return s


@program
def tryloop(x):
    s = 0.0
    for v in x:
        try:
            s += v
        except ValueError:
            pass
    return s


@program
def del_(x):
    s = 0.0
    for v in x:
        t = v * 2
        s += t
        del t
    return s


@program
def asser(x):
    s = 0.0
    for v in x:
        assert v < 6, "too big"
        s += v
    return s


@program
def raiser(x):
    s = 0.0
    for v in x:
        if v > 6:
            raise ValueError("big")
        s += v
    return s


@program
def forelse(x):
    for v in x:
        if v == 3:
            r = v
            break
    else:
        r = -1.0
    return r


@program
def noneinit(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += v * prev
        prev = v
    return s


@program
def strs(x):
    mode = "a"
    s = 0.0
    for v in x:
        if v > 2:
            mode = "b"
        s += v
    return s + (1 if mode == "b" else 0)


@program
def counter_global(x):
    d = []
    for v in x:
        d.append(1)
    return x.sum() + len(d)


@program
def minmax(x):
    m = -1e9
    for v in x:
        m = max(m, v)
    return m


@program
def shadow(x):
    s = 0.0
    for s in x:
        s = s * 2
    return s


@program
def boundchange(x):
    n = x.shape[0]
    s = 0.0
    for i in range(n):
        n = 2
        s += x[i]
    return s + n


@program
def chained(x):
    c = 0
    for v in x:
        if 1 < v < 4:
            c += 1
    return c


@program
def inarr(x):
    c = 0
    for i in range(x.shape[0]):
        if i in (1, 2):
            c += 1
    return c


@program
def rebind_in_if(x):
    y = x * 0
    for i in range(x.shape[0]):
        if x[i] > 2:
            y = y + x
        else:
            y[i] = 1.0
    return y


@program
def accumulate_hist(x):
    h = np.zeros(4)
    for v in x:
        h[int(v) % 4] += 1
    return h


@program
def lu(x):
    A = np.outer(x, x) + 10 * np.eye(x.shape[0])
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@program
def setattr_(x):
    class Holder:
        pass

    o = Holder()
    o.t = 0.0
    for v in x:
        o.t = o.t + v
    return o.t


@program
def ormix(x):
    s = 0.0
    for i in range(x.shape[0]):
        if i + 1 < x.shape[0] and x[i + 1] > 2 or x[i] > 4:
            s += x[i]
    return s


@program
def fixedpoint(x):
    y = 0.0
    it = 0
    while abs(y - np.cos(y)) > 1e-8 and it < 100:
        y = np.cos(y) + 0 * x.sum()
        it += 1
    return y, it


@program
def long_known(x):
    s = 0.0
    for i in range(50):
        s = s * 0.9 + x.sum() * i
    return s


@program
def long_concrete(x):
    w = []
    for i in range(40):
        w.append(i * 2)
    return x.sum() * w[-1]


@program
def concrete_int(x):
    k = 0
    for i in range(40):
        k += 1
    return x.sum() + np.zeros(k).shape[0]


@program
def newton(x):
    r = x * 0 + 1
    for i in range(x.shape[0]):
        y = 1.0
        while abs(y * y - x[i]) > 1e-10:
            y = 0.5 * (y + x[i] / y)
        r[i] = y
    return r


@program
def np_array(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2)
    return np.array(out)


@program
def np_stack(x):
    out = []
    y = np.outer(x, x)
    for i in range(x.shape[0]):
        out.append(y[i] * 2)
    return np.stack(out, 1) if x.shape[0] else x


@program
def np_concat(x):
    out = []
    y = np.outer(x, x)
    for i in range(x.shape[0]):
        out.append(y[i] * 2)
    return np.concatenate(out) if x.shape[0] else x


@program
def rec(x):
    out = [1.0]
    for i in range(x.shape[0]):
        out.append(out[-1] * 0.5 + x[i])
    return np.array(out)


@program
def rec2(x):
    out = [1.0, 2.0]
    for i in range(x.shape[0]):
        out.append(out[-1] * 0.5 + out[-2] * 0.1 + x[i])
    return np.array(out[2:])


@program
def rec3(x):
    out = []
    for i in range(x.shape[0]):
        if i == 0:
            out.append(x[0])
        else:
            out.append(out[i - 1] * 0.5 + x[i])
    return np.array(out)


@program
def two(x):
    out = []
    for v in x:
        out.append(v)
        out.append(-v)
    return np.array(out)


@program
def loop_over(x):
    out = []
    for v in x:
        out.append(v * 2)
    s = 0.0
    for a in out:
        s += a
    return s


@program
def last(x):
    out = []
    for v in x:
        out.append(v * 2)
    return out[-1] + len(out)


@program
def isin(x):
    out = []
    for v in x:
        out.append(v * 2)
    return x.sum() if isinstance(out, list) else 0.0


@program
def retlist(x):
    out = []
    for v in x:
        out.append(v * 2)
    return out


@program
def cond_append(x):
    out = []
    for v in x:
        if v > 2:
            out.append(v)
    return np.array(out)


@program
def nested_rows(x):
    rows = []
    for i in range(x.shape[0]):
        row = []
        for j in range(x.shape[0]):
            row.append(x[i] * x[j])
        rows.append(row)
    return np.array(rows)


@program
def nested_comp(x):
    return np.array([[a * b for a in x] for b in x])


@program
def alias_list(x):
    out = []
    o2 = out
    for v in x:
        out.append(v)
    return np.array(o2)


@program
def tuples(x):
    out = []
    for v in x:
        out.append((v, -v))
    return np.array(out)


@program
def dictl(x):
    h = {"a": [], "b": []}
    for v in x:
        h["a"].append(v)
        h["b"].append(-v)
    return np.array(h["a"]) - np.array(h["b"])


@program
def maxl(x):
    out = [1.0]
    for v in x:
        out.append(v)
    return max(out)


@program
def ints(x):
    out = [0]
    for i in range(x.shape[0]):
        out.append(i)
    return np.array(out)


@program
def zipped_of_list(x):
    out = []
    for v in x:
        out.append(v * 2)
    return sum([a * b for a, b in zip(out, x)])


@program
def meanl(x):
    out = []
    for v in x:
        out.append(v * 2)
    return np.mean(out)


@program
def while_app(x):
    out = [x.sum()]
    while out[-1] > 1:
        out.append(out[-1] / 2)
    return np.array(out)


@program
def while_halved(x):
    out = []
    s = x.sum()
    while s > 1:
        s = s / 2
        out.append(s)
    return np.array(out), s


@program
def brk_app(x):
    out = []
    for v in x:
        if v > 3:
            break
        out.append(v)
    return np.array(out)


@program
def extend_(x):
    out = []
    for v in x:
        out.extend([v, v])
    return np.array(out)


@program
def pluseq(x):
    out = []
    for v in x:
        out += [v]
    return np.array(out)


@program
def concat_list(x):
    out = []
    for v in x:
        out = out + [v]
    return np.array(out)


@program
def list_slot(x):
    out = [0.0] * 3
    for i in range(x.shape[0]):
        out[i % 3] += x[i]
    return np.array(out)


@program
def filled(x):
    out = [None] * x.shape[0]
    for i in range(x.shape[0]):
        out[i] = x[i] * 2
    return np.array(out, dtype=float)


class Filter:
    def __init__(self, q, r):
        self.m = 0.0
        self.p = 1.0
        self.q = q
        self.r = r
        self.ll = 0.0
        self.n = 0

    def predict(self):
        self.p = self.p + self.q

    def update(self, z):
        k = self.p / (self.p + self.r)
        e = z - self.m
        self.m = self.m + k * e
        self.p = (1 - k) * self.p
        self.ll += -0.5 * (np.log(self.p + self.r) + e * e / (self.p + self.r))
        self.n += 1


@program
def kalman(x):
    f = Filter(0.1, 0.5)
    for z in x:
        f.predict()
        f.update(z)
    return f.ll, f.m, f.n


@program
def kalman_alias(x):
    f = Filter(0.1, 0.5)
    g = f
    for z in x:
        f.predict()
        g.update(z)
    return g.ll, f.m


@program
def cond_attr(x):
    f = Filter(0.1, 0.5)
    for z in x:
        if z > 2:
            f.predict()
        else:
            f.m = f.m + z
    return f.p, f.m


@program
def nested_attr(x):
    f = Filter(0.1, 0.5)
    for i in range(x.shape[0]):
        for j in range(i):
            f.m += x[j]
        f.p *= 0.5
    return f.p, f.m


@program
def nested_attr2(x):
    f = Filter(0.1, 0.5)
    for i in range(x.shape[0]):
        for j in range(i):
            f.m += x[j]
    return f.p, f.m


@program
def new_attr(x):
    f = Filter(0.1, 0.5)
    for z in x:
        f.extra = z
    return f.m + (f.extra if x.shape[0] else 0.0)


@program
def attr_array(x):
    f = Filter(0.1, 0.5)
    f.m = x * 0
    for i in range(x.shape[0]):
        f.m[i] = x[i]
        f.p = f.p + f.m.sum()
    return f.m, f.p


@program
def dict_alias(x):
    d = {"a": 0.0, "b": x * 0}
    e = d
    for v in x:
        d["a"] += v
        e["b"] = e["b"] + v
    return e["a"], d["b"]


@program
def dict_new(x):
    d = {}
    for v in x:
        d["a"] = v
    return d.get("a", 0.0)


@program
def list_alias(x):
    d = [0.0, 1.0]
    e = d
    for v in x:
        d[0] += v
        e[1] *= 2
    return e[0], d[1]


@program
def obj_in_loop(x):
    s = 0.0
    for v in x:
        f = Filter(0.1, v)
        f.predict()
        f.update(v)
        s += f.m
    return s


@program
def history(x):
    f = Filter(0.1, 0.5)
    f.hist = []
    for z in x:
        f.predict()
        f.hist.append(f.p)
    return np.array(f.hist)


@program
def str_attr(x):
    f = Filter(0.1, 0.5)
    f.mode = "a"
    for z in x:
        f.m += z
        f.mode = "b"
    return f.m + (1 if f.mode == "b" else 0)


@program
def while_attr(x):
    f = Filter(0.1, 0.5)
    f.p = x.sum()
    while f.p > 1:
        f.p = f.p / 2
        f.n += 1
    return f.p, f.n


@program
def swap_attr(x):
    f = Filter(x * 1, x * 2)
    for z in x:
        f.q, f.r = f.r, f.q
    return f.q, f.r


@program
def alias_attr_array(x):
    f = Filter(x * 1, x * 2)
    y = f.q
    for z in x:
        f.q = f.q + z
    if x.shape[0] > 1:
        y[0] = 9
    return f.q, y


@program
def alias_attr_array2(x):
    f = Filter(x * 1, x * 2)
    y = f.q
    for i in range(x.shape[0]):
        f.q[i] = 3.0
        f.q = f.q * 2
    return f.q, y


def running_sum(x):
    total = 0.0
    for v in x:
        total += v
    return total


cholesky = running_sum  # a name of NumPy's too
