"""Functions with loops that other functions call, by every way that a name reaches one, in another module too."""

import functools
import types

import numpy as np
import pytest

import tests.tracing.source
import tests.tracing.source.loop_programs as programs
from anyshape import grad, jit
from tests.tracing.source import loop_programs
from tests.tracing.source.loop_programs import running_sum

_NAMESPACE = types.SimpleNamespace(running_sum=running_sum)
_TABLE = {"sum": running_sum}


class _Model:
    step = staticmethod(running_sum)

    def __init__(self, function):
        self.function = function

    def loss(self, x):
        return self.function(x)

    def __call__(self, x):
        return self.function(x)


_MODEL = _Model(running_sum)


def by_name(x):
    return running_sum(x)


def by_module(x):
    return loop_programs.running_sum(x)


def by_alias(x):
    return programs.running_sum(x)


def by_package(x):
    return tests.tracing.source.loop_programs.running_sum(x)


def inside_a_function(x):
    def inner(y):
        return programs.running_sum(y)

    return inner(x)


def by_import_inside(x):
    from tests.tracing.source import loop_programs as later

    return later.running_sum(x)


def in_a_lambda(x):
    inner = lambda y: programs.running_sum(y)  # as people write it
    return inner(x)


def by_class(x):
    return _Model.step(x)


def by_namespace(x):
    return _NAMESPACE.running_sum(x)


def by_table(x):
    return _TABLE["sum"](x)


def by_instance(x):
    return _MODEL(x)


def by_default(x, function=running_sum):
    return function(x)


def through_two(x):
    return by_module(x) + 0.0


def shadows_numpy(x):
    return programs.cholesky(x)


CALLERS = {f.__name__: f for f in (
    by_name, by_module, by_alias, by_package, inside_a_function, by_import_inside, in_a_lambda, by_class, by_namespace,
    by_table, by_default, by_instance, through_two, shadows_numpy,
)}  # fmt: skip
_SPACE = {}
exec(
    "def in_wrapper(*args, of=None):\n    return of(*args)\ndef around(of):\n    return lambda *args: of(*args)", _SPACE
)


def _by_keyword(x):
    return functools.wraps(running_sum)(_without_source(_SPACE["in_wrapper"], running_sum))(x)


def _without_source(function, wrapped):
    function.__kwdefaults__ = {"of": wrapped}
    return function


CALLERS["wrapper of another package"] = _by_keyword
CALLERS["wrapper without source"] = functools.wraps(running_sum)(_SPACE["around"](running_sum))
CALLERS["partial"] = functools.partial(by_default, function=running_sum)
CALLERS["instance"] = _MODEL
CALLERS["method"] = _MODEL.loss
CALLERS["lambda"] = lambda x: programs.running_sum(x)


@pytest.mark.parametrize("name", CALLERS)
def test_a_called_function_keeps_its_loops(name):
    function = CALLERS[name]
    traced, gradient = jit(function), jit(grad(lambda x: np.sum(x * function(x))))
    for size in (2, 5, 40, 70):
        x = np.arange(1.0, size + 1)
        np.testing.assert_allclose(traced(x), running_sum(x))
        np.testing.assert_allclose(gradient(x), np.full(size, 2 * np.sum(x)), rtol=1e-12)
    assert traced.cache_info().traces == 1
    assert gradient.cache_info().traces == 1
