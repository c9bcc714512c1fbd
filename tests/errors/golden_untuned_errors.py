"""Mistakes that were written down before anyone had seen their messages, each with the whole message that it gets."""

# ruff: noqa: E501 (messages are whole)

import dataclasses
import math

import numpy
import numpy as np
import scipy.ndimage
import scipy.optimize
import scipy.signal
from matplotlib.figure import Figure

import anyshape
import anyshape.numpy as anp
from anyshape import (
    ShapeDtypeStruct,
    check,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    linearize,
    optimize,
    pure_callback,
    scan,
    switch,
    trace,
    tree_map,
    vjp,
    vmap,
    while_loop,
)
from tests.errors.mistakes import mistake, ones

# -- trees and classes -------------------------------------------------------------------------------------------


class Model:
    def __init__(self):
        self.w = ones(3)


@mistake(
    """vjp(<lambda>): model is of type Model, not an array
  close over it, make Model a dataclass, or register it by anyshape.register_pytree_node"""
)
def object_of_a_class_where_a_derivative_is_taken():
    vjp(lambda model, x: model.w @ x, Model(), ones(3))


@mistake(
    """<lambda>: xs is of type generator, not an array
  pass a list or a tuple"""
)
def generator_as_an_argument():
    jit(lambda xs: sum(xs))(x for x in [1.0, 2.0])


@mistake(
    """<lambda>: the result is of type generator, not an array
  return a list or a tuple"""
)
def generator_as_a_result():
    jit(lambda x: (row for row in x))(ones(3))


@mistake(
    """tree_map(<lambda>): tree 2 has the structure {'v': *}, not {'w': *}
  give trees of the structure of the first one"""
)
def trees_of_other_keys():
    tree_map(lambda p, g: p - g, {"w": ones(2)}, {"v": ones(2)})


@mistake(
    """update: the state has the structure {'w': *}, not {'v': *}
  give gradients of the parameters that `init` took"""
)
def gradients_of_other_parameters():
    optimizer = optimize.adam(0.1)
    state = optimizer.init({"w": ones(2)})
    optimizer.update({"v": ones(2)}, state, {"w": ones(2)})


@mistake(
    """<lambda>: k is static and of type ndarray, which cannot be hashed
  leave it out of the static arguments: arrays are arguments of the program"""
)
def array_as_a_static_argument():
    jit(lambda x, k: x, static_argnums=1)(ones(3), ones(3))


@mistake(
    """<lambda>: the result is of type Indexed, not an array
  end it with .set(v), .add(v), .get() or the like"""
)
def update_that_is_not_ended():
    jit(lambda x: x.at[0])(ones(3))


# -- names of other libraries ------------------------------------------------------------------------------------


@mistake(
    """'NDArray' object has no attribute 'unsqueeze'
  write np.expand_dims(x, axis)"""
)
def method_of_pytorch():
    jit(lambda x: x.unsqueeze(0))(ones(3))


@mistake(
    """sum() got an unexpected keyword argument 'dim'
  write axis in place of dim"""
)
def option_of_pytorch():
    jit(lambda x: x.sum(dim=0))(ones(3))


@mistake(
    """module 'anyshape.numpy' has no attribute 'sigmoid'
  write anyshape.scipy.special.expit"""
)
def function_of_jax():
    jit(lambda x: anp.sigmoid(x))(ones(3))


@mistake(
    """axes.plot(x): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  call it outside the traced function, or through anyshape.pure_callback"""
)
def plot_in_a_trace():
    axes = Figure().subplots()
    jit(lambda x: axes.plot(x))(ones(3))


@mistake(
    """scipy.ndimage.gaussian_filter(x, 1.0): a NumPy array needs the value of a traced array f64[x.shape[0], x.shape[1]], which is not known while tracing at model.py
  write from anyshape.scipy import ndimage, or call it outside the traced function"""
)
def filter_of_scipy():
    jit(lambda x: scipy.ndimage.gaussian_filter(x, 1.0))(ones(3, 3))


@mistake(
    """scipy.signal.convolve(x, ones(3)): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write from anyshape.scipy import signal, or call it outside the traced function"""
)
def convolution_of_scipy():
    jit(lambda x: scipy.signal.convolve(x, ones(3)))(ones(5))


