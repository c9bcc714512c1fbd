"""Common mistakes of new users, each with the whole message that it gets."""

# ruff: noqa: E501 (messages are whole)

import json
import math

import numpy
import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.stats

from anyshape import checkpoint, cond, grad, jit, jvp, scan, vmap, while_loop
from tests.errors.mistakes import mistake, ones


def added_in_place(x):
    x += 0.5
    return x


def written(x):
    b = np.zeros(3)
    b[0] = x[0]
    return x


@mistake(
    """math.sin(x): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  write np.sin, which takes traced values"""
)
def sine_of_the_standard_library():
    jit(lambda x: math.sin(x))(1.0)


@mistake(
    """numpy.array([x[0], x[1]]): a NumPy array needs the value of a traced array f64[], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose array takes traced values"""
)
def list_of_elements_as_an_array():
    jit(lambda x: numpy.array([x[0], x[1]]))(ones(3))


@mistake(
    """x += 0.5: cannot cast the result from float64 to int64 in place at model.py
  convert the array before, x = x.astype(np.float64), or the result"""
)
def floats_added_to_integers_in_place():
    jit(added_in_place)(np.arange(3))


@mistake(
    """np.savetxt('x.txt', x): has no counterpart on traced arrays at model.py
  return the array, and write it outside the traced function"""
)
def text_file_in_a_trace():
    jit(lambda x: np.savetxt("x.txt", x))(ones(3))


@mistake(
    """scipy.integrate.quad(lambda t: t * x, 0, 1): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  write from anyshape.scipy import integrate, or call it outside the traced function"""
)
def quadrature_of_scipy():
    jit(lambda x: scipy.integrate.quad(lambda t: t * x, 0, 1)[0])(1.0)


@mistake(
    """scipy.linalg.solve(x, ones(3)): a NumPy array needs the value of a traced array f64[x.shape[0], x.shape[1]], which is not known while tracing at model.py
  write from anyshape.scipy import linalg, or call it outside the traced function"""
)
def solve_of_scipy():
    jit(lambda x: scipy.linalg.solve(x, ones(3)))(np.eye(3))


@mistake(
    """scipy.stats.norm.pdf(x): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write from anyshape.scipy import stats, or call it outside the traced function"""
)
def density_of_scipy():
    jit(lambda x: scipy.stats.norm.pdf(x))(ones(3))


@mistake(
    """numpy.random.randn(3): changes the state of NumPy's global generator while it is traced, and each call would repeat the numbers of the trace at model.py
  write `import anyshape.numpy as np`: its np.random draws in each call"""
)
def draw_of_the_global_generator():
    jit(lambda x: x + numpy.random.randn(3))(ones(3))


@mistake(
    """vmap(<lambda>): in_axes has 1 entries for 2 arguments
  give one entry for each argument, None for one that is not mapped"""
)
def in_axes_for_fewer_arguments():
    vmap(lambda x, y: x + y, in_axes=(0,))(ones(3), ones(3))


@mistake(
    """vmap(<lambda>): x has no axis 0 (it has 0)
  give it None in in_axes: all examples share it"""
)
def vmap_of_a_number():
    vmap(lambda x: x)(1.0)


@mistake(
    """grad(<lambda>): argnums 0 is out of range for 0 arguments by position
  pass that argument by position, or change argnums"""
)
def gradient_in_a_keyword():
    grad(lambda x: (x**2).sum())(x=ones(3))


@mistake(
    """grad(<lambda>): x has dtype int64, which has no derivative
  convert it to a float dtype, or leave it out of argnums"""
)
def gradient_in_an_integer():
    grad(lambda x: (x**2).sum())(3)


@mistake(
    """grad(<lambda>): the value is of type tuple, not an array
  return one scalar array, or (value, aux) with has_aux=True"""
)
def gradient_of_a_pair():
    grad(lambda x: (x.sum(), x))(ones(3))


@mistake(
    """grad(<lambda>): the value is of type NoneType, not an array
  return one scalar array"""
)
def gradient_of_nothing():
    grad(lambda x: None)(ones(3))


@mistake(
    """jvp(<lambda>): primals[0].shape[0] (3) must equal tangents[0].shape[0] (4) at model.py
  make tangents[0].shape[0] 3, or primals[0].shape[0] 4"""
)
def tangents_of_another_length():
    jvp(lambda x: x, (ones(3),), (ones(4),))


@mistake(
    """<lambda>: k is static and of type list, which cannot be hashed
  pass something with __hash__ and __eq__, such as a tuple"""
)
def static_list():
    jit(lambda x, k: x, static_argnums=1)(ones(3), [1])


