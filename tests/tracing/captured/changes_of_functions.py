"""Changes of functions, wherever they are kept."""

import contextvars
import functools
import weakref

from tests.tracing.captured.case import Scale, case, scaled_by, special


@case
def function_in_a_list():
    w = [1.0]
    fs = [lambda x: x, lambda x: x * w[0]]
    yield lambda x: fs[1](x)
    w[0] = 2.0


@case
def function_in_a_dict_replaced():
    fs = {"act": lambda x: x}
    yield lambda x: fs["act"](x)
    fs["act"] = lambda x: x * 3


@case
def function_in_a_default():
    w = [1.0]

    def f(x, act=lambda x: x * w[0]):
        return act(x)

    yield f
    w[0] = 2.0


@case
def default_changed_in_place():
    def f(x, w=[1.0]):  # noqa: B006 (a default that changes is the point)
        return x * w[0]

    yield f
    f.__defaults__[0][0] = 3.0


@case
def defaults_replaced():
    def f(x, w=1.0):
        return x * w

    yield f
    f.__defaults__ = (3.0,)


@case
def defaults_of_a_helper_replaced():
    def helper(x, w=1.0):
        return x * w

    yield lambda x: helper(x)
    helper.__defaults__ = (3.0,)


@case
def keyword_default_changed():
    def f(x, *, w=1.0):
        return x * w

    yield f
    f.__kwdefaults__["w"] = 3.0


@case
def code_replaced():
    def helper(x):
        return x

    yield lambda x: helper(x)
    helper.__code__ = (lambda x: x * 3).__code__


@case
def partial_with_a_list():
    w = [1.0]
    yield functools.partial(lambda w, x: x * w[0], w)
    w[0] = 3.0


@case
def keyword_of_a_partial():
    f = functools.partial(lambda x, w: x * w, w=1.0)
    yield lambda x: f(x)
    f.keywords["w"] = 3.0


@case
def partial_of_a_method():
    o = special(act=lambda self, w, x: x * self.value * w)
    yield functools.partial(o.act, 2.0)
    o.value = 7.0


@case
def attribute_of_a_function():
    def helper(x):
        return x * helper.gain

    helper.gain = 1.0
    yield lambda x: helper(x)
    helper.gain = 3.0


@case
def attribute_of_a_function_that_appears():
    def helper(x):
        return x * getattr(helper, "gain", 1.0)

    yield lambda x: helper(x)
    helper.gain = 3.0


@case
def function_behind_a_decorator():
    w = [1.0]

    @functools.wraps(scaled_by)
    def inner(x):
        return x * w[0]

    yield functools.wraps(inner)(lambda x: inner(x))
    w[0] = 3.0


@case
def function_behind_a_cache():
    w = [1.0]

    def gain():
        return w[0]

    f = functools.lru_cache(lambda k: gain())
    yield lambda x: x * f.__wrapped__(1)
    w[0] = 3.0


@case
def single_dispatch_registered_later():
    @functools.singledispatch
    def gain(kind):
        return 1.0

    yield lambda x: x * gain(2)
    gain.register(int, lambda kind: 3.0)


@case
def method_kept_in_a_closure():
    o = special(act=lambda self, x: x * self.value)
    act = o.act
    yield lambda x: act(x)
    o.value = 7.0


@case
def method_of_a_builtin():
    table = {"a": 1.0}
    get = table.get
    yield lambda x: x * get("a")
    table["a"] = 3.0


@case
def bound_append_shares_its_list():
    w = [1.0]
    size = w.__len__
    yield lambda x: x * size()
    w.append(2.0)


@case
def recursive_functions():
    w = [2.0]

    def down(x, n):
        return x * w[0] if n == 0 else up(x, n - 1)

    def up(x, n):
        return down(x, n)

    yield lambda x: down(x, 3)
    w[0] = 3.0


@case
def closure_of_a_generator_function():
    w = [1.0, 2.0]

    def parts():
        yield from w

    yield lambda x: x * sum(parts())
    w.append(5.0)


@case
def lambda_inside_a_comprehension():
    w = 2.0
    yield lambda x: sum([(lambda y: y * w)(x) for _ in range(2)])  # noqa: PLC3002
    w = 5.0


@case
def weak_reference():
    o = Scale()
    reference = weakref.ref(o)
    yield lambda x: x * reference().value
    o.value = 3.0


@case
def context_variable():
    gain = contextvars.ContextVar("gain", default=1.0)
    yield lambda x: x * gain.get()
    gain.set(4.0)


@case
def cell_that_is_filled_later():
    def f(x):
        try:
            return x * later
        except NameError:
            return x

    yield f
    later = 4.0


@case
def cell_that_is_emptied():
    w = 4.0

    def f(x):
        try:
            return x * w
        except NameError:
            return x

    yield f
    del w


@case
def annotation_that_is_read():
    def helper(x: 2.0) -> None:
        """Hold a number."""

    yield lambda x: x * helper.__annotations__["x"]
    helper.__annotations__["x"] = 3.0


@case
def docstring_that_is_read():
    def helper():
        """Do nothing."""

    yield lambda x: x * len(helper.__doc__)
    helper.__doc__ = "Do nothing at all."


@case
def name_that_is_read():
    def helper():
        """Do nothing."""

    yield lambda x: x * len(helper.__name__)
    helper.__name__ = "longer_name"