@mistake(
    """scipy.optimize.minimize(...): a NumPy array needs the value of a traced array, which is not known while tracing at model.py
  write from anyshape.scipy import optimize, or call it outside the traced function"""
)
def minimiser_of_scipy():
    jit(lambda a: scipy.optimize.minimize(lambda x: ((x - a) ** 2).sum(), ones(3)).x)(ones(3))


# -- axes and operands -------------------------------------------------------------------------------------------


@mistake(
    """np.mean(x, axis='rows'): axis 'rows' is not an int at model.py
  name an axis by its number, as in axis=0"""
)
def axis_by_a_name():
    jit(lambda x: np.mean(x, axis="rows"))(ones(2, 3))


@mistake(
    """anp.concatenate(x, y): axis is an array at model.py
  pass the arrays as one list: np.concatenate([x, y])"""
)
def arrays_to_join_without_a_list():
    jit(lambda x, y: anp.concatenate(x, y))(ones(2), ones(3))


@mistake(
    """np.where(x > 0, x): y is missing at model.py
  pass both, or the condition alone"""
)
def choice_without_the_other_value():
    jit(lambda x: np.where(x > 0, x))(ones(3))


@mistake(
    """np.transpose(x, (0, 2, 1)): axis 2 is out of bounds for array of dimension 2 at model.py
  name an axis from -2 to 1"""
)
def axes_of_a_transposition():
    jit(lambda x: np.transpose(x, (0, 2, 1)))(ones(2, 3))


@mistake(
    """'ij->k': the einsum equation has the label 'k' in the result alone at model.py
  name it in an operand too"""
)
def label_of_the_result_alone():
    jit(lambda x: np.einsum("ij->k", x))(ones(3, 3))


@mistake(
    """np.interp(x, xp, fp): xp.shape[0] (3) must equal fp.shape[0] (4) at model.py
  make fp.shape[0] 3, or xp.shape[0] 4"""
)
def points_and_values_of_other_lengths():
    jit(lambda x, xp, fp: np.interp(x, xp, fp))(ones(2), ones(3), ones(4))


@mistake(
    """np.linalg.inv(x): 1-dimensional array given. Array must be at least two-dimensional at model.py
  pass an array of two axes or more"""
)
def inverse_of_a_vector():
    jit(lambda x: np.linalg.inv(x))(ones(3))


@mistake(
    """np.linalg.solve(a, ones(3)): Singular matrix at model.py
  check the matrix before, or add a small multiple of the identity to it"""
)
def matrix_that_is_singular():
    jit(lambda a: np.linalg.solve(a, ones(3)))(np.zeros((3, 3)))


@mistake(
    """y[mask] = ...: 5 must be 1 or equal count (3, the number of true elements) at model.py
  make the axis of 5 elements 3 or 1 long"""
)
def values_for_a_mask():
    def fill(x, mask):
        y = x.copy()
        y[mask] = ones(5)
        return y

    jit(fill)(ones(4), np.array([True, False, True, True]))


@mistake(
    """y[1:] = ...: x.shape[0] (3) must be 1 or equal max(x.shape[0] - 1, 0) (2) at model.py
  make x.shape[0] 2 or 1"""
)
def part_that_is_too_short():
    def shift(x):
        y = np.zeros_like(x)
        y[1:] = x
        return y

    jit(shift)(ones(3))


# -- values of Python --------------------------------------------------------------------------------------------


@mistake(
    """max(x): bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write np.max(x), or np.maximum(x, y) of two"""
)
def largest_by_the_builtin():
    trace(lambda x: max(x))(ShapeDtypeStruct("3"))


@mistake(
    """sorted(x): bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write np.sort(x)"""
)
def sorted_by_the_builtin():
    trace(lambda x: sorted(x))(ShapeDtypeStruct("3"))


@mistake(
    """x[0] in [1, 2]: bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write np.isin(x, values)"""
)
def membership_in_a_list():
    trace(lambda x: x[0] in [1, 2])(ShapeDtypeStruct("3"))


