"""Test that a traced function may not replace parts of its arguments, which the caller would not see."""

import collections
import dataclasses

import numpy as np
import pytest

import anyshape
from anyshape import (
    ShapeDtypeStruct,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    eval_shape,
    export,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    register_pytree_node,
    scan,
    trace,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from anyshape.errors import MutationError, StateWarning

X = np.arange(3.0)


@dataclasses.dataclass
class Layer:
    w: object
    inner: object = None
    tag: str = "a"


class Box:
    def __init__(self, w, label):
        self.w, self.label = w, label


register_pytree_node(Box, lambda b: ((b.w,), b.label), lambda label, parts: Box(*parts, label))


def replaces(d):
    d["a"] = d["a"] * 2
    return np.sum(d["a"] ** 2)


def replaces_by_loop(d):
    for k in list(d):
        d[k] = d[k] * 2


def replaces_inside(d):
    inner = d["x"][0]
    inner["y"] = np.sin(inner["y"])


def assigns_to_attribute(p):
    p.inner.w = p.w * 2


def adds_attribute(p):
    p.further = p.w * 2


def assigns_static(p):
    p.tag = "b"


def appends(d):
    d.append(d[0] * 2)


def updates(d):
    d.update(b=d["a"] + 1)


def removes(d):
    del d["a"]


def clears(d):
    d.clear()


def moves(d):
    d["a"] = d.pop("a")


def swaps(d):
    d[0], d[1] = d[1], d[0]


def scales_number(d):
    d["rate"] *= 0.5


def replaces_by_tree(d):
    d["a"] = {"b": d["a"]}


def adds_empty(d):
    d["e"] = []


def changes_type(d):
    d["x"] = tuple(d["x"])


def reads_default(d):
    d["z"]


def changes_label(b):
    b.label = "new"


def replaces_in_helper(d):
    replaces(d)


CHANGES = [
    (replaces, {"a": X}, "d['a'] = ...: the caller would keep the old d['a']"),
    (replaces_by_loop, {"a": X}, "d[k] = ...: the caller would keep the old d['a']"),
    (replaces_inside, {"x": [{"y": X}]}, "would keep the old d['x'][0]['y']"),
    (assigns_to_attribute, Layer(X, Layer(X)), "p.inner.w = ...: the caller would keep the old p.inner.w"),
    (adds_attribute, Layer(X), "p.further = ...: the caller would not get p.further"),
    (assigns_static, Layer(X), "p.tag = ...: the caller would keep the old p.tag"),
    (appends, [X], "d.append(d[0] * 2): the caller would not get d[1]"),
    (appends, collections.deque([X]), "d.append(d[0] * 2): the caller would not get d[1]"),
    (updates, {"a": X}, "d.update(b=d['a'] + 1): the caller would not get d['b']"),
    (removes, {"a": X, "b": X}, "del d['a']: the caller would keep d['a']"),
    (clears, collections.OrderedDict(a=X), "d.clear(): the caller would keep d['a']"),
    (moves, {"a": X, "b": X}, "the caller would keep the old order of d"),
    (swaps, [X, X], "d[0] = ...: the caller would keep the old d[0]"),
    (scales_number, {"rate": 0.1}, "d['rate'] = ...: the caller would keep the old d['rate']"),
    (replaces_by_tree, {"a": X}, "d['a'] = ...: the caller would keep the old d['a']"),
    (adds_empty, {"a": X}, "d['e'] = ...: the caller would not get d['e']"),
    (changes_type, {"x": [X]}, "d['x'] = ...: the caller would keep the old d"),
    (reads_default, collections.defaultdict(float, a=X), "the caller would not get d['z']"),
    (changes_label, Box(X, "old"), "b.label = ...: the caller would keep the old b"),
]


@pytest.mark.parametrize(("function", "argument", "message"), CHANGES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_part_that_the_caller_would_not_see_is_an_error_with_its_line(function, argument, message):
    with pytest.raises(MutationError) as raised:
        jit(function)(argument)
    first, advice = str(raised.value).split("\n")
    name = function.__code__.co_varnames[0]
    assert message in first
    assert advice == f"  change a copy of {name}, and return it"
    start = function.__code__.co_firstlineno
    assert start <= raised.value.where.line <= start + 3


def renames(p):
    p.width = p.w
    del p.w


def replaces_in_helper_beside_another(d):
    old = d["b"]
    d["b"] = old * 2
    d["b"] = old
    replaces(d)


def test_names_that_begin_alike_are_parts_of_their_own():
    with pytest.raises(MutationError, match=r"del p.w: the caller would keep p.w at"):
        jit(renames)(Layer(X))


def test_another_part_that_is_restored_is_not_named():
    with pytest.raises(MutationError, match=r"d\['a'\] = ...: the caller would keep the old d\['a'\]") as raised:
        jit(replaces_in_helper_beside_another)({"a": X, "b": X})
    assert raised.value.where.line == replaces.__code__.co_firstlineno + 1


def test_the_line_is_that_of_the_new_value_where_another_function_changes_the_container():
    with pytest.raises(MutationError) as raised:
        jit(replaces_in_helper)({"a": X})
    assert raised.value.where.line == replaces.__code__.co_firstlineno + 1


D = {"a": X}
TRANSFORMS = {
    "grad": lambda f: grad(f)(D),
    "value_and_grad": lambda f: value_and_grad(f)(D),
    "vmap": lambda f: vmap(f)(D),
    "vmap of None": lambda f: vmap(lambda x, d: x * f(d), in_axes=(0, None))(X, D),
    "jvp": lambda f: jvp(f, (D,), (D,)),
    "vjp": lambda f: vjp(f, D),
    "linearize": lambda f: linearize(f, D),
    "jacfwd": lambda f: jacfwd(f)(D),
    "jacrev": lambda f: jacrev(f)(D),
    "hessian": lambda f: hessian(f)(D),
    "checkpoint": lambda f: checkpoint(f)(D),
    "grad of jit": lambda f: grad(jit(f))(D),
    "grad beside": lambda f: grad(lambda x, d: x * f(d))(1.0, D),
    "keyword": lambda f: jit(f)(d=D),
    "cond": lambda f: jit(lambda d: cond(d["a"][0] > 0, f, f, d))(D),
    "cond of a known choice": lambda f: jit(lambda d: cond(True, f, f, d))(D),
    "while_loop": lambda f: jit(lambda d: while_loop(lambda c: f(c) < 9, lambda c: {"a": c["a"] + 1}, d))(D),
    "associative_scan": lambda f: anyshape.associative_scan(lambda d, e: (f(d), e)[1], {"a": X}),
    "custom_jvp": lambda f: jit(_with_jvp(f))(D),
    "custom_vjp": lambda f: jit(_with_vjp(f))(D),
    "trace": lambda f: trace(f)({"a": ShapeDtypeStruct("n")}),
    "export": lambda f: export(f)({"a": ShapeDtypeStruct("n")}),
    "export of paths": lambda f: export(lambda d: f(d) if len(d["a"]) > 2 else d["a"][0])({"a": ShapeDtypeStruct("n")}),
    "eval_shape": lambda f: eval_shape(f, D),
}


def _with_jvp(f):
    wrapped = custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: (f(primals[0]), f(tangents[0])))
    return wrapped


def _with_vjp(f):
    wrapped = custom_vjp(f)
    wrapped.defvjp(lambda d: (f(d), None), lambda residuals, ct: (None,))
    return wrapped


def test_every_transform_refuses_a_change_that_is_lost():
    silent = []
    for name, call in TRANSFORMS.items():
        try:
            call(replaces)
        except MutationError as error:
            assert "would keep the old" in str(error), name
        else:
            silent.append(name)
    assert silent == []
    assert D["a"] is X


def writes_elements(d):
    d["a"] += 1
    d["a"][0] = 7
    return np.sum(d["a"])


def restores(d):
    old = d["a"]
    d["a"] = old * 2
    total = np.sum(d["a"])
    d["a"] = old
    return total


def changes_copy(d):
    d = {**d}
    d["a"] = d["a"] * 2
    return d


def changes_keywords(**kwargs):
    kwargs["a"] = kwargs["a"] * 2
    return kwargs["a"]


def test_elements_copies_keywords_and_restored_parts_are_free():
    d = {"a": X.copy()}
    assert jit(writes_elements)(d) == 12
    np.testing.assert_array_equal(d["a"], [7, 2, 3])
    assert jit(restores)({"a": X}) == 6
    np.testing.assert_array_equal(jit(changes_copy)({"a": X})["a"], 2 * X)
    np.testing.assert_array_equal(jit(changes_keywords)(a=X), 2 * X)


def test_a_jitted_function_inside_of_a_trace_changes_the_containers_of_that_trace_as_python_does():
    inner = jit(replaces)

    def outer(x):
        d = {"a": x}
        inner(d)
        return d["a"]

    np.testing.assert_array_equal(jit(outer)(X), 2 * X)
    with pytest.raises(MutationError, match=r"would keep the old d\['a'\]"):
        jit(lambda d: inner(d))({"a": X})


def test_a_carry_is_a_copy_whose_parts_may_be_replaced():
    def trip(carry, x):
        carry["a"] = carry["a"] + x["b"]
        x["b"] = 0
        return carry, carry["a"]

    init, xs = {"a": np.float64(1.0)}, {"b": X}
    carry, ys = jit(lambda c, v: scan(trip, c, v))(init, xs)
    assert carry["a"] == 4
    np.testing.assert_array_equal(ys, [1, 2, 4])
    assert init["a"] == 1


def test_a_condition_of_a_loop_may_not_replace_parts_of_the_carry():
    def going(carry):
        carry["n"] = carry["n"] + 1
        return carry["n"] < 9

    with pytest.raises(MutationError, match=r"carry\['n'\] = ...: the caller would keep the old carry\['n'\]"):
        jit(lambda n: while_loop(going, lambda c: {"n": c["n"] * 2}, {"n": n}))(1)


def test_each_path_of_an_export_starts_from_the_arguments():
    def on_paths(d, x):
        old = d["a"]
        d["a"] = old * 2
        total = d["a"].sum() if x.shape[0] > 2 else d["a"].sum() * 10
        d["a"] = old
        return total

    program = export(on_paths)({"a": ShapeDtypeStruct("n")}, ShapeDtypeStruct("m"))
    assert [program({"a": np.ones(2)}, np.ones(m)) for m in (0, 1, 3)] == [40, 40, 4]


def advanced(state, log):
    state["t"] += 0.5
    state["x"] = state["x"] * 2
    log.append(state["t"])
    return log, {"all": state}


def test_a_changed_container_that_is_returned_is_a_warning(recwarn):
    step, state, log = anyshape.jit(advanced), {"t": 0.0, "x": np.ones(2)}, []
    for times in (1, 2, 3):
        log, results = step(state, [])
        state = results["all"]
        assert [float(v) for v in log] == [state["t"]] == [0.5 * times] and state["x"].tolist() == [2.0**times] * 2
    said = [str(w.message) for w in recwarn if w.category is StateWarning and w.filename == __file__]
    assert sum("state['t'] += ...: the caller would keep the old state['t']" in text for text in said) <= 2
    assert any("log.append(state['t']): the caller would keep the old log" in text for text in said)


def test_each_changed_container_is_to_be_returned():
    def function(a, b):
        a["x"], b["x"] = a["x"] + 1, b["x"] + 1
        return a

    with pytest.raises(MutationError, match=r"b\['x'\]"):
        anyshape.jit(function)({"x": 0.0}, {"x": 0.0})
