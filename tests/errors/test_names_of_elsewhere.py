"""Names, options and classes of other libraries are answered with what to write here."""

import dataclasses
import enum
import io
import math
import types
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import (
    Dim,
    Ragged,
    ShapeDtypeStruct,
    cond,
    config,
    errors,
    eval_shape,
    grad,
    hessian,
    jacfwd,
    jit,
    optimize,
    register_pytree_node,
    switch,
    trace,
    vmap,
)
from anyshape.scipy import integrate, interpolate, linalg, sparse, special, stats
from anyshape.support import elsewhere

X = np.array([0.5, 1.5, -2.5])
ROWS = (1, 2)


def shown(error):
    """Return the text of an error with its notes, as a traceback prints them."""
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("random", "numpy.random.default_rng"),
        ("lax", "anyshape.scan"),
        ("tree", "anyshape.tree_map"),
        ("nn", "layers as functions"),
        ("no_grad", "a call records nothing"),
        ("zeros", "write numpy.zeros"),
        ("softmax", "anyshape.scipy.special.softmax"),
    ],
)
def test_a_name_of_another_library_is_answered(name, advice):
    with pytest.raises(AttributeError) as error:
        getattr(anyshape, name)
    assert f"no attribute {name!r}" in shown(error) and advice in shown(error)


def test_every_answer_names_what_exists():
    tables = (elsewhere.FUNCTIONS, elsewhere.ATTRIBUTES, elsewhere.METHODS)
    rows = [row.format(name=name) for name, row in elsewhere.NAMES.items()]
    rows += [row for table in tables for row in table.values()]
    dotted = {text.strip("(),:") for row in rows for text in row.replace("(", " ").split() if "anyshape." in text}
    for text in dotted:
        value = anyshape
        for part in text.split(".")[1:]:
            value = getattr(value, part)


@pytest.mark.parametrize(
    ("transform", "option", "advice"),
    [
        (jit, "donate_argnums", "leave donate_argnums out"),
        (jit, "dynamic", "takes all sizes"),
        (jit, "static_argname", "write static_argnames in place of static_argname"),
        (grad, "argnum", "argnums"),
        (grad, "static_argnum", "static_argnums"),
        (vmap, "in_dims", "in_axes"),
    ],
)
def test_an_option_of_another_library_is_answered(transform, option, advice):
    with pytest.raises(TypeError, match=option) as error:
        transform(np.sum, **{option: 0})
    assert advice in shown(error)