@mistake(
    """np.linspace(0, 1, n): a Python int needs the value of a traced array f64[], which is not known while tracing at model.py
  an int is needed here: of a size, write n // 2 for n / 2 and for n * 0.5; or pass a static int"""
)
def count_from_a_float():
    jit(lambda x, n: x * len(np.linspace(0, 1, n)))(ones(3), 5.0)


@mistake(
    """math.isclose(x[0], 1.0): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  write np.isclose, which takes traced values"""
)
def closeness_of_the_standard_library():
    jit(lambda x: math.isclose(x[0], 1.0))(ones(3))


@mistake(
    """abs(x).max() > 1: bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"""
)
def loop_until_it_is_small():
    def halve(x):
        while abs(x).max() > 1:
            x = x / 2
        return x

    trace(halve)(ShapeDtypeStruct("n"))


@mistake(
    """(x > 0).all(): bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"""
)
def assertion_of_a_value():
    def root(x):
        assert (x > 0).all(), "x must be positive"
        return np.sqrt(x)

    trace(root)(ShapeDtypeStruct("n"))


@mistake(
    """np.frompyfunc(lambda v: v + 1, 1, 1)(x): has no counterpart on traced arrays at model.py
  call the function itself, or write anyshape.numpy.vectorize(f)(x)"""
)
def function_of_frompyfunc():
    jit(lambda x: np.frompyfunc(lambda v: v + 1, 1, 1)(x))(ones(3))


@mistake(
    """numpy.random.permutation(x): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose random takes traced values"""
)
def permutation_of_the_global_generator():
    jit(lambda x: numpy.random.permutation(x))(ones(3))


@mistake(
    """net.hidden = ...: only a jitted function may rebind what outlives it at model.py
  return the new value, and pass it to the next call"""
)
def use_of_a_leaked_attribute():
    class Net:
        def __call__(self, x):
            self.hidden = np.tanh(x)
            return self.hidden.sum()

    net = Net()
    grad(lambda x: net(x))(ones(3))


@mistake(
    """y /= 2: cannot cast the result from float64 to int64 in place at model.py
  convert the array before, y = y.astype(np.float64), or the result"""
)
def integers_divided_in_place():
    def halve(x):
        y = x.copy()
        y /= 2
        return y

    jit(halve)(np.arange(3))


# -- transforms --------------------------------------------------------------------------------------------------


@mistake(
    """vmap(<lambda>): in_axes does not match the arguments: the argument has no 'v' and in_axes[0] has no 'w'
  give one entry for each, or a tree that is a prefix of the arguments"""
)
def axes_of_a_tree_with_other_keys():
    vmap(lambda p, x: p["w"] @ x, in_axes=({"v": 0}, 0))({"w": ones(3, 2, 2)}, ones(3, 2))


@mistake(
    """vmap(<lambda>): p['w'].shape[0] (3) must equal p['b'].shape[0] (4) at model.py
  make p['b'].shape[0] 3, or p['w'].shape[0] 4"""
)
def batches_of_other_sizes_in_a_tree():
    vmap(lambda p, x: p["w"] @ x + p["b"])({"w": ones(3, 2, 2), "b": ones(4, 2)}, ones(3, 2))


@mistake(
    """vmap(<lambda>): the result has no axis 1 (it has 1)
  give out_axes from -1 to 0"""
)
def axis_of_the_result_that_is_none():
    vmap(lambda x: x.sum(), out_axes=1)(ones(3, 2))


@mistake(
    """custom_vjp(<lambda>): bwd gives a cotangent for x of type f64[], and x is f64[x.shape[0]] at model.py
  give it that shape"""
)
def cotangent_of_a_rule_that_is_a_number():
    f = custom_vjp(lambda x: (x**2).sum())
    f.defvjp(lambda x: ((x**2).sum(), x), lambda x, ct: (ct,))
    grad(f)(ones(3))


@mistake(
    """custom_vjp(<lambda>): bwd gives cotangents of the structure *, and the arguments have (*,) at model.py
  return a tuple with one cotangent, or None, for each argument"""
)
def rule_that_gives_no_tuple():
    f = custom_vjp(lambda x: (x**2).sum())
    f.defvjp(lambda x: ((x**2).sum(), x), lambda x, ct: 2 * x * ct)
    grad(f)(ones(3))


