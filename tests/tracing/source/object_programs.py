"""Functions with objects of users' classes, for tests of how their loops are kept: each is run beside plain Python."""

import copy

import numpy as np

from tests.tracing.source.loop_programs import program


class Filter:
    """Filter with settings, buffers and properties, as people write them."""

    def __init__(self, n, order=1):
        self.order, self.count, self.size = order, 0, n
        self.state, self.gains = np.zeros(n), np.zeros(n)
        self.before = np.copy(self.state)
        self.seen = np.array([[None]]).T
        for k in range(n):
            self.gains[k] = 1.0 / (k + 1)

    @property
    def energy(self):
        total = 0.0
        for v in self.state:
            total += v * v
        return np.sqrt(np.asarray(total))

    def update(self, z):
        self.count += 1
        self.seen = z
        if self.order == 0:
            self.state = self.gains * np.ones((2, self.size))
        else:
            self.before = np.copy(self.state)
            self.state = self.state * 0.5
            self.state[0] += self.gains[0] * z / self.count
        return self.state


@program
def read_init(x):
    f = Filter(len(x) + 1)
    f.gains[-1] = x.sum()
    return f.gains


@program
def read_property(x):
    f = Filter(len(x) + 1)
    f.state = x * 2
    return f.energy


@program
def settings_and_buffers(x):
    f = Filter(2)
    out = []
    for z in x:
        out.append(f.update(z).copy())
    return np.array(out).sum(), f.before, f.count


@program
def property_in_a_loop(x):
    f, total = Filter(2), 0.0
    for z in x:
        f.update(z)
        total += f.energy
    return total


@program
def written_argument(x):
    f, y = Filter(2), x * 1
    f.state = y[:2]
    for i in range(x.shape[0]):
        f.state[0] = f.state[0] + x[i]
        f.before = f.state
    return y, f.before


@program
def rebound_after_writes(x):
    f = Filter(2)
    first = f.state
    for z in x:
        f.state[0] += z
        f.state = f.state * 2
    return first, f.state


@program
def two_names_unwritten(x):
    f = Filter(2)
    f.before = f.state
    out = np.zeros(2)
    for z in x:
        f.state = f.state + z
        f.before = f.state
        out[0] += z
    out[1] = 3
    return f.before, f.state, out


@program
def written_next_time(x):
    f = Filter(2)
    f.state, f.before, f.gains = x[:1] * 1, x[:1] * 2, x[:1] * 3
    third = f.gains
    for z in x:
        f.state[...] = z
        f.state, f.before, f.gains = f.before, f.gains, f.state
    return f.state, f.before, f.gains, third


@program
def copied(x):
    y, z = copy.copy(np.zeros(3)), copy.deepcopy([np.zeros(3)])[0]
    y[0] = z[1] = x.sum()
    return y, z


@program
def first_value_none(x):
    best, error = None, np.inf
    while error > 1e-2:
        if best is None:
            best = x * 2
        else:
            best = best * 0.5
        error = np.sum(best * best)
    return best


class Piles:
    def __init__(self):
        self.items = []
        self.total = {"p": 0.0, "q": 0.0}

    def __len__(self):
        return len(self.items)

    def push(self, v):
        self.items.append(v)
        if v > 2:
            self.total["p"] += v
        else:
            self.total["q"] += v


@program
def dict_in_branches(x):
    h = {"low": 0.0, "high": 0.0}
    for v in x:
        if v < 1:
            h["low"] += v
        else:
            h["high"] += v
    return h["low"] + 2 * h["high"]


@program
def dict_in_branches_of_a_nest(x):
    h = {"a": 0.0, "b": 1.0}
    for i in range(len(x)):
        for v in x:
            if v > x[i]:
                h["a"] += v
        h["b"] += h["a"]
    return h["a"], h["b"]


@program
def dict_of_kinds_in_branches(x):
    h = {"a": 0, "b": x * 1.0}
    for v in x:
        if v > 1:
            h["a"] += 1
            h["b"] = h["b"] * v
        h["a"] += 2
    return h["a"], h["b"]


@program
def dict_of_dicts_in_branches(x):
    h = {"a": {"c": 0.0}, "b": 1.0}
    for v in x:
        if v > 1:
            h["a"]["c"] += v
        else:
            h["b"] -= v
    return h["a"]["c"], h["b"]


@program
def dict_in_branches_and_breaks(x):
    h = {"a": 0.0, "b": 0.0}
    for v in x:
        if v > 2.5:
            break
        if v > 1:
            h["a"] += v
    for v in x:
        if v < 1:
            h["b"] += h["a"]
    return h["a"], h["b"]


@program
def object_with_a_length(x):
    s = Piles()
    for v in x:
        s.push(v)
        if len(s) > 2:
            s.total["q"] *= 0.5
    return s.total["p"], s.total["q"], len(s)
