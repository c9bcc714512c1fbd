# ruff: noqa: B007, PLC0206, RUF059, SIM105  # as people write them
"""Functions that make lists in loops, as people write them: each is run beside plain Python."""

import numpy as np

from tests.tracing.source.loop_programs import program


@program
def concat_aliased(x):
    out = []
    prev = None
    for v in x:
        prev = out
        out = out + [v]
    return np.array(out), len(prev) if prev is not None else -1


@program
def concat_read_aliased(x):
    out = [0.5]
    s = 0.0
    for v in x:
        prev = out
        out = out + [v]
        s += len(prev) * out[-1]
    return np.array(out), s


@program
def concat_alias_before(x):
    out = []
    o2 = out
    for v in x:
        out = out + [v]
    return np.array(out), len(o2)


@program
def concat_alias_kept(x):
    out = []
    for v in x:
        out.append(v)
    o2 = out
    for v in x:
        out = out + [v]
    o2.append(1.0)
    return np.array(out), np.array(o2)


@program
def concat_in_if(x):
    out = []
    for v in x:
        if v > 2:
            out = out + [v]
    return np.array(out)


@program
def member_pluseq(x):
    h = {"l": []}
    for v in x:
        h["l"] += [v]
    return np.array(h["l"])


@program
def member_concat(x):
    h = {"l": []}
    for v in x:
        h["l"] = h["l"] + [v]
    return np.array(h["l"])


@program
def appends_to_iterated(x):
    out = []
    for v in x:
        out.append(v)
    for v in out:
        if len(out) < 9:
            out.append(v / 2)
    return np.array(out)


@program
def appends_to_iterated_around(x):
    out = []
    for v in x:
        out.append(v)
    for i in range(len(x)):
        for v in out:
            if v > 100:
                out.append(v)
        out.append(1.0 * i)
    return np.array(out)


@program
def appends_nested_read(x):
    out = [0.0]
    for i in range(len(x)):
        for j in range(i):
            out.append(out[-1] + x[j])
        out.append(x[i] * out[0])
    return np.array(out)


@program
def appends_in_branches(x):
    out = []
    for i in range(len(x)):
        if x[i] > 2:
            for j in range(i):
                out.append(x[j])
        elif x[i] < 1:
            out.append(-1.0)
            out.append(x[i])
        else:
            out.append(0.0)
    return np.array(out)


@program
def append_after_read(x):
    out = []
    for v in x:
        if v > 2:
            out.append(v)
        if len(out) > 2:
            out.append(out[0] + v)
    return np.array(out)


@program
def item_written_in_branch(x):
    out = [1.0]
    for v in x:
        if v > 2:
            out.append(v)
            out[-1] += out[0]
        else:
            out[0] = v
    return np.array(out)


@program
def window_popped(x):
    q = []
    s = 0.0
    for v in x:
        q.append(v)
        if len(q) > 2:
            q.pop(0)
        s += q[0]
    return s, len(q)


@program
def append_in_function(x):
    out = []

    def add(v):
        out.append(v)

    for v in x:
        add(v)
        add(-v)
    return np.array(out)


@program
def dict_of_lists(x):
    ls = {k: [] for k in "ab"}
    for v in x:
        for k in ls:
            ls[k].append(v if k == "a" else -v)
    return np.array(ls["a"]), np.array(ls["b"])


@program
def list_of_lists(x):
    paths = [[], []]
    for v in x:
        paths[0].append(v)
        paths[1].append(2 * v)
    return np.array(paths[0]) + np.array(paths[1])


@program
def brk_app_two(x):
    out = []
    for v in x:
        if v > 4:
            break
        out.append(v)
        out.append(v + 1)
    return np.array(out), len(out)


@program
def append_return(x):
    out = []
    for v in x:
        if v > 4:
            return np.array(out)
        out.append(v)
    return np.array(out)


@program
def history_until(x):
    out = [x.sum()]
    for k in range(len(x) * 3):
        out.append(out[-1] * 0.5 + 1)
        if abs(out[-1] - out[-2]) < 0.2:
            break
    return np.array(out), k if len(x) else 0