@mistake(
    """custom_vjp(<lambda>): fwd gives an array, not a pair at model.py
  return (the result, the residuals)"""
)
def rule_without_residuals():
    f = custom_vjp(lambda x: (x**2).sum())
    f.defvjp(lambda x: (x**2).sum(), lambda x, ct: (2 * x * ct,))
    grad(f)(ones(3))


@mistake(
    """custom_vjp(<lambda>): has no rule at model.py
  give it one with <lambda>.defvjp(fwd, bwd)"""
)
def rule_that_is_missing():
    f = custom_vjp(lambda x: (x**2).sum())
    grad(f)(ones(3))


@mistake(
    """custom_jvp(<lambda>): its rule gives an array, not a pair at model.py
  return (the result, its tangent)"""
)
def rule_without_a_tangent():
    f = custom_jvp(lambda x: x**2)
    f.defjvp(lambda primals, tangents: primals[0] ** 2)
    grad(lambda x: f(x).sum())(ones(3))


@mistake(
    """vjp(<lambda>): cotangent.shape[0] = 4 does not fit 3
  make it 3"""
)
def cotangent_of_another_length():
    _, pull = vjp(lambda x: x * 2, ones(3))
    pull(ones(4))


@mistake(
    """linearize(<lambda>): tangents has the structure (*, *), not (*,)
  give 1 leaf, not 2"""
)
def tangents_that_are_too_many():
    _, push = linearize(lambda x: x * 2, ones(3))
    push(ones(3), ones(3))


@mistake(
    """grad(<lambda>): the value has dtype complex128 at model.py
  return a real value, such as abs(z)**2"""
)
def gradient_of_a_complex_value():
    grad(lambda z: (z * z).sum())(ones(3) * 1j)


@mistake(
    """grad(<lambda>): argnums is 'x'
  give an int, or a tuple of ints"""
)
def argument_by_its_name():
    grad(lambda x: x.sum(), argnums="x")(ones(3))


# -- loops and branches ------------------------------------------------------------------------------------------


@mistake(
    """scan(lambda c, x: (c + x, c), np.float32(0), ones(4)): f takes carry as f32[], and gives f64[] at model.py
  convert one of them with astype"""
)
def carry_of_another_dtype():
    scan(lambda c, x: (c + x, c), np.float32(0), ones(4))


@mistake(
    """scan(...): xs[1].shape[0] (5) must equal xs[0].shape[0] (4) at model.py
  make xs[0].shape[0] 5, or xs[1].shape[0] 4"""
)
def rows_of_other_lengths():
    scan(lambda c, x: (c + x[0] * x[1], c), 0.0, (ones(4), ones(5)))


@mistake(
    """scan: xs is a scalar, without an axis to scan along
  write scan(f, init, xs): each x has a first axis, or pass length=n"""
)
def number_of_trips_for_rows():
    scan(lambda c, x: (c + 1, c), 0.0, 5)


@mistake(
    """fori_loop(0, 5, add, 0.0): body_fun takes carry as *, and gives None at model.py
  return the carry in the tree that it has"""
)
def body_that_returns_nothing():
    def add(i, c):
        c = c + 1

    fori_loop(0, 5, add, 0.0)


@mistake(
    """fori_loop: body_fun is of type int, not a function
  write fori_loop(lower, upper, body_fun, init_val)"""
)
def body_before_the_bounds():
    fori_loop(lambda i, c: c, 0, 5, ones(3))


@mistake(
    """while_loop(lambda c: c[0] < 5, lambda c: c[0] + 1, (0, 1.0)): body_fun takes carry as (*, *), and gives * at model.py
  return the carry in the tree that it has"""
)
def carry_that_loses_a_part():
    while_loop(lambda c: c[0] < 5, lambda c: c[0] + 1, (0, 1.0))


@mistake(
    """cond(x.sum() > 0, x, -x): true_fun is of type NDArray, not a function at model.py
  pass a function, such as lambda: x"""
)
def values_for_branches():
    jit(lambda x: cond(x.sum() > 0, x, -x))(ones(3))


@mistake(
    """cond(x > 0, lambda: x, lambda: -x): pred is bool[x.shape[0]], not one boolean at model.py
  reduce it with np.all or np.any, or choose by np.where"""
)
def condition_of_an_array():
    jit(lambda x: cond(x > 0, lambda: x, lambda: -x))(ones(3))


