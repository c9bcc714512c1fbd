"""Mistakes of people who come from plain Python, pandas and PyTorch, and of their helpers."""

# ruff: noqa: E501 (messages are whole)

import collections
import functools
import io
import math

import numpy as np

import anyshape.numpy as anp
from anyshape import cond, grad, jit, jvp, scan, value_and_grad, vjp, vmap, while_loop
from anyshape.scipy import optimize, stats
from tests.errors.mistakes import mistake, ones


@mistake("""x + None: an operand is None at model.py
  pass an array: a default or a missing return gives None""")
def sum_with_none():
    jit(lambda x: x + None)(ones(3))


@mistake("""x + '1': an operand is of type str, not an array at model.py
  convert it, as with float(text)""")
def sum_with_a_text():
    jit(lambda x: x + "1")(ones(3))


@mistake("""x * o: an operand is of type dict, not an array at model.py
  use anyshape.tree_map, or its values one by one""")
def product_with_a_dict():
    jit(lambda x, o: x * o)(ones(3), {"a": 1.0})


@mistake("""f'loss {x.sum():.3f}': a format needs the value of a traced array f64[], which is not known while tracing at model.py
  return the array, and format it outside the traced function""")
def digits_in_a_printed_text():
    jit(lambda x: (print(f"loss {x.sum():.3f}"), x)[1])(ones(3))


@mistake("""x < None: an operand is None at model.py
  pass an array: a default or a missing return gives None""")
def comparison_with_none():
    jit(lambda x: x < None)(ones(3))


@mistake("""x['a']: the key is 'a', not an index at model.py
  index by position, and pass fields as a dict of arrays""")
def column_by_its_name():
    jit(lambda x: x["a"])(ones(3))


@mistake("""grad(<lambda>): argnums 1 is out of range for 1 arguments by position
  pass that argument by position, or change argnums""")
def number_of_an_argument_that_is_none():
    grad(lambda w: (w * w).sum(), argnums=1)(ones(3))


@mistake("""grad(<lambda>): argnums is 'w'
  give an int, or a tuple of ints""")
def name_for_the_number_of_an_argument():
    grad(lambda w: (w * w).sum(), argnums="w")(ones(3))


@mistake("""grad(<lambda>): the value is of type tuple, not an array
  return one scalar array, or (value, aux) with has_aux=True""")
def loss_beside_another_result():
    grad(lambda w: ((w * w).sum(), w))(ones(3))


@mistake("""value_and_grad(<lambda>): the result is not a pair (value, aux)
  return a pair, or drop has_aux""")
def loss_without_its_pair():
    value_and_grad(lambda w: (w * w).sum(), has_aux=True)(ones(3))


@mistake("""grad(<lambda>): the value is of type str, not an array
  return one scalar array""")
def gradient_of_a_text():
    grad(lambda w: "loss")(ones(3))


@mistake("""np.save(io.BytesIO(), x): has no counterpart on traced arrays at model.py
  return the array, and write it outside the traced function""")
def array_saved_in_a_trace():
    jit(lambda x: np.save(io.BytesIO(), x))(ones(3))


@mistake("""f: the result is of type generator, not an array
  return a list or a tuple""")
def function_that_yields():
    def f(x):
        yield x * 2

    jit(f)(ones(3))


@mistake("""<lambda>: the result is of type map, not an array
  return a list or a tuple""")
def map_as_a_result():
    jit(lambda x: map(np.sin, [x, x]))(ones(3))


@mistake("""<lambda>: pairs is of type zip, not an array
  pass a list or a tuple""")
def pairs_as_an_argument():
    jit(lambda pairs: sum(a * b for a, b in pairs))(zip([1.0], [2.0]))


@mistake("""<lambda>: c is static and of type dict, which cannot be hashed
  pass something with __hash__ and __eq__, such as a tuple""")
def settings_in_a_static_dict():
    jit(lambda x, c: x * c["a"], static_argnames="c")(ones(2), c={"a": 1})


@mistake("""<lambda>: static_argnames names 'm'
  name one of the parameters: x, n""")
def name_that_no_parameter_has():
    jit(lambda x, n: x * n, static_argnames="m")(ones(2), 3)