@program
def history_of_rows(x):
    out = [x * 1.0]
    for k in range(len(x)):
        out.append(out[-1] * 0.5 + x[k])
    return np.array(out)


@program
def appended_then_written(x):
    out = []
    for k in range(len(x)):
        y = x * x[k]
        out.append(y)
        y += 1
    return np.array(out) if len(x) else x


@program
def appends_of_while(x):
    out = []
    for v in x:
        a = v
        while a > 1:
            a = a / 2
            out.append(a)
    return np.array(out)


@program
def dict_of_counts(x):
    d = {}
    for i, v in enumerate(x):
        d["last"] = v
        d["n"] = d.get("n", 0) + 1
    return d.get("last", 0.0)


@program
def key_in_branch(x):
    d = {}
    for v in x:
        if v > 2:
            d["big"] = v
    return d.get("big", 0.0)


@program
def key_beside_others(x):
    d = {"n": 0}
    for v in x:
        d["n"] += 1
        d["last"] = v
    return d["n"], d["last"]


@program
def trees_appended(x):
    out = []
    for v in x:
        out.append((v, {"a": v * 2, "b": x + v}))
    return sum([p["a"] for _, p in out])


@program
def append_either(x):
    out = []
    for i, v in enumerate(x):
        if i % 2:
            out.append(v)
        else:
            out.append(2 * v)
    return np.array(out)


@program
def ints_then_floats(x):
    out = [0]
    for v in x:
        out.append(out[-1] + v)
    return np.array(out)


@program
def list_reset(x):
    out = []
    for v in x:
        out.append(v)
        if len(out) > 3:
            out = []
    return np.array(out)


@program
def extend_array(x):
    out = []
    for v in x:
        out.extend(x[:2] * v)
    return np.array(out)


@program
def list_methods_after(x):
    o = []
    for v in x:
        o.append(v)
    o.append(1.0)
    o += [2.0]
    o = o + [3.0]
    o.extend([4.0])
    z = o.pop()
    o[0] = 7.0
    return np.array(o), z, o[-1], len(o)


@program
def mean_of_last(x):
    o = []
    for v in x:
        o.append(v)
        m = np.mean(o[-2:])
        o.append(m)
    return np.array(o)


@program
def while_read(x):
    o = [x.sum()]
    n = 0
    while n < len(x):
        n += 1
        if o[-1] > 2:
            o.append(o[-1] / 2)
        else:
            o.append(o[0] + o[n - 1])
    return np.array(o)


@program
def while_app_break(x):
    s = x.sum()
    out = [s]
    k = 0
    while True:
        s = s / 2
        k += 1
        out.append(s)
        if s < 1:
            break
    return np.array(out), k


@program
def while_counted(x):
    out = []
    k = 0
    while k < len(x):
        out.append(x[k])
        k += 1
    return np.array(out)


@program
def append_to_either_list(x):
    a = []
    b = []
    for v in x:
        if v > 2:
            a.append(v)
        else:
            b.append(-v)
    return np.array(a), np.array(b), len(a)


@program
def append_nested(x):
    out = []
    for i in range(len(x)):
        for j in range(len(x)):
            out.append(x[i] * x[j])
    return np.array(out)


@program
def append_triangle(x):
    out = []
    for i in range(len(x)):
        for j in range(i):
            out.append(x[i] * x[j])
    return np.array(out)


@program
def retdict(x):
    h = {"loss": []}
    for v in x:
        h["loss"].append(v)
    return h["loss"]


@program
def tuples_of_rows(x):
    out = []
    for v in x:
        out.append((v, x * v))
    return sum(a for a, b in out), np.array([b for a, b in out])


@program
def queue_popped(x):
    q = [0.0, 0.0]
    s = 0.0
    for v in x:
        q.append(v)
        s += q.pop(0)
    return s


