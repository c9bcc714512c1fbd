"""Functions of random steps that decide on values, draw from a generator, write in place and read captured state."""

import numpy as np


def _scaled(y, state, draw):
    return y * 0.5 if np.sum(y) > state["limits"][0] else y + state["table"][1]


def _halved(y, state, draw):
    while np.sum(y * y) > 3.1:
        y = y * 0.6
    return y


def _first(y, state, draw):
    """Write on one path alone."""
    if y.shape[0] and y[0] > state["limits"][1]:
        y = y * 1
        y[:2] -= state["table"][0]
    return y


def _counted(y, state, draw):
    if np.mean(y) > 0.05 if y.shape[0] else False:
        state["calls"] += 1
        return y - 0.2
    return y


def _shortened(y, state, draw):
    return y[:-1] if y.shape[0] > 2 and np.max(y) > 0.4 else np.append(y, 0.3)


def _drawn(y, state, draw):
    return y + 0.3 * draw.normal(size=y.shape)


def _drawn_on_a_path(y, state, draw):
    return y * draw.uniform(0.5, 1.5) if np.sum(y) > 0.1 else y - draw.integers(3) * 0.1


def _window(y, state, draw):
    k = np.argmax(np.round(y, 5)) if y.shape[0] else 0
    return y + np.sum(y[k : k + 2])


def _every(y, state, draw):
    for i, row in enumerate(y):
        if i > 2:
            break
        y = y + row * state["table"][2]
    return y


def _permuted(y, state, draw):
    return draw.permutation(y) if state["shuffles"] else draw.random(y.shape[0]) * y


STEPS = (_scaled, _halved, _first, _counted, _shortened, _drawn, _drawn_on_a_path, _window, _every, _permuted)


def state(rng):
    """Return state that steps read."""
    return {"limits": [float(v) for v in rng.normal(size=2)], "table": rng.normal(size=3), "calls": 0, "shuffles": True}


def change(rng, state):
    """Change one thing in place, or nothing."""
    kind = rng.integers(4)
    if kind == 0:
        state["limits"][rng.integers(2)] = float(rng.normal())
    elif kind == 1:
        state["table"][rng.integers(3)] = rng.normal()
    elif kind == 2:
        state["shuffles"] = not state["shuffles"]


def function(rng, state):
    """Return a function of a vector and a generator, and the names of its steps."""
    steps = [STEPS[i] for i in rng.integers(len(STEPS), size=rng.integers(1, 6))]

    def run(x, draw):
        y = x * 1.0
        for step in steps:
            y = step(y, state, draw)
        return y

    return run, ", ".join(step.__name__.strip("_") for step in steps)
