"""Programs whose names, lists and objects share arrays and lists, functions of a vector and an int.

What is written through one name is seen through the others, as in plain Python.
"""

# ruff: noqa: B007, B023, PLC1802
import copy
from dataclasses import dataclass

import numpy as np


@dataclass
class Pair:
    a: object
    b: object


class Record:
    def __init__(self, h=None, n=0):
        self.h, self.n = h, n


def lswap_array(x, k):
    l = [x * 1, x * 2, x * 3]
    for v in x:
        l[0], l[1] = l[1], l[0]
        l[2] = l[0] + v
    return l


def litem_alias(x, k):
    l = [x * 1, x * 2, x * 3]
    for i in range(len(x)):
        a = l[i % 3]
        a[0] += 1.0
        l[(i + 1) % 3] = a
    return l


def litem_alias2(x, k):
    l = [x * 1, x * 2, x * 3]
    for i in range(len(x)):
        a = l[i % 3]
        l[(i + 1) % 3] = a
        l[i % 3][0] += 1.0
    return l


def litem_set_fresh(x, k):
    l = [x * 1, x * 2, x * 3]
    for i in range(len(x)):
        l[i % 3] = l[i % 3] * 0.5 + i
        l[i % 3][0] = 7.0
    return l


def append_item_write(x, k):
    h = [x * 1.0]
    for i in range(len(x)):
        h.append(h[-1] * 0.5)
        h[-1][0] = i
    return h


def append_prev_write(x, k):
    h = [x * 1.0]
    for i in range(len(x)):
        h.append(h[-1] * 0.5)
        h[i][0] = 9.0
    return h


def append_same(x, k):
    h = [x * 1.0]
    for i in range(len(x)):
        h.append(h[-1])
        h[-1][0] += 1.0
    return h


def append_alias_after(x, k):
    h = []
    a = x * 1.0
    for i in range(len(x)):
        a = a * 0.5
        h.append(a)
    if len(x):
        a[0] = 99.0
    return h, a


def append_alias_carry(x, k):
    h = []
    a = x * 1.0
    for i in range(len(x)):
        if i % 2:
            a = a.copy()
        a[0] += 1.0
        h.append(a)
    return h, a


def append_view(x, k):
    h = []
    a = np.zeros(len(x) + 1)
    for i in range(len(x)):
        a[i] = x[i]
        h.append(a[:2])
    return h, a


def append_arg(x, k):
    h = []
    for i in range(len(x)):
        x[i] += 1
        h.append(x)
    return h


def append_tuple_alias(x, k):
    h = []
    a = x.copy()
    for i in range(len(x)):
        a[i] += 1
        h.append((i, a))
    return [b for _, b in h]


def append_two_lists(x, k):
    g, h = [], []
    for i in range(len(x)):
        y = x * i
        g.append(y)
        h.append(y)
    if len(g):
        g[0][0] = 5
    return g, h


def iadd_alias(x, k):
    h = []
    a = x.copy()
    for i in range(len(x)):
        a[i] += 1
        h += [a]
    return h


def comp_alias(x, k):
    a = x.copy()
    h = [a for i in range(len(x))]
    a[:1] = 99
    return h


def comp_alias2(x, k):
    a = x.copy()
    h = [a for i in range(len(x))]
    for i in range(len(x)):
        h[i][0] += 1
    return h, a


def comp_rows2(x, k):
    A = np.outer(x, x)
    h = [A[i] for i in range(len(x))]
    for i in range(len(x)):
        h[i][0] = -1.0
    return A


def table_2d_comp(x, k):
    n = len(x)
    t = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            t[i][j] = x[i] * j
    return t


def alias_rows(x, k):
    n = len(x)
    t = [[0.0] * 3] * 2
    for i in range(n):
        t[0][i % 3] += x[i]
    return t


def list_copy(x, k):
    a = []
    for v in x:
        a.append(v)
    b = list(a)
    c = a.copy()
    b.append(1.0)
    return a, b, c, len(b)


def listcomp_lambda(x, k):
    fs = [lambda y: y + i for i in range(3)]
    gs = [(lambda y, i=i: y + i) for i in range(3)]
    return sum(f(x.sum()) for f in fs), sum(f(x.sum()) for f in gs)


def comp_gen_escape(x, k):
    gs = [(y * i for y in x) for i in range(3)]
    return [sum(g) for g in gs]


def dict_alias(x, k):
    p = x.copy()
    d = {"p": p}
    for i in range(len(x)):
        d["p"][i] += 1
        p *= 0.5
    return d["p"], p