@program
def window_sliced(x):
    q = []
    s = 0.0
    for v in x:
        q.append(v)
        s += sum(q[-3:])
    return s


@program
def zip_star(x):
    out = []
    for v in x:
        out.append((v, -v))
    a, b = zip(*out)
    return np.array(a)


class Tally:
    def __init__(self):
        self.values = []
        self.n = 0

    def add(self, v):
        if v > 1.25:
            self.values.append(v)
        self.n += 1


@program
def tally(x):
    t = Tally()
    for v in x:
        t.add(v)
    return np.array(t.values), t.n


@program
def tally_held(x):
    t = Tally()
    values = t.values
    for v in x:
        t.add(v)
    return np.array(values), t.n


@program
def tallies_nested(x):
    t = Tally()
    u = Tally()
    for i in range(x.shape[0]):
        for j in range(i + 1):
            t.add(x[j])
        u.add(x[i])
    return np.array(t.values), np.array(u.values), t.n, u.n


def add_to(items, v):
    items.append(v)


@program
def append_by_function(x):
    out = []
    for v in x:
        out.append(v)
    for v in x:
        add_to(out, -v)
    return np.array(out)


@program
def items_swapped(x):
    out = [x * 1, x * 2]
    for i in range(x.shape[0]):
        a = out[0]
        out[0] = a + 1
        out[1] = a
    return np.array(out)


@program
def array_of_list_written(x):
    out = []
    for v in x:
        out.append(v)
    a = np.asarray(out)
    a[:] = 9
    return sum(out) + a.sum()


@program
def member_of_constants(x):
    h = {"l": []}
    s = 0.0
    for v in x:
        h["l"] += [1.0]
        s += v
    return np.array(h["l"]), s


@program
def member_set(x):
    h = {"l": {1}}
    s = 0.0
    for v in x:
        h["l"] |= {len(h["l"]) + 1}
        s += v
    return len(h["l"]), s


@program
def items_of_dict_of_lists(x):
    ls = {k: [] for k in "ab"}
    for v in x:
        for k, values in ls.items():
            values.append(v if k == "a" else -v)
    return np.array(ls["a"]), np.array(ls["b"])


@program
def rows_of_mask_in_try(x):
    s = 0.0
    for v in x[x > 1]:
        try:
            s += v
        except ValueError:
            pass
    return s


@program
def rows_from_value_in_try(x):
    s = 0.0
    k = int(x.sum()) % 3
    for i, (v, w) in enumerate(zip(x[k:], x[k:][::-1])):
        try:
            s += v * i - w
        except ValueError:
            pass
    return s


@program
def list_of_mask(x):
    return [v * 2 for v in x[x > 1]]


@program
def stack_popped(x):
    st = []
    s = 0.0
    for v in x:
        while len(st) > 0 and st[-1] < v:
            s += st.pop()
        st.append(v)
    return s, np.array(st)


@program
def appended_while_written(x):
    u = x * 1
    h = []
    for i in range(len(x)):
        u[0] += 1
        h.append(u)
    return np.array(h) if len(x) else x


@program
def appended_after_in_place(x):
    u = x * 1
    h = []
    for i in range(len(x)):
        u += 1
        h.append(u)
    return np.array(h) if len(x) else x


@program
def view_appended(x):
    u = x * 1
    h = []
    for i in range(len(x)):
        u += 1
        h.append(u[:1])
    return np.array(h) if len(x) else x


@program
def held_before_and_written(x):
    u = x * 1
    h = [u]
    for i in range(len(x)):
        u += 1
        h.append(u * 2)
    return np.array(h) if len(x) else x


@program
def rows_appended_then_written(x):
    h = []
    y = np.outer(x, x)
    for r in y:
        h.append(r)
    y += 1
    return np.array(h) if len(x) else x


@program
def appended_then_rebound(x):
    h = []
    u = x * 1
    for i in range(len(x)):
        h.append(u)
        u = u + 1
    u += 1
    return np.array(h) if len(x) else x


