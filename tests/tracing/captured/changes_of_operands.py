"""Changes of large arrays that a program has as operands, and that Python reads too while it is traced."""

import functools

import numpy as np

import anyshape
from tests.tracing.captured.case import case

W = np.linspace(1.0, 2.0, 6000)


def _changed(w):
    w[:] = w[::-1] * 3.0 - 4.0


def _weighted(values, x):
    return x * float(values[0]) + np.sum(values * x[0])


def _summed(values, x):
    return np.sum(values * x[0])


class _Model:
    def __init__(self, w):
        self.w = w

    def weights(self):
        return self.w

    def element(self, x):
        return x * self.w[0] + np.sum(self.w * x[0])

    def aliased(self, x):
        w = self.w
        return x * w.max() + np.sum(w * x[0])

    def returned(self, x):
        return x * self.weights()[0] + np.sum(self.w * x[0])

    def by_name(self, x):
        return x * self.w[0] + np.sum(self.w * x[0])

    def by_getattr(self, x):
        return x * getattr(self, "w")[0] + np.sum(getattr(self, "w") * x[0])  # noqa: B009

    def by_vars(self, x):
        return x * vars(self)["w"][0] + np.sum(vars(self)["w"] * x[0])


def _loop(w, x):
    for v in w[:20]:
        x = x + v
    return x + np.sum(w * x[0])


def _called(function):
    return function()


def _read(values, x):
    return np.sum(values) * x


def _method_by_two_names(model, x):
    other = model.summed
    return model.summed(x[0]) * x + other(2.0)


class _Summing:
    def __init__(self, w):
        self.w = w

    def summed(self, c):
        return np.sum(self.w * c)

    def __call__(self, x):
        return self.summed(x[0]) * x + self.twice()

    def twice(self):
        return self.summed(2.0)


def _by_turns(w, x):
    c = 2.0
    for _ in range(2):
        x = x * np.sum(w * c)
        c = x[0]
    return x


def _itself(w, x, c, more=True):
    return x * np.sum(w * c) + (_itself(w, x, 2.0, more=False) if more else 0.0)


# The same line makes an operand of the array for one value, and a number of the trace for another.
_BOTH = {
    "items": lambda w: lambda x: x + sum([np.sum(w * c) for c in (2.0, x[0])]),
    "items_of_a_generator": lambda w: lambda x: x + sum(np.sum(w * c) for c in (x[0], 2.0)),
    "calls": lambda w: lambda x, summed=lambda c: np.sum(w * c): x * summed(x[0]) + summed(2.0),
    "mapped_items": lambda w: lambda x: x + sum(map(lambda c: np.sum(w * c), (2.0, x[0]))),  # noqa: C417
    "called_functions": lambda w: lambda x: sum([f(w, x) for f in (_summed, _read)]) + x,
    "methods": lambda w: functools.partial(_method_by_two_names, _Summing(w)),
    "calls_of_an_object": _Summing,
    "turns": lambda w: lambda x: _by_turns(w, x),
    "calls_of_itself": lambda w: lambda x: _itself(w, x, x[0]),
    "slope_and_value": lambda w: lambda x, f=lambda c: np.sum(w * c): x * anyshape.grad(f)(x[0]) + f(2.0),
}

_USES = {
    "element": lambda w: lambda x: x * w[0] + np.sum(w * x[0]),
    "number": lambda w: lambda x: x * float(w[0]) + np.sum(w * x[0]),
    "mean": lambda w: lambda x: x * w.mean() + np.sum(w * x[0]),
    "mask_of_a_choice": lambda w: lambda x: x + np.sum(np.where(w > 1.5, w * x[0], 0.0)),
    "mask": lambda w: lambda x: x + np.sum(w[w > 1.5] * x[0]) + np.sum(w * x[0]),
    "product_with_itself": lambda w: lambda x: np.dot(w, w) * x + np.sum(w * x[0]),
    "negation": lambda w: lambda x: np.sum(-w) * x + np.sum(w * x[0]),
    "condition": lambda w: lambda x: (x if w[0] > 0 else -x) + np.sum(w * x[0]),
    "iteration": lambda w: lambda x: _loop(w, x),
    "in_a_callee": lambda w: lambda x: _weighted(w, x),
    "by_keyword": lambda w: lambda x: _weighted(x=x, values=w),
    "in_one_of_two_callees": lambda w: lambda x: _summed(w, x) + _weighted(w, x),
    "in_a_partial": lambda w: functools.partial(_weighted, w),
    "in_a_tuple": lambda w: lambda x, pair=(w, 1): x * pair[0][0] + np.sum(w * x[0]),
    "in_an_inner_function": lambda w: lambda x: _called(lambda: x * w[0]) + np.sum(w * x[0]),
    "attribute": lambda w: _Model(w).element,
    "alias": lambda w: _Model(w).aliased,
    "result_of_a_method": lambda w: _Model(w).returned,
    "attribute_by_a_text": lambda w: _Model(w).by_name,
    "getattr": lambda w: _Model(w).by_getattr,
    "vars": lambda w: _Model(w).by_vars,
    "locals": lambda w: lambda x: x * locals()["w"][0] + np.sum(w * x[0]),
    "eval": lambda w: lambda x: x * eval("w[0]", {"w": w}) + np.sum(w * x[0]),
}


def _steps_of(use):
    w = W.copy()
    yield use(w)
    _changed(w)


_NAMED = {f"operand_read_as_{n}": use for n, use in _USES.items()}
_NAMED |= {f"operand_read_by_one_of_two_{n}": use for n, use in _BOTH.items()}
for _name, _use in _NAMED.items():
    _row = functools.partial(_steps_of, _use)
    _row.__name__ = _name
    case(_row)