def test_an_option_that_nothing_resembles_is_answered_by_all_that_there_are():
    with pytest.raises(TypeError) as error:
        jit(np.sum, zzz=0)
    assert "\n  it takes function, static_argnums, static_argnames, " in shown(error)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: jit(lambda x: np.sum(x, axes=0))(X), "write axis in place of axes"),
        (lambda: jit(lambda x: np.sort(x, descending=True))(X), "np.flip(np.sort(x), axis)"),
        (lambda: jit(lambda x: special.logsumexp(x, dim=0))(X), "write axis in place of dim"),
        (lambda: jit(lambda x: np.zeros(-2))(X), "give sizes that are at least 0"),
        (lambda: jit(lambda x: x.astype("flaot"))(X), "give a dtype of NumPy"),
        (lambda: jit(lambda x: x.size())(X), "leave out the brackets"),
        (lambda: jit(lambda x: math.sin(x))(X), "write np.sin(x) for math.sin(x)"),
        (lambda: jit(lambda x: x.shape[5])(X), "one size for each axis"),
        (lambda: jit(lambda x: x.rehsape(1))(X), "write x.reshape"),
        (lambda: jit(lambda x: stats.norm.log_prob(x))(X), "write norm.logpdf"),
        (lambda: jit(lambda x: linalg.cho_solve(x, x))(X), "pass (c, lower)"),
        (lambda: jit(lambda x: interpolate.interp1d(x, x[:2])(1.0))(X), "make x.shape[0] 2"),
        (lambda: jit(lambda x: sparse.linalg.cg(x, x))(X[None, :2]), "make x.shape[1] 1, or x.shape[0] 2"),
        (lambda: optimize.chain(optimize.adam), "write adam(...)"),
        (lambda: optimize.clip_by_global_norm("a"), "as in clip_by_global_norm(1.0)"),
        (lambda: optimize.sgd(0.1, momentum=X), "give one number, such as 0.9"),
        (lambda: optimize.adam(0.1, momentum=0.9), "it takes learning_rate, b1, b2, eps"),
        (lambda: optimize.Adagrad(0.1), "optax.adagrad"),
        (lambda: optimize.minimize(np.sum), "write minimize(fun, x0)"),
        (lambda: optimize.minimize(lambda x, a: np.sum(x), X), "minimize calls it as fun(x, *args)"),
        (lambda: Ragged([X]), "write Ragged.from_list(arrays)"),
        (lambda: Dim("n", minimum=3), "write min in place of minimum"),
        (lambda: ShapeDtypeStruct("-1"), "give sizes that are at least 0"),
        (lambda: ShapeDtypeStruct("n m"), "'m' is not expected here"),
        (lambda: ShapeDtypeStruct("n", "flaot"), "give a dtype of NumPy"),
        (lambda: ShapeDtypeStruct(X), "pass x.shape"),
        (lambda: jit(lambda x: x)(io.StringIO()), "read it before"),
        (lambda: vmap(lambda x: x, axis=0)(X), "write in_axes in place of axis"),
        (lambda: jacfwd(lambda x: x, mode="fwd"), "it takes function, argnums"),
        (lambda: hessian(np.sum, argnums=1)(X), "hessian(sum): argnums 1"),
        (lambda: anyshape.hvp(np.sum, X, X), "hvp(sum): primals is of type ndarray"),
        (lambda: exec("from anyshape import lax"), "cannot import name 'lax' from 'anyshape'\n  write anyshape.scan"),
        (lambda: exec("from anyshape.scipy.special import erff"), "write anyshape.scipy.special.erf"),
        (lambda: trace(eval("lambda x: [0] * int(x.shape[0])"))("n"), "write the function in a file"),
        (lambda: anyshape.vjp(lambda x: x)(X), "write vjp(f, x)"),
        (lambda: anyshape.vjp(lambda x: x, X)[1](), "write pullback(cotangent)"),
        (lambda: vmap(np.sum, X), "write vmap(f)(...)"),
        (lambda: anyshape.ragged_map(np.sum, [X]), "write ragged_map(f)(...)"),
        (lambda: grad(np.sum, 0, X), "write grad(f)(...)"),
        (lambda: anyshape.jacobian(np.sum, X), "write jacobian(f)(...)"),
        (lambda: anyshape.export(np.sum).save("f"), "anyshape.export(f)(*specs).save(file)"),
        (lambda: anyshape.scan(lambda c, x: (c, x), 0.0, X, axis=1), "it takes f, init, xs"),
        (lambda: anyshape.map(np.sin, X, X), "write map(f, xs)"),
        (lambda: anyshape.cond(True, lambda y: y, lambda y: y), "pass as many operands as it has"),
        (lambda: anyshape.numpy.sum(X, dim=0), "write axis in place of dim"),
        (lambda: jit(lambda x: np.clip(x, min_value=0))(X), "write min in place of min_value"),
        (lambda: jit(lambda x: np.hstack(x, x))(X), "np.hstack([x, y])"),
        (lambda: jit(lambda x: np.norm(x))(X), "write np.linalg.norm"),
        (lambda: jit(lambda x: np.apply_along_axis(np.sort, x, 0))(X), "the axis comes before the array"),
        (lambda: jit(lambda x: x * "3")(X), "x * '3': an operand is of type str"),
        (lambda: jit(lambda x: x * Fraction(1, 2))(X), "an operand is of type Fraction"),
        (lambda: jit(lambda x: x.at(0).set(1.0))(X), "write x.at[i].set(v), with brackets"),
        (lambda: jit(lambda x: special.gamma(x, 2))(X), "out is 2, not an array"),
        (lambda: jit(lambda x: linalg.solve_triangular(x, x, low=True))(X), "write lower in place of low"),
        (lambda: jit(lambda x: interpolate.CubicSpline(x, x, bc=1))(X), "it takes x, y, axis, bc_type"),
        (lambda: jit(lambda x: stats.norm.rvs(x))(X), "draw by a numpy.random.Generator"),
        (lambda: jit(lambda x: integrate.solve_ivp(np.sin, 1.0, x))(X), "t_span is 1.0, not a pair"),
        (lambda: optimize.apply_updates(X, X[:2]), "pass the updates of these parameters"),
        (lambda: optimize.sgd(0.1, weight_decay=0.1), "add_decayed_weights"),
        (lambda: ShapeDtypeStruct("2n"), "write 2*n"),
        (lambda: anyshape.SymbolicScope("n > 3"), "SymbolicScope: constraints is 'n > 3'"),
        (lambda: Ragged.from_list([X]).shape, "r.lengths"),
    ],
    ids=lambda row: row if isinstance(row, str) else "",
)
def test_a_mistake_is_answered_with_what_to_write(call, advice):
    with pytest.raises(Exception) as error:
        call()
    assert advice in shown(error) and "raised inside of anyshape" not in shown(error)