def obj_swap(x, k):
    r = Record()
    r.h = x.copy()
    r.n = np.zeros_like(x)
    c = r.h
    for i in range(len(x)):
        r.n[:] = r.h * 0.5 + i
        r.h, r.n = r.n, r.h
    return r.h, r.n, c


def append_list_alias(x, k):
    row = [0.0]
    h = []
    for v in x:
        row[0] += v
        h.append(row)
    return h


def append_obj_alias(x, k):
    p = Record(0.0)
    h = []
    for v in x:
        p.h += v
        h.append(p)
    return [p.h for p in h]


def rows_add_n(x, k):
    rows = [[x[j] * i for j in range(len(x))] for i in range(len(x) + 1)]
    return rows[0] + rows[-1], rows[0] * 2


def rows_loop_add(x, k):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[i] * x[j])
        rows.append(row)
    return (rows[0] + rows[-1], rows[0] * 2, rows[0] == rows[-1], len(rows[0])) if len(x) else 0.0


def rows_tuple_add(x, k):
    rows = []
    for v in x:
        rows.append([v, v * 2])
    return rows[0] + rows[-1] if rows else []


def rows_iter(x, k):
    rows = [[a * b for b in x] for a in x]
    out = []
    for row in rows:
        out = out + row
    return out


def rows_zip(x, k):
    rows = [[a * b for b in x] for a in x]
    return [list(c) for c in zip(*rows)]


def row_cond_append(x, k):
    out = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[j] * i)
        if x[i] > 1.0:
            row.append(5.0)
        out.append(sum(row))
    return out


def cond_append_after(x, k):
    out = []
    for v in x:
        out.append(v)
    for i in range(10):
        if x.sum() > i:
            out.append(float(i))
    return out


def list_of_arrays_write(x, k):
    h = [np.zeros(3) for _ in range(len(x))]
    for i in range(len(x)):
        h[i][1] = x[i]
    return h


def list_of_arrays_fixed(x, k):
    h = [np.zeros(3) for _ in range(3)]
    for i in range(len(x)):
        h[i % 3][1] += x[i]
    return h


def list_of_arrays_alias0(x, k):
    a = x.copy()
    h = [a]
    for i in range(len(x)):
        h.append(h[-1] * 0.5)
    a[:1] = 77.0
    return h


def list_of_arrays_alias1(x, k):
    a = x.copy()
    h = [a]
    for i in range(len(x)):
        h.append(h[-1] * 0.5)
        a[:1] += 1.0
    return h


def list_of_arrays_alias2(x, k):
    a = x.copy()
    h = [a, a * 2]
    for i in range(len(x)):
        h[i % 2] = h[(i + 1) % 2] * 0.5
    h[0][:1] = 3.0
    return h, a


def slice_alias(x, k):
    h = []
    for i in range(len(x)):
        h.append(x * i)
    g = h[1:]
    if len(g):
        g[0][0] = 55.0
    return h, g


def append_after_alias(x, k):
    h = []
    for i in range(len(x)):
        h.append(x * i)
    y = x * 2
    h.append(y)
    y[:1] = 44.0
    h[0][:1] = 33.0
    return h, y


def deep(x, k):
    a = x * 1.0
    b = copy.deepcopy(a)
    c = copy.copy(a)
    d = copy.deepcopy({"a": a})
    b[:1] = 9.0
    c[:1] = 8.0
    d["a"][:1] = 7
    return a, b, c, d["a"]


def asarray_alias(x, k):
    h = []
    for v in x:
        h.append(v * 2)
    A = np.hsarray(h)
    s = A.sum()
    B = np.hrray(h)
    A[:1] = 99
    return sum(h), s, A, B


def abm(x, k):
    y = x * 1.0
    fs = [-y]
    ys = [y]
    for i in range(len(x) + 3):
        f = -ys[-1]
        y = y + 0.1 * (1.5 * f - 0.5 * fs[-1])
        fs.append(f)
        ys.append(y)
    return y, np.hrray(ys)


def dp2(x, k):
    n = len(x)
    dp = [[0.0] * (n + 1) for _ in range(n + 1)]
    for i in range(n):
        for j in range(n):
            dp[i + 1][j + 1] = max(dp[i][j + 1], dp[i + 1][j], dp[i][j] + x[i] * x[j])
    return dp[n][n]


def dp_rows(x, k):
    n = len(x)
    prev = [0.0] * (n + 1)
    for i in range(n):
        cur = [0.0] * (n + 1)
        for j in range(n):
            cur[j + 1] = max(prev[j + 1], cur[j]) + x[i] * x[j]
        prev = cur
    return prev