@mistake("""np.sum(x, axis=2): axis 2 is out of bounds for array of dimension 2 at model.py
  name an axis from -2 to 1""")
def axis_that_is_too_large():
    jit(lambda x: np.sum(x, axis=2))(ones(2, 3))


@mistake("""np.sum(x, axis=1.0): axis 1.0 is not an int at model.py
  name an axis by its number, as in axis=0""")
def axis_of_a_float():
    jit(lambda x: np.sum(x, axis=1.0))(ones(2, 3))


@mistake("""sum() got an unexpected keyword argument 'dim'
  write axis in place of dim""")
def option_dim_of_pytorch():
    jit(lambda x: np.sum(x, dim=1))(ones(2, 3))


@mistake("""sum() got an unexpected keyword argument 'keepdim'
  write keepdims in place of keepdim""")
def option_keepdim_of_pytorch():
    jit(lambda x: np.sum(x, axis=1, keepdim=True))(ones(2, 3))


@mistake("""np.diff(y) / np.diff(t) * y: broadcast(max(t.shape[0] - 1, 0), max(y.shape[0] - 1, 0)) (4) must equal y.shape[0] (5), or one of them must be 1 at model.py
  make y.shape[0] 4 or 1""")
def differences_beside_all_values():
    jit(lambda t, y: np.diff(y) / np.diff(t) * y)(ones(5), ones(5))


@mistake("""x[1:] - x[:-2]: max(x.shape[0] - 1, 0) (4) must equal max(x.shape[0] - 2, 0) (3), or one of them must be 1 at model.py
  make both the same function of x.shape[0]""")
def slices_that_are_off_by_one():
    jit(lambda x: x[1:] - x[:-2])(ones(5))


@mistake("""np.arange(n): a NumPy array needs the value of a traced array i64[], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose arange takes traced values""")
def range_up_to_a_traced_number():
    jit(lambda n: np.arange(n))(3)


@mistake("""{0: x, 1: -x}[k]: a traced array i64[] is not a key of a dict or a set, as its hash is that of its value, which is not known while tracing at model.py
  use a name or a position as the key, and the array as the value""")
def case_in_a_dict_of_arrays():
    jit(lambda x, k: {0: x, 1: -x}[k])(ones(3), 1)


@mistake("""np.add.at(buf, [0, 1], x): an array of NumPy cannot hold traced values at model.py
  make it with anyshape.numpy.zeros_like of a traced array""")
def buffer_that_add_at_writes():
    buf = np.zeros(3)

    def f(x):
        np.add.at(buf, [0, 1], x)
        return buf

    jit(f)(ones(2))


@mistake("""buf[:] = ...: a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  create the array by np.zeros_like(x) or anyshape.numpy: one of NumPy cannot hold traced values""")
def buffer_that_is_filled():
    buf = np.zeros(3)

    def f(x):
        buf[:] = x
        return buf

    jit(f)(ones(3))


@mistake("""math.isnan(x): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  write np.isnan, which takes traced values""")
def question_of_the_standard_library():
    jit(lambda x: 0.0 if math.isnan(x) else x)(2.0)


@mistake("""x.tolist(): tolist() needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  return the array, and convert it outside the traced function""")
def array_as_a_python_list():
    jit(lambda x: x.tolist())(ones(3))


@mistake("""'NDArray' object has no attribute 'numpy'
  write x itself""")
def method_numpy_of_pytorch():
    jit(lambda x: x.numpy())(ones(3))


@mistake("""'NDArray' object has no attribute 'detach'
  write anyshape.stop_gradient(x)""")
def method_detach_of_pytorch():
    jit(lambda x: x.detach())(ones(3))


@mistake("""not x > 0: the value is ambiguous for more than one element at model.py
  choose for each element with np.where and &, or for all with any() or all()""")
def negation_by_not():
    jit(lambda x: np.where(not x > 0, x, 0))(ones(3))


@mistake("""x > 0: the value is ambiguous for more than one element at model.py
  choose for each element with np.where and &, or for all with any() or all()""")
