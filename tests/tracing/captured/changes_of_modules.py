"""Changes of globals, modules and builtins, and what cannot be watched."""

import importlib
import operator
import sys
import threading
import types

import numpy as np

from tests.tracing.captured.case import case, on_the_list

gain = 1.0
settings = types.ModuleType("settings_of_these_tests")
settings.gain, settings.table = 1.0, {"a": 1.0}
sys.modules[settings.__name__] = settings


def _global(name, value):
    globals()[name] = value


@case
def builtin_shadowed():
    yield lambda x: x * sum([1.0, 2.0])
    try:
        _global("sum", lambda xs: 10.0)
        yield
    finally:
        del globals()["sum"]


@case
def builtin_shadowed_in_a_helper():
    yield lambda x: _uses_max(x)
    try:
        _global("max", lambda *xs: 10.0)
        yield
    finally:
        del globals()["max"]


def _uses_max(x):
    return x * max(1.0, 2.0)


@case
def module_rebound():
    numpy = np
    try:
        yield lambda x: np.sum(x)
        _global("np", types.SimpleNamespace(sum=lambda x: numpy.sum(x) * 3))
        yield
    finally:
        _global("np", numpy)


@case
def global_rebound():
    try:
        yield lambda x: x * gain
        _global("gain", 3.0)
        yield
    finally:
        _global("gain", 1.0)


@case
def global_deleted():
    _global("later", 2.0)

    def f(x):
        try:
            return x * later
        except NameError:
            return x

    yield f
    del globals()["later"]


@case
def global_that_appears():
    def f(x):
        try:
            return x * appears
        except NameError:
            return x

    try:
        yield f
        _global("appears", 3.0)
        yield
    finally:
        del globals()["appears"]


@case
def attribute_of_a_module():
    try:
        yield lambda x: x * settings.gain
        settings.gain = 3.0
        yield
    finally:
        settings.gain = 1.0


@case
def dict_of_a_module():
    try:
        yield lambda x: x * settings.table["a"]
        settings.table["a"] = 3.0
        yield
    finally:
        settings.table["a"] = 1.0


@case
def import_inside():
    def f(x):
        import settings_of_these_tests as inside

        return x * inside.gain

    try:
        yield f
        settings.gain = 3.0
        yield
    finally:
        settings.gain = 1.0


@case
def import_of_a_name_inside():
    def f(x):
        from settings_of_these_tests import gain

        return x * gain

    try:
        yield f
        settings.gain = 3.0
        yield
    finally:
        settings.gain = 1.0


@case
def imported_module_replaced():
    def f(x):
        import settings_of_these_tests as inside

        return x * inside.gain

    try:
        yield f
        sys.modules[settings.__name__] = types.SimpleNamespace(gain=3.0)
        yield
    finally:
        sys.modules[settings.__name__] = settings


@case
def global_through_globals():
    try:
        yield lambda x: x * globals()["gain"]
        _global("gain", 3.0)
        yield
    finally:
        _global("gain", 1.0)


@case
def global_in_an_evaluated_text():
    try:
        yield lambda x: x * eval("gain")
        _global("gain", 3.0)
        yield
    finally:
        _global("gain", 1.0)


@case
def global_of_a_class_body():
    def f(x):
        class Local:
            factor = gain

        return x * Local.factor

    try:
        yield f
        _global("gain", 3.0)
        yield
    finally:
        _global("gain", 1.0)


@case
def global_of_an_init():
    try:
        yield lambda x: x * _Made().value
        _global("gain", 3.0)
        yield
    finally:
        _global("gain", 1.0)


class _Made:
    def __init__(self):
        self.value = gain


@case
def constant_of_a_stdlib_module():
    import string

    before = string.digits
    try:
        yield lambda x: x * len(string.digits)
        string.digits = "01"
        yield
    finally:
        string.digits = before


# -- what cannot be watched


@on_the_list("what an object of")
def opaque_object():
    it = operator.length_hint
    lock = __import__("threading").Lock()
    yield lambda x: x * (2 if lock.locked() else it([1]))
    lock.acquire()


@on_the_list("objects are; pass it as an argument")
def beyond_the_limit():
    w = [[float(i)] for i in range(21_000)]
    yield lambda x: x * w[-1][0]
    w[-1][0] = 3.0


@on_the_list("what `os` reads")
def environment():
    import os

    yield lambda x: x * float(os.environ.get("GAIN_OF_THESE_TESTS", "1.0"))
    os.environ["GAIN_OF_THESE_TESTS"] = "3.0"
    yield
    del os.environ["GAIN_OF_THESE_TESTS"]


@on_the_list("what an object of _thread._local keeps")
def value_of_a_thread():
    w = threading.local()
    w.value = 1.0
    yield lambda x: x * w.value
    w.value = 3.0


@on_the_list("the Python function of a ufunc")
def function_of_a_ufunc():
    w = [1.0]
    u = np.frompyfunc(lambda v: v * w[0], 1, 1)
    yield lambda x: x * float(u(2.0))
    w[0] = 3.0


@on_the_list("a text made at run time")
def text_that_is_evaluated():
    table = {"text": "x * gain"}
    yield lambda x: eval(table["text"])
    yield


@on_the_list("what `sys` reads")
def module_found_by_its_name():
    yield lambda x: x * vars(sys.modules["settings_of_" + "these_tests"])["gain"]
    yield


@case
def attribute_of_a_module_by_a_text_in_a_dict():
    options = {"which": "gain"}
    yield lambda x: x * getattr(settings, options["which"])
    settings.gain += 1.0


@on_the_list("attributes of a module that only a text made at run time names")
def attribute_of_a_module_by_a_text_made_up():
    part = "ga"
    yield lambda x: x * getattr(settings, part + "in")
    yield


@case
def module_imported_by_a_function():
    yield lambda x: x * __import__("settings_of_these_tests").gain
    settings.gain += 1.0


@on_the_list("a module that only a text made at run time names")
def module_imported_by_a_text_made_up():
    part = "settings"
    yield lambda x: x * __import__(part + "_of_these_tests").gain
    yield


@case
def module_by_importlib():
    yield lambda x: x * importlib.import_module("settings_of_these_tests").gain
    settings.gain += 1.0


@case
def module_in_the_table_of_modules():
    yield lambda x: x * sys.modules["settings_of_these_tests"].gain
    settings.gain += 1.0