class Two(enum.IntEnum):
    """Members that are ints."""

    TWO = 2


def test_members_of_enumerations_compute_as_in_numpy():
    for x in (X, X.astype(np.float32), np.arange(3)):
        for f in (lambda x: x * Two.TWO, lambda x: Two.TWO - x, lambda x: np.where(x > 0, x, Two.TWO)):
            result = jit(f)(x)
            np.testing.assert_array_equal(result, f(x), strict=True)


def test_a_class_is_jitted_by_its_objects():
    class Model:
        def __call__(self, x):
            return x

    with pytest.raises(errors.ArgumentError, match=r"write jit\(Model\(...\)\)"):
        jit(Model)()


def test_vmap_maps_what_is_ragged():
    batch = Ragged.from_list([X, X[:2]])
    np.testing.assert_allclose(vmap(lambda x, k: np.sum(x) * k, in_axes=(0, None))(batch, 2.0), [-1.0, 4.0])


def test_an_error_of_the_users_own_list_is_left_alone():
    def chooses(x):
        return ROWS[5] * x

    with pytest.raises(IndexError) as error:
        jit(chooses)(X)
    assert shown(error) == "tuple index out of range"


def test_a_setting_that_does_not_exist_is_answered():
    with pytest.raises(AttributeError) as error:
        config.optimise = "now"
    assert "write optimize in place of optimise" in shown(error)


@pytest.mark.parametrize(("name", "advice"), [("sin", "write np.sin"), ("relu", "np.maximum(x, 0)")])
def test_a_function_of_a_framework_is_answered(name, advice):
    """The module is a stand-in whose functions read their argument, as functions of PyTorch do."""
    torch = types.ModuleType("torch")
    installed = Path(np.__file__).parents[1] / "torch" / "__init__.py"
    code = compile(f"import numpy\ndef {name}(x): return numpy.array(x, dtype=float)", installed, "exec")
    exec(code, torch.__dict__)
    function = {"sin": lambda v: torch.sin(v).sum(), "relu": lambda v: torch.relu(v).sum()}[name]
    with pytest.raises(errors.ConcretizationError) as error:
        grad(function)(X)
    assert advice in shown(error)


def test_optimisers():
    with pytest.raises(AttributeError) as error:
        optimize.rmsprop(0.1)
    assert "module 'anyshape.optimize'" in shown(error) and "optax.rmsprop" in shown(error)
    for transformation in (optimize.adam(0.1), optimize.sgd(0.1, momentum=0.9), optimize.scale_by_adam()):
        with pytest.raises(errors.ArgumentError, match="that `init` or the last update returned"):
            transformation.update(X, X)