def decision_on_an_array():
    jit(lambda x: x if x > 0 else -x)(ones(3))


@mistake("""object of type 'Array' has no len()
  write np.size(x), which is 1 for a number""")
def length_of_a_number():
    jit(lambda x: x / len(x))(3.0)


@mistake("""x[0]: 1 indices for an array with 0 axes at model.py
  give at most 0""")
def index_of_a_number():
    jit(lambda x: x[0])(3.0)


@mistake("""x.astype('object'): there are no traced arrays of object at model.py
  use a dtype of numbers""")
def conversion_to_objects():
    jit(lambda x: x.astype("object"))(ones(2))


@mistake("""np.array(['a', 'b'])[x]: a NumPy array needs the value of a traced array i64[x.shape[0]], which is not known while tracing at model.py
  write `import anyshape.numpy as np`, whose functions and generators take traced arrays""")
def texts_by_a_traced_index():
    jit(lambda x: np.array(["a", "b"])[x])(np.arange(2))


@mistake("""np.array([[1.0, x], [2.0]]): a NumPy array needs the value of a traced array f64[], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose array takes traced values""")
def rows_of_one_and_two_elements():
    jit(lambda x: np.sum(x))([[1.0, 2.0], [3.0]]) if 0 else jit(lambda x: np.array([[1.0, x], [2.0]]))(1.0)


@mistake("""Net.last = ...: only a jitted function may rebind what outlives it at model.py
  return the new value, and pass it to the next call""")
def state_of_an_object():
    class Net:
        def __init__(self):
            self.last = None

        def __call__(self, x):
            self.last = x * 2
            return self.last.sum()

    vmap(Net())(ones(3))


@mistake("""log: a program cannot put its values into a container outside at model.py
  return the new value, and pass it to the next call""")
def list_that_collects_values():
    log = []

    def f(x):
        log.append(x.sum())
        return x

    jit(f)(ones(3))


@mistake("""scan: the result of f is one array, not a pair
  return the carry and the result of the trip""")
def trip_that_returns_its_carry_alone():
    scan(lambda c, x: c + x, 0.0, ones(3))


@mistake("""scan: f is of type float, not a function
  write scan(f, init, xs, length)""")
def start_before_the_body():
    scan(0.0, lambda c, x: (c + x, x), ones(3))


@mistake("""cond: true_fun is of type float, not a function
  pass a function, such as lambda: x""")
def values_for_functions_of_cond():
    cond(True, 1.0, 2.0)


@mistake("""while_loop: the result of cond_fun is f64[init.shape[0]], not one boolean
  reduce it with np.all or np.any""")
def loop_while_each_is_positive():
    while_loop(lambda c: c, lambda c: c - 1, ones(3))


@mistake("""vmap(<lambda>): in_axes maps no argument and axis_size is not given
  map at least one argument, or give axis_size""")
def batch_of_no_arguments():
    vmap(lambda x: x)()


@mistake("""vmap(<lambda>): y has no axis 0 (it has 0)
  give it None in in_axes: all examples share it""")
def batch_beside_a_number():
    vmap(lambda x, y: x + y)(ones(3), 2.0)


@mistake("""jit: its argument is of type ndarray, not a function
  pass the function itself, not the result of calling it""")
def result_in_place_of_the_function():
    f = lambda x: x * 2
    jit(f(ones(3)))(ones(3))


@mistake("""vjp(<lambda>): the cotangent has the structure *, not (*, *)
  give 2 leaves, not 1""")
def one_cotangent_for_two_results():
    _, pull = vjp(lambda x: (x, x * 2), ones(3))
    pull(ones(3))


@mistake("""jvp(<lambda>): primals is of type ndarray
  pass a tuple with one entry per argument""")
def tangents_without_a_tuple():
    jvp(lambda x: x * x, ones(3), ones(3))


@mistake("""np.linalg.solve(A, b): A.shape[0] (3) must equal A.shape[1] (2) at model.py
  make A.shape[1] 3, or A.shape[0] 2""")
def equations_without_a_square():
    jit(lambda A, b: np.linalg.solve(A, b))(ones(3, 2), ones(3))