def choice_list_alias(x, k):
    b = [0.0, 1.0]
    s = 0.0
    for v in x:
        a = b
        if v > 1.0:
            a = [v, 2.0]
        a[0] = a[0] + v
        s += b[0]
    return s, b


def choice_dict_alias(x, k):
    s = 0.0
    for v in x:
        b = {"q": 1.0}
        a = b if v > 1.0 else {"q": v}
        a["q"] += v
        s += b["q"]
    return s


def carry_list_alias(x, k):
    a = [0.0, 1.0]
    b = a
    for v in x:
        a = [a[1], v]
    a[0] = 55.0
    return a, b


def carry_list_swap(x, k):
    a, b = [0.0, 1.0], [2.0, 3.0]
    c = a
    for i, v in enumerate(x):
        a[0] += v
        a, b = b, a
    return a, b, c


def carry_dc_alias(x, k):
    a = Pair(0.0, 1.0)
    b = a
    for i, v in enumerate(x):
        a = Pair(a.b, v)
    a.a = 5.0
    return b.a, a.a


def tree_inner_alias2(x, k):
    row = [0.0, 0.0]
    t = [row, row]
    for i, v in enumerate(x):
        t[0][0] += v
        t[1][1] += 1.0
    return t, row


def tree_inner_alias3(x, k):
    row = [0.0, 0.0]
    t = [row, [1.0, 2.0]]
    for i, v in enumerate(x):
        t[0][0] += v
    row[1] = 9.0
    return t


def item_write(x, k):
    h = []
    for v in x:
        h.append([v, v * 2])
    for i in range(len(h)):
        h[i][0] = 7.0
    return h


def item_write_dc(x, k):
    h = [Pair(v, 1.0) for v in x]
    if h:
        h[0].a = 7.0
    for e in h:
        e.b += e.a
    return [e.a for e in h], [e.b for e in h]


def item_append(x, k):
    h = [[v] for v in x]
    for i, v in enumerate(x):
        h[i].append(v * 2)
    return h


def item_iter_write(x, k):
    h = [[v, 1.0] for v in x]
    for row in h:
        row[0] *= 2
    return h


def obj_nested(x, k):
    d = Pair(Pair(0.0, 1.0), x.copy())
    e = d.a
    for i, v in enumerate(x):
        d.a.a += v
        e.b *= 0.5
        d.b[i] = d.a.a
    return d.a.a, d.a.b, e.a, d.b


def obj_replace(x, k):
    d = Pair(Pair(0.0, 1.0), 0.0)
    e = d.a
    for i, v in enumerate(x):
        d.a = Pair(d.a.a + v, 1.0)
        e.b *= 0.5
    return d.a.a, d.a.b, e.a, e.b


def array_tuple_carry(x, k):
    a, b = x.copy(), x * 2
    t = (a, b)
    for i in range(len(x)):
        t[0][i] += 1
        t = (t[1], t[0])
    return t, a, b


def array_rebind_alias(x, k):
    a = x.copy()
    b = a
    for i in range(len(x)):
        b = b + 1
        b[0] = 0.0
        a[i] = b.sum()
    b[:1] = 3
    return a, b


def array_while_alias(x, k):
    a = x.copy()
    b = a
    i = 0
    while i < len(x) and a[i] < 4:
        a = a * 2
        a[i] = 1.0
        i += 1
    b[:1] = 7
    return a, b


def view_carry2(x, k):
    a = np.outer(x, x)
    r = a[0] if len(x) else x
    for i in range(len(x)):
        r += 1.0
        r = a[i]
    return a


def attr_rebind(x, k):
    d = Pair(x.copy(), 0.0)
    v = d.a
    for i in range(len(x)):
        d.a = d.a * 0.5
        d.a[0] = i
    v[:1] = 4.0
    return d.a, v


def alias_semantics(x, k):
    a = x.copy()
    hist = []
    for i in range(len(x)):
        a[i] += 1.0
        hist.append(a)
    return np.hrray(hist)


def closure_cell_late(x, k):
    fs = [lambda y: y * i for i in range(3)]
    t = 0.0
    for v in x:
        t += fs[0](v)
    return t


def swapped_third(x, k):
    a = x.copy()
    c = a
    b = np.zeros_like(x)
    for i in range(len(x)):
        b[:] = a * 0.5 + i
        a, b = b, a
    return a, b, c


def elem_swap_alias(x, k):
    A = np.outer(x, x + 1)
    for i in range(len(x) - 1):
        A[i], A[i + 1] = A[i + 1], A[i]
    return A