PARAMS = {"w": np.ones(2)}
SLIPS = [
    (lambda: optimize.adam(PARAMS), "write o = adam(1e-3) and state = o.init(params)"),
    (lambda: optimize.adamw(X), "learning_rate is an array of 1 axes"),
    (lambda: optimize.sgd("0.1"), "learning_rate is of type str"),
    (lambda: optimize.sgd(lr=0.1), "write learning_rate in place of lr"),
    (lambda: optimize.adam(0.1, betas=(0.9, 0.9)), "write b1=0.9, b2=0.999"),
    (lambda: optimize.sgd(0.1).step(), "write updates, state = o.update(grads, state, params)"),
    (lambda: optimize.adam(0.1).zero_grad(), "leave it out"),
    (lambda: optimize.Adam(0.1), "write anyshape.optimize.adam"),
    (lambda: optimize.adam(0.1).init(), "write init(params)"),
    (lambda: optimize.adamw(0.1).update(X, optimize.adamw(0.1).init(X)), "write update(grads, state, params)"),
    (lambda: grad(lambda x, y: x * y, y=2.0)(1.0), "write grad(f)(..., y=...)"),
    (lambda: anyshape.hvp(np.sum), "write hvp(function, primals, tangents)"),
    (lambda: anyshape.fori_loop(0, 3, lambda c: c, 0.0), "calls it as body_fun(i, val)"),
    (lambda: anyshape.scan(lambda c: (c, c), 0.0, X), "calls it as f(carry, x)"),
    (lambda: anyshape.debug.print("{y}", x=X), "write y=... behind it"),
    (lambda: jit(lambda v: v.transpose(0, 0))(np.ones((2, 2))), "name each axis once"),
    (lambda: jit(lambda v: np.digitize(v, np.ones((2, 2)) * v[0]))(X), "pass an array of one axis"),
    (lambda: vmap(np.sum, in_axes=2)(np.ones((2, 2))), "give in_axes from -2 to 1"),
    (lambda: jit(np.sum).export(X), "write anyshape.export(f)(*specs)"),
    (lambda: anyshape.special.erf(X), "write anyshape.scipy.special"),
    (lambda: anyshape.scipy.special.sigmoid(X), "write anyshape.scipy.special.expit"),
    (lambda: anyshape.scipy.optimise, "write anyshape.scipy.optimize"),
    (lambda: anyshape.numpy.random.PRNGKey(0), "write numpy.random.default_rng"),
    (lambda: anyshape.save(X), "program.save(file)"),
    (lambda: config.update("x", 1), "config.name = value"),
    (lambda: cond(np.sin, np.cos, True, X), "write cond(pred, true_fun, false_fun, *operands)"),
    (lambda: switch(0, np.sin, np.cos, X), "write switch(index, branches, *operands)"),
    (lambda: anyshape.hvp(X, np.sum, X), "write hvp(function, primals, tangents)"),
    (lambda: anyshape.tree_map(X, np.sum), "write tree_map(function, tree, *rest)"),
    (lambda: anyshape.vjp(lambda v: v**2, (2.0,)), "one by one"),
    (lambda: anyshape.linearize(lambda v, w: v * w, (X, X)), "one by one"),
    (lambda: anyshape.trace(lambda v: v.sum())(None), "give specifications of arrays"),
    (lambda: anyshape.symbolic_shape("n", "m"), 'write symbolic_shape("n, m")'),
    (lambda: jit(lambda v: v + np.zeros(3, 3))(X), "give the shape as one tuple"),
    (lambda: anyshape.ShapeDtypeStruct(3, 4), "one text or tuple has all axes"),
    (lambda: anyshape.trace(np.sin)("n")([1.0, 2.0]), "pass np.array(values) for a list"),
    (lambda: jit(lambda v: sum(v, axis=0))(X), "write np.sum(x, axis=...)"),
    (lambda: jit(lambda v: v.reshape(-1, -1))(X), "leave one -1"),
    (lambda: jit(lambda v: v.len())(X), "write len(x)"),
    (lambda: grad(lambda v: v**2, has_aux="yes")(2.0), "give True or False"),
]