@mistake("""x @ w.T: x.shape[1] (3) must equal w.shape[1] (2) at model.py
  make w.shape[1] 3, or x.shape[1] 2""")
def weights_that_are_transposed_twice():
    jit(lambda x, w: x @ w.T)(ones(4, 3), ones(3, 2))


@mistake("""'ij,jk->il': the einsum equation has the label 'l' in the result alone at model.py
  name it in an operand too""")
def label_that_was_mistyped():
    jit(lambda x, w: np.einsum("ij,jk->il", x, w))(ones(4, 3), ones(3, 2))


@mistake("""np.stack([x, y]): x.shape[0] (3) must equal y.shape[0] (4) at model.py
  make y.shape[0] 3, or x.shape[0] 4""")
def rows_of_other_lengths_stacked():
    jit(lambda x, y: np.stack([x, y]))(ones(3), ones(4))


@mistake("""minimize: fun gives an array of 1 axes, not a number
  reduce it, as with np.sum""")
def residuals_for_a_minimum():
    optimize.minimize(lambda w: w - 1, ones(3))


@mistake("""jit(np.vectorize(lambda v: 1.0 if v > 0 else 0.0))(ones(3)): a NumPy array needs the value of a traced array f64[args[0].shape[0]], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose vectorize takes traced values""")
def jit_of_vectorize():
    jit(np.vectorize(lambda v: 1.0 if v > 0 else 0.0))(ones(3))


@mistake("""np.asarray(x, dtype=np.float32): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose asarray takes traced values""")
def conversion_by_asarray():
    jit(lambda x: np.asarray(x, dtype=np.float32).data)(ones(3))


@mistake("""memoryview(x): memoryview needs the value of a traced array, which is not known while tracing at model.py
  return the array, and call memoryview outside the traced function""")
def memory_of_a_traced_array():
    jit(lambda x: memoryview(x))(ones(3))


@mistake("""g(x): a traced array f64[x.shape[0]] is not a key of a dict or a set, as an array has no hash (unhashable type: 'numpy.ndarray') at model.py
  leave out the cache of this function, or call it outside with numbers""")
def cache_of_the_standard_library():
    @functools.lru_cache
    def g(x):
        return x * 2

    jit(lambda x: g(x))(ones(3))


@mistake("""collections.Counter(x): a traced array i64[] is not a key of a dict or a set, as its hash is that of its value, which is not known while tracing at model.py
  write np.unique(x), with return_counts=True for how often each occurs""")
def count_of_the_standard_library():
    jit(lambda x: collections.Counter(x))(np.arange(3))


@mistake("""np.random.seed(0): changes the state of NumPy's global generator while it is traced, and each call would repeat the numbers of the trace at model.py
  write `import anyshape.numpy as np`: its np.random draws in each call""")
def seed_in_a_trace():
    jit(lambda x: (np.random.seed(0), x + np.random.normal(size=3))[1])(ones(3))


@mistake("""np.testing.assert_allclose(x, 1.0): a NumPy array needs the value of a traced array f64[x.shape[0]], which is not known while tracing at model.py
  write import anyshape.numpy as np, whose testing.assert_allclose takes traced values""")
def assertion_of_numpy_testing():
    jit(lambda x: np.testing.assert_allclose(x, 1.0))(ones(3))


@mistake("""x @ w: an operand is None at model.py
  pass an array: a default or a missing return gives None""")
def default_that_is_none():
    jit(lambda x, w=None: x @ w)(ones(3))


@mistake("""grad(<lambda>): the value has dtype complex128 at model.py
  return a real value, such as abs(z)**2""")
def loss_that_is_complex():
    grad(lambda x: np.sum(x * 1j))(ones(3))


@mistake("""set(x): a traced array f64[] is not a key of a dict or a set, as its hash is that of its value, which is not known while tracing at model.py
  write np.unique(x), with return_counts=True for how often each occurs""")
def distinct_values_by_a_set():
    jit(lambda x: set(x))(ones(3))


@mistake("""np.append(x, ones(2), axis=0): all arrays must have the same number of axes, and they have 2 and 1 at model.py
  add axes with x[None]""")
