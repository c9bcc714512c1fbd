"""Changes of large arrays that a program has as operands, and that Python reads too while it is traced."""

import functools

import numpy as np

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


for _name, _use in _USES.items():
    _row = functools.partial(_steps_of, _use)
    _row.__name__ = f"operand_read_as_{_name}"
    case(_row)