@mistake(
    """<lambda>: static_argnames names 'j'
  name one of the parameters: x, k"""
)
def static_name_that_is_none():
    jit(lambda x, k: x, static_argnames="j")


@mistake(
    """scan(lambda c, x: ((c, x), x), 0.0, ones(3)): f takes carry as *, and gives (*, *) at model.py
  return the carry in the tree that it has"""
)
def carry_that_grows():
    scan(lambda c, x: ((c, x), x), 0.0, ones(3))


@mistake(
    """scan: the result of f is one array, not a pair
  return the carry and the result of the trip"""
)
def trip_without_a_result():
    scan(lambda c, x: c + x, 0.0, ones(3))


@mistake(
    """cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), x): result: false_fun gives f64[] at model.py, and true_fun gives f64[x.shape[0]] at model.py
  return arrays with the same number of axes"""
)
def branches_of_other_ranks():
    jit(lambda x: cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), x))(ones(3))


@mistake(
    """while_loop: the result of cond_fun is bool[init.shape[0]], not one boolean
  reduce it with np.all or np.any"""
)
def loop_while_an_array_is_positive():
    while_loop(lambda x: x > 0, lambda x: x - 1, ones(3))


@mistake(
    """<lambda>: x has dtype object
  convert it to numbers, as with astype(float)"""
)
def array_of_objects():
    jit(lambda x: x)(np.array([1, None], object))


@mistake(
    """<lambda>: x has dtype datetime64[D]
  convert it to numbers, as with astype(int)"""
)
def array_of_dates():
    jit(lambda x: x)(np.array(["2020-01-01"], "M8[D]"))


@mistake(
    """x > 0: the value is ambiguous for more than one element at model.py
  choose for each element with np.where and &, or for all with any() or all()"""
)
def choice_by_an_array():
    jit(lambda x: 1 if x > 0 else 0)(ones(3))


@mistake(
    """0 < x < 1: the value is ambiguous for more than one element at model.py
  choose for each element with np.where and &, or for all with any() or all()"""
)
def chained_comparison():
    jit(lambda x: 0 < x < 1)(ones(3))


@mistake(
    """{1: 2}[x]: a traced array i64[] is not a key of a dict or a set, as its hash is that of its value, which is not known while tracing at model.py
  use a name or a position as the key, and the array as the value"""
)
def array_as_a_key():
    jit(lambda x: {1: 2}[x])(1)


@mistake(
    """np.concatenate([x, y]): x.shape[1] (2) must equal y.shape[1] (3) at model.py
  make y.shape[1] 2, or x.shape[1] 3"""
)
def join_of_other_widths():
    jit(lambda x, y: np.concatenate([x, y]))(ones(3, 2), ones(3, 3))


@mistake(
    """'ij,jk': the einsum equation names 2 operands of 1 at model.py
  write one term for each operand"""
)
def equation_for_more_operands():
    jit(lambda x: np.einsum("ij,jk", x))(ones(2, 2))


@mistake(
    """np.sin(x, out=np.zeros(3)): an array of NumPy cannot hold traced values at model.py
  use the result"""
)
def result_into_an_array_of_numpy():
    jit(lambda x: np.sin(x, out=np.zeros(3)))(ones(3))


@mistake(
    """b[0] = ...: float() needs the value of a traced array f64[], which is not known while tracing at model.py
  create the array by np.zeros_like(x) or anyshape.numpy: one of NumPy cannot hold traced values"""
)
def write_to_an_array_of_numpy():
    jit(written)(ones(3))


@mistake(
    """json.dumps(x): json.dumps needs the value of a traced array, which is not known while tracing at model.py
  return the array, and call json.dumps outside the traced function"""
)
def array_as_json():
    jit(lambda x: json.dumps(x))(ones(3))


@mistake(
    """x.tolist(): tolist() needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  return the array, and convert it outside the traced function"""
)
def array_as_a_list():
    jit(lambda x: x.tolist())(ones(3))


@mistake(
    """<lambda>: the result is of type set, not an array
  return arrays, numbers, or trees of them"""
)
def set_as_a_result():
    jit(lambda x: {1, 2})(ones(3))


@mistake(
    """<lambda>: x is an integer of 71 bits
  pass an integer of at most 64 bits, or a float"""
)
def integer_beyond_64_bits():
    jit(lambda x: x)(2**70)


@mistake(
    """grad: its argument is of type str, not a function
  pass the function itself, not the result of calling it"""
)
def text_in_place_of_a_function():
    grad("loss")


@mistake(
    """checkpoint: policy is 'all'
  give 'contractions', or None to keep nothing"""
)
def policy_that_is_none():
    checkpoint(lambda x: x, policy="all")