def vector_appended_to_a_matrix():
    jit(lambda x: np.append(x, ones(2), axis=0))(ones(3, 2))


@mistake("""(x > 0) - (x < 0): is not defined for bool and bool at model.py
  convert them with astype""")
def difference_of_truths():
    jit(lambda x: (x > 0) - (x < 0))(ones(3))


@mistake("""-(x > 0): is not defined for bool at model.py
  convert them with astype""")
def negative_of_truths():
    jit(lambda x: -(x > 0))(ones(3))


@mistake("""x ** (-1): integers to negative integer powers are not integers at model.py
  use a float exponent""")
def negative_power_of_integers():
    jit(lambda x: x**-1)(np.arange(3))


@mistake("""np.linalg.det(x): 1-dimensional array given. Array must be at least two-dimensional at model.py
  pass an array of two axes or more""")
def determinant_of_a_vector():
    jit(lambda x: np.linalg.det(x))(ones(3))


@mistake("""np.quantile(x, 1.5): level 1.5 is not between 0 and 1 at model.py
  pass levels in this range""")
def level_of_a_quantile():
    jit(lambda x: np.quantile(x, 1.5))(ones(3))


@mistake("""np.average(x, weights=ones(2)): x.shape[0] (3) must equal 2 at model.py
  make x.shape[0] 2""")
def weights_of_another_length():
    jit(lambda x: np.average(x, weights=ones(2)))(ones(3))


@mistake("""norm: the call got an unexpected keyword argument 'sigma' at model.py
  give its parameters: x, loc, scale""")
def parameter_that_a_distribution_has_not():
    jit(lambda x: stats.norm.logpdf(x, sigma=2.0))(ones(3))


@mistake("""module 'anyshape.numpy' has no attribute 'relu'
  write np.maximum(x, 0)""")
def activation_of_pytorch():
    jit(lambda x: anp.relu(x))(ones(3))


@mistake("""x[0]: a traced array cannot be changed so at model.py
  write the part to keep: x[:k]""")
def element_that_is_deleted():
    def f(x):
        del x[0]
        return x

    jit(f)(ones(3))


@mistake("""nonlocal total = ...: only a jitted function may rebind what outlives it at model.py
  return the new value, and pass it to the next call""")
def total_in_a_closure():
    total = 0.0

    def f(x):
        nonlocal total
        total = total + x
        return x

    grad(f)(1.0)


@mistake("""g: a program cannot put its values into a container outside at model.py
  return the new value, and pass it to the next call""")
def total_in_a_dict():
    g = {"n": 0.0}

    def f(x):
        g["n"] += x
        return x

    jit(f)(1.0)


@mistake("""np.interp(x, xp, fp): xp.shape[0] (3) must equal fp.shape[0] (4) at model.py
  make fp.shape[0] 3, or xp.shape[0] 4""")
def points_of_an_interpolation():
    jit(lambda x, xp, fp: np.interp(x, xp, fp))(ones(5), ones(3), ones(4))


@mistake("""np.cross(a, b): a.shape[0] (4) must equal 3 at model.py
  make a.shape[0] 3""")
def cross_product_of_four():
    jit(lambda a, b: np.cross(a, b))(ones(4), ones(4))


@mistake("""X - mu: X.shape[1] (3) must equal mu.shape[0] (4), or one of them must be 1 at model.py
  make mu.shape[0] 3 or 1""")
def means_along_the_other_axis():
    jit(lambda X, mu: X - mu)(ones(4, 3), ones(4))


@mistake("""x << 1: is not defined for float64 and int at model.py
  convert them with astype""")
def shift_of_floats():
    jit(lambda x: x << 1)(ones(3))


@mistake("""np.dot(a, b, c): `out` has 1 axes, and the result has 0 at model.py
  give `out` its shape""")
def third_operand_of_dot():
    jit(lambda a, b, c: np.dot(a, b, c))(ones(3), ones(3), ones(3))


@mistake("""np.where(x, 'a', 'b'): an operand has dtype <U1 at model.py
  pass numbers or booleans""")
def choice_of_texts():
    jit(lambda x: np.where(x, "a", "b"))(ones(3))