# a function of a package that only looks at an array, as it would stand in the file of that package
PACKAGES = [
    ("numba", "def f(v):\n    return v.flags['C_CONTIGUOUS']\nf.py_func = f", "write f.py_func, the Python code"),
    (
        "pandas",
        "def f(v):\n    return v.strides",
        "call it outside the traced function",
    ),
    ("torch", "def f(v):\n    raise TypeError('no tensor')", "a traced array is one of NumPy: call it outside"),
]


@pytest.mark.parametrize(("package", "code", "advice"), PACKAGES)
def test_functions_of_packages_that_only_look_at_arrays(package, code, advice):
    names = {}
    exec(compile(code, f"/x/site-packages/{package}/look.py", "exec"), names)
    f = names["f"]
    with pytest.raises((TypeError, errors.UnsupportedFunctionError)) as error:
        jit(lambda v: f(v))(X)
    assert advice in shown(error)
    assert package == "torch" or str(error.value).startswith("f(v): ")


def test_arrays_are_copied_if_needed():
    values = jit(lambda v: np.array(v, copy=np._CopyMode.IF_NEEDED) + np.array(v, copy=np._CopyMode.ALWAYS))(X)
    np.testing.assert_array_equal(values, 2 * X)


def _updated(optimiser, grads, params, *further):
    return optimiser.update(grads, optimiser.init(params), *further)


NONSENSE = [
    (lambda: optimize.sgd(-1), "negate the function"),
    (lambda: optimize.sgd(np.nan), "at least 0"),
    (lambda: optimize.sgd(0.1, 1.5), "at least 0 and below 1"),
    (lambda: optimize.sgd(0.1, True), "at least 0 and below 1"),
    (lambda: optimize.adam(0.1, b1=9), "adam: b1 is 9"),
    (lambda: optimize.adam(0.1, 0.9, "x"), "adam: b2 is of type str"),
    (lambda: optimize.adamw(0.1, weight_decay=-1), "weight_decay is -1"),
    (lambda: optimize.adam(lambda: 0.1), "write lambda count: ..."),
    (lambda: optimize.clip(-1), "max_delta is -1"),
    (lambda: optimize.scale("a"), "factor is of type str"),
    (lambda: optimize.lbfgs(memory_size=2.5), "an int of at least 1"),
    (lambda: optimize.linear_schedule(1, 0, 0.5), "positive number of steps"),
    (lambda: optimize.exponential_decay(1.0, 10, -0.5), "decay_rate is -0.5"),
    (lambda: optimize.piecewise_constant_schedule(1.0, [2]), "as in {100: 0.1}"),
    (lambda: optimize.join_schedules([1.0, 2.0], [3]), "constant_schedule(0.1)"),
    (lambda: _updated(optimize.sgd(0.1), X, X, np.ones(4)), "has the shape (3,), and params (4,)"),
    (lambda: _updated(optimize.adam(0.1), X, np.ones(1)), "has the shape (3,), and the state (1,)"),
    (lambda: _updated(optimize.adam(0.1), np.float64(1), X, X), "has the shape (), and the state (3,)"),
    (lambda: _updated(optimize.sgd(0.1), np.sum, X), "write update(grad(f)(params), state, params)"),
    (lambda: optimize.sgd(0.1).update((), X), "write update(grad(f)(params), state, params)"),
    (lambda: optimize.apply_updates(np.arange(3), X), "begin with floats"),
]


@pytest.mark.parametrize(("program", "text"), NONSENSE)
def test_nonsense_for_optimisers_is_refused(program, text):
    with pytest.raises(errors.ArgumentError) as error:
        program()
    assert text in str(error.value)


@pytest.mark.parametrize(("program", "advice"), SLIPS)
def test_slips_of_users_of_other_libraries(program, advice):
    with pytest.raises((TypeError, AttributeError, errors.AnyshapeError)) as error:
        program()
    assert advice in shown(error)