@mistake(
    """cond(x.sum() > 0, lambda: x, lambda: None): true_fun gives * at model.py, and false_fun gives None at model.py
  return the same tree from all branches"""
)
def branch_that_returns_nothing():
    jit(lambda x: cond(x.sum() > 0, lambda: x, lambda: None))(ones(3))


@mistake(
    """switch(x.sum(), [lambda: x, lambda: -x]): index is f64[], not one integer at model.py
  pass an integer scalar, or use cond for a boolean"""
)
def branch_by_a_float():
    jit(lambda x: switch(x.sum(), [lambda: x, lambda: -x]))(ones(3))


# -- minimisers, callbacks, settings -----------------------------------------------------------------------------


@mistake(
    """minimize: fun gives an array of 1 axes, not a number
  reduce it, as with np.sum"""
)
def objective_of_an_array():
    anyshape.scipy.optimize.minimize(lambda x: x**2, ones(3))


@mistake(
    """minimize: method is 'adam'
  write the loop with anyshape.optimize.adam"""
)
def method_that_scipy_has_not():
    anyshape.scipy.optimize.minimize(lambda x: (x**2).sum(), ones(3), method="adam")


@mistake(
    """minimize: bounds is a dict
  give scipy.optimize.Bounds, or a pair for each element of x0 in their order"""
)
def bounds_in_a_dict():
    anyshape.scipy.optimize.minimize(lambda p: (p["a"] ** 2).sum(), {"a": ones(3)}, bounds={"a": (0, 1)})


@mistake(
    """minimize: a constraint of type 'equal' is not known
  write 'eq' or 'ineq'"""
)
def type_of_a_constraint():
    constraint = {"type": "equal", "fun": lambda x: x.sum()}
    anyshape.scipy.optimize.minimize(lambda x: (x**2).sum(), ones(3), constraints=constraint)


@mistake(
    """root: fun gives 2 values for 3 unknowns
  give as many equations as unknowns, or use least_squares"""
)
def fewer_equations_than_unknowns():
    anyshape.scipy.optimize.root(lambda x: x[:2], ones(3))


@mistake(
    """curve_fit: f gives 4 values, and ydata has 5
  pass xdata and ydata of one length"""
)
def data_of_other_lengths():
    anyshape.scipy.optimize.curve_fit(lambda x, a, b: a * x + b, ones(4), ones(5))


@mistake(
    """pure_callback(lambda x: x[:2], ShapeDtypeStruct('3'), x): <lambda> gave the shape (2,), not float64[3] as was declared at model.py
  declare the shape that it gives"""
)
def shape_of_a_callback():
    jit(lambda x: pure_callback(lambda x: x[:2], ShapeDtypeStruct("3"), x))(ones(3))


@mistake(
    """x must be positive at model.py
  pass arguments that satisfy this check"""
)
def check_that_fails():
    def root(x):
        check(x.min() > 0, "x must be positive")
        return np.sqrt(x)

    jit(root)(-ones(3))


@mistake(
    """<lambda>: compile is 'yes'
  give "auto", "off", "background" or \"wait\""""
)
def setting_that_compile_has_not():
    jit(lambda x: x, compile="yes")(ones(3))


@mistake(
    """<lambda>: dynamic_shapes names 'y'
  name one of the parameters: x"""
)
def shape_of_a_parameter_that_is_none():
    jit(lambda x: x, dynamic_shapes={"y": "n"})(ones(3))


@mistake(
    """<lambda>: dynamic_shapes['x'] has 2 entries for 1 axes
  give one entry for each axis"""
)
def shape_of_another_rank():
    jit(lambda x: x, dynamic_shapes={"x": "n, m"})(ones(3))


@mistake(
    """grad(<lambda>): p.name is of type object, not an array
  leave it out of argnums, or register its class by anyshape.register_pytree_node"""
)
def array_in_place_of_a_dataclass():
    @dataclasses.dataclass
    class Parameters:
        w: np.ndarray
        name: object

    grad(lambda p: np.sum(p.w))(Parameters(ones(2), object()))