@program
def rebound_then_appended(x):
    h = []
    u = x * 1
    for i in range(len(x)):
        u = u + 1
        h.append(u)
    u += 1
    return np.array(h) if len(x) else x


@program
def member_appended(x):
    class F:
        pass

    f = F()
    f.u = x * 1
    f.h = []
    for i in range(len(x)):
        f.u[0] += 1
        f.h.append(f.u)
    return np.array(f.h) if len(x) else x


@program
def lists_appended(x):
    h = []
    for v in x:
        r = [v]
        h.append(r)
        r.append(2 * v)
    return np.array(h)


@program
def list_appended_again(x):
    h = []
    r = [0.0]
    for v in x:
        r[0] = v
        h.append(r)
    return np.array(h)


@program
def dicts_appended(x):
    h = []
    for v in x:
        d = {"a": v}
        h.append(d)
        d["a"] = v + 1
    return sum([q["a"] for q in h])


@program
def kept_list_appended_then_grown(x):
    rows = []
    for v in x:
        r = []
        for w in x:
            r.append(v * w)
        rows.append(r)
        r.append(1.0)
    return np.array(rows)


@program
def lists_of_lists_read(x):
    rows = []
    for v in x:
        r = []
        for w in x:
            r.append(v * w)
        rows.append(r)
    s = 0.0
    for r in rows:
        for q in r:
            s += q
    return s, len(rows), len(rows[0]) if len(x) else 0


@program
def length_by_another_name(x):
    a = []
    b = a
    for v in x:
        a.append(v)
        if len(b) > 2:
            break
    return np.array(b)


@program
def length_by_a_function(x):
    a = []

    def f():
        return len(a)

    n = 0
    for v in x:
        a.append(v)
        n += f()
    return np.array(a), n


@program
def lists_swapped(x):
    a = []
    b = []
    for v in x:
        a.append(v)
        a, b = b, a
    return np.array(a), np.array(b)


@program
def items_swapped_in_loop(x):
    a = []
    for i, v in enumerate(x):
        a.append(v)
        if i > 1:
            a[i - 1], a[i] = a[i], a[i - 1]
    return np.array(a)


@program
def while_empty(x):
    a = []
    k = 0
    while k < len(x) and (not a or a[-1] < 4):
        a.append(x[k])
        k += 1
    return np.array(a)


@program
def if_empty(x):
    a = []
    for v in x:
        if a and a[-1] > v:
            continue
        a.append(v)
    return np.array(a)


@program
def items_changed(x):
    a = []
    for v in x:
        a.append(v)
        a[-1] *= 2
        a[0] += a[-1]
    return np.array(a)


@program
def appends_of_few(x):
    a = []
    for i in range(3):
        for v in x:
            a.append(v * i)
    return np.array(a)


@program
def appends_of_few_around(x):
    a = []
    for v in x:
        for i in range(3):
            if i % 2:
                a.append(v * i)
    return np.array(a)


@program
def lists_copied(x):
    a = []
    for v in x:
        a.append(v)
    b = a[:]
    b.append(1.0)
    c = a + b
    return np.array(a), np.array(b), np.array(c), np.array([0.0] + a) if 0 else 1


@program
def append_after_the_loop(x):
    a = []
    for v in x:
        a.append(v)
    if x.sum() > 3:
        a.append(1.0)
    else:
        a.append(2.0)
        a.append(x.sum())
    return np.array(a)


@program
def lists_of_lists_joined(x):
    rows = []
    for v in x:
        row = []
        for w in x:
            row.append(v * w)
        rows.append(row)
    return np.array(rows[0] + rows[-1] if x.shape[0] else rows)


@program
def item_of_list_changed(x):
    out = []
    for v in x:
        out.append([v, 2 * v])
    if x.shape[0]:
        out[0][1] = 7.0
    return np.array(out)


@program
def list_of_a_carry(x):
    out = []
    last = [0.0, 0.0]
    for v in x:
        last[0] = v
        last = [v, 1.0]
        out.append(last)
    return np.array(out)