@pytest.mark.parametrize("rate", [0.1, 1, np.float32(0.1), np.array(0.1), optimize.constant_schedule(0.1)])
def test_numbers_and_schedules_are_learning_rates(rate):
    step = jit(lambda r, g: optimize.sgd(r).update(g, optimize.sgd(r).init(g))[0])
    expected = -np.float64(0.1 if callable(rate) else rate) * X
    np.testing.assert_allclose(optimize.sgd(rate).update(X, np.int64(0))[0], expected, rtol=1e-6)
    if not callable(rate):
        np.testing.assert_allclose(step(rate, X), expected, rtol=1e-6)


def test_advice_for_common_slips():
    rows = [
        (lambda: jit(lambda v: v.view(-1, 2))(np.ones((2, 2))), "reshape"),
        (lambda: jit(lambda v, b: v if b == None else v + b)(X, X), "write b is None"),  # noqa: E711
        (lambda: stats.norm.logpdf(X, mu=0.0), "loc, scale"),
        (lambda: jit(lambda v: len(v))(1.0), "no len"),
    ]
    for program, advice in rows:
        with pytest.raises(TypeError) as error:
            program()
        assert advice in shown(error)


def test_a_function_that_draws_is_not_blamed_for_its_slopes():
    rng = np.random.default_rng(0)
    with pytest.raises(errors.ArgumentError, match="another one at each call"):
        anyshape.check_grads(lambda m: np.mean((m + rng.normal(size=3)) ** 2), (0.5,))


def test_texts_are_specifications_where_all_arguments_are():
    program = trace(lambda v, w: v @ w)("n, 3", "3")
    for n in (0, 1, 2, 5):
        assert program(np.ones((n, 3)), np.ones(3)).shape == (n,)
    assert eval_shape(lambda v: v.sum(0), "n, 3").shape == (3,)
    with pytest.raises(errors.SpecError):
        trace(lambda v: v)("n, 3 ?")
    setting = trace(lambda kind, v: getattr(v, kind)())("sum", anyshape.ShapeDtypeStruct("n"))
    assert setting.graph.inputs[0].meta.rank == 1


class Model:
    """Stand-in for a pydantic model: fields by name, made without validation by `model_construct`."""

    __pydantic_fields__ = {"w": None, "scale": None}

    @classmethod
    def model_construct(cls, **parts):
        made = object.__new__(cls)
        made.__dict__.update(parts)
        return made


class Attrs:
    """Stand-in for an attrs class, with one static field."""

    __slots__ = ("n", "w")
    __attrs_attrs__ = (
        types.SimpleNamespace(name="w", metadata={}),
        types.SimpleNamespace(name="n", metadata={"static": True}),
    )

    def __init__(self, w, n):
        self.w, self.n = w, n


@dataclasses.dataclass
class Flax:
    w: np.ndarray
    n: int = dataclasses.field(default=2, metadata={"pytree_node": False})


def test_classes_of_pydantic_and_attrs_are_registered_as_they_are():
    for kind, made in ((Model, Model.model_construct(w=X, scale=2.0)), (Attrs, Attrs(X, 3))):
        with pytest.raises(errors.ArgumentError, match="register_pytree_node"):
            grad(lambda m: np.sum(m.w**2))(made)
        register_pytree_node(kind)
    slopes = grad(lambda m: np.sum(m.w**2) * m.scale)(Model.model_construct(w=X, scale=2.0))
    np.testing.assert_allclose(slopes.w, 4 * X)
    assert slopes.scale == np.sum(X**2)
    slopes = grad(lambda m: np.sum(m.w**m.n))(Attrs(X, 3))
    np.testing.assert_allclose(slopes.w, 3 * X**2)
    assert slopes.n == 3 and type(slopes.n) is int
    slopes = grad(lambda m: np.sum(m.w**m.n))(Flax(X))
    assert slopes.n == 2
    np.testing.assert_allclose(slopes.w, 2 * X)
