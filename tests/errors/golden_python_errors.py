"""Mistakes in values, derivatives and runs, each with the whole message that it gets."""

# ruff: noqa: E501 (messages are whole)

import io
import queue

import numpy as np

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, associative_scan, check, grad, jit, jvp, load, pure_callback, trace, vmap
from tests.errors.mistakes import mistake, ones

# -- dtypes ------------------------------------------------------------------------------------------------------


@mistake(
    """x & y: is not defined for float64 and float64 at model.py
  convert them with astype"""
)
def bitwise_operator_of_floats():
    jit(lambda x, y: x & y)(ones(3), ones(3))


@mistake(
    """<lambda>: the result is of type object, not an array
  return arrays, numbers, or trees of them"""
)
def argument_of_an_object_as_a_result():
    jit(lambda p: p["w"])({"w": object()})


@mistake(
    """<lambda>: the result['loss'] is of type object, not an array
  return arrays, numbers, or trees of them"""
)
def result_of_an_object():
    jit(lambda x: {"loss": object()})(ones(3))


# -- derivatives and vmap ----------------------------------------------------------------------------------------


@mistake(
    """grad(<lambda>): the value is f64[x.shape[0]], not a scalar
  sum it, or use vjp or jacrev"""
)
def grad_of_an_array():
    grad(lambda x: x * 2)(ones(3))


@mistake(
    """grad(<lambda>): p['w'] has dtype int64, which has no derivative
  convert it to a float dtype, or leave it out of argnums"""
)
def grad_of_integers():
    grad(lambda p: p["w"].sum())({"w": np.arange(3)})


@mistake(
    """grad(<lambda>): the value has dtype int64, which has no derivative at model.py
  return a float"""
)
def grad_of_an_integer_result():
    grad(lambda x: x.astype(int).sum())(ones(3))


@mistake(
    """vmap(<lambda>): x.shape[0] (3) must equal y.shape[0] (2) at model.py
  make y.shape[0] 3, or x.shape[0] 2"""
)
def vmap_sizes():
    vmap(lambda x, y: x + y)(ones(3), ones(2))


@mistake(
    """vmap(<lambda>): x has no axis 2 (it has 2)
  give in_axes from -2 to 1"""
)
def vmap_axes():
    vmap(lambda x: x, in_axes=2)(ones(3, 2))


@mistake(
    """jvp(<lambda>): primals[0].shape[0] (3) must equal tangents[0].shape[0] (4) at model.py
  make tangents[0].shape[0] 3, or primals[0].shape[0] 4"""
)
def tangent_shape():
    jvp(lambda x: x * x, (ones(3),), (ones(4),))


# -- what Python may not ask -------------------------------------------------------------------------------------


@mistake(
    """x.sum() > 0: bool() needs the value of a traced array bool[], which is not known while tracing at model.py
  write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"""
)
def bool_of_an_array():
    trace(lambda x: x if x.sum() > 0 else -x)(ShapeDtypeStruct("n"))


@mistake(
    """float(x.sum()): float() needs the value of a traced array f64[], which is not known while tracing at model.py
  compute with the array itself: a Python float would be a constant of every derivative"""
)
def float_of_an_array():
    jit(lambda x: float(x.sum()))(ones(3))


@mistake(
    """(row for row in x[x > 0]): iteration over the first axis of f64[count], whose size is not known while tracing at model.py
  write the loop with anyshape.scan, which takes every number of rows"""
)
def iteration():
    jit(lambda x: sum(row for row in x[x > 0]))(ones(3))


@mistake(
    """x[0] = ...: the array is an argument at model.py
  write x = x.copy() before"""
)
def assignment():
    def clear(x, y):
        x[0] = 0.0
        return x + y

    jit(lambda x: associative_scan(clear, x))(ones(3, 2))


@mistake(
    """x += 1.0: the array is an argument at model.py
  write x = x.copy() before"""
)
def addition_in_place():
    def shift(x, y):
        x += 1.0
        return x + y

    jit(lambda x: associative_scan(shift, x))(ones(3, 2))


@mistake(
    """y[0] = ...: float() needs the value of a traced array f64[], which is not known while tracing at model.py
  create the array by np.zeros_like(x) or anyshape.numpy: one of NumPy cannot hold traced values"""
)
def assignment_to_a_concrete_array():
    def fill(x):
        y = np.zeros(3)
        y[0] = x[0]
        return y

    jit(fill)(ones(3))


@mistake(
    """np.sin(x): the traced array f64[x.shape[0]], made by x * 2 at model.py, was used after its trace had ended at model.py
  return it from the traced function instead of storing it"""
)
def leak():
    values = queue.SimpleQueue()

    def keep(x):
        values.put(x * 2)
        return x

    jit(keep)(ones(3))
    x = values.get(timeout=5)
    np.sin(x)


@mistake(
    """<lambda>: k is static and of type list, which cannot be hashed
  pass something with __hash__ and __eq__, such as a tuple"""
)
def static_argument_that_does_not_hash():
    jit(lambda x, k: x, static_argnames="k")(ones(3), k=[1, 2])


@mistake(
    """np.array_str(x): has no counterpart on traced arrays at model.py
  return the array, and write it outside the traced function"""
)
def function_without_a_counterpart():
    jit(lambda x: np.array_str(x))(ones(3))


@mistake(
    """len(x[x > 0]): Python needs count > 1, and count (made by x[x > 0] at model.py) depends on data: it is not known while tracing at model.py
  write the code for every size, or the choice with np.where, max_dim or min_dim"""
)
def question_about_a_size_from_data():
    trace(lambda x: x[x > 0] if len(x[x > 0]) > 1 else x)(ShapeDtypeStruct("n"))


# -- runs --------------------------------------------------------------------------------------------------------


@mistake(
    """<lambda>: may need 40800 bytes for x.shape[0] = 50, and max_bytes is 1000; the most by np.outer(x, x) at model.py
  call it with smaller arrays, in parts, or allow more"""
)
def max_bytes():
    jit(lambda x: np.sum(np.outer(x, x) * 2.0), max_bytes=1000)(ones(50))


@mistake(
    """6 // x.shape[0]: n (0, from x.shape[0]) must not be 0 at model.py
  call it with another size, or divide by max_dim(n, 1)"""
)
def division_by_a_size_of_zero():
    trace(lambda x: x * (6 // x.shape[0]))(ShapeDtypeStruct("n"))(ones(0))


@mistake(
    """1.0 / x: divide by zero encountered in divide at model.py
  mask such elements with np.where, or let np.errstate ignore them"""
)
def floating_point():
    with np.errstate(divide="raise"):
        jit(lambda x: 1.0 / x)(np.zeros(3))


@mistake(
    """x.max(): x.shape[0] (0) must be at least 1 at model.py
  make x.shape[0] at least 1"""
)
def empty_reduction():
    jit(lambda x: x.max())(ones(0))


@mistake(
    """anp.zeros(x.shape[0] - 5): x.shape[0] - 5 (-2) must be at least 0 at model.py
  make x.shape[0] at least 5"""
)
def negative_size():
    jit(lambda x: anp.zeros(x.shape[0] - 5) + 1.0)(ones(3))


@mistake(
    """pure_callback(lambda a: a[:1], x, x): <lambda> gave the shape (1,), not float64[3] as was declared at model.py
  declare the shape that it gives"""
)
def callback_with_a_wrong_result():
    jit(lambda x: pure_callback(lambda a: a[:1], x, x))(ones(3))


@mistake(
    """whole batches are needed: x.shape[0] (6) must be divisible by 4 at model.py
  pass arguments that satisfy this check"""
)
def check_of_sizes():
    def batches(x):
        check(lambda: x.shape[0] % 4 == 0, "whole batches are needed")
        return x

    jit(batches)(ones(6))


@mistake(
    """x must be positive: 3 of 3 elements that are False, the first at [0] at model.py
  pass arguments that satisfy this check"""
)
def check_of_values():
    def root(x):
        check(x > 0, "x must be positive")
        return np.sqrt(x)

    jit(root)(-ones(3))


@mistake(
    """<lambda>: the arguments have the structure ({'v': *}, x), not ({'w': *}, x)
  pass arguments as they were traced"""
)
def pytree():
    program = trace(lambda p, x: p["w"] * x)({"w": ShapeDtypeStruct("n")}, ShapeDtypeStruct("n"))
    program({"v": ones(3)}, ones(3))


@mistake(
    """<lambda>: p['w'] is float64 with 2 axes, not f64[n]
  convert it, or trace again for this dtype and rank"""
)
def rank_of_an_argument():
    program = trace(lambda p, x: p["w"] * x)({"w": ShapeDtypeStruct("n")}, ShapeDtypeStruct("n"))
    program({"w": ones(3, 3)}, ones(3))


@mistake(
    """loss.anyshape: is not a saved program, or is truncated: File is not a zip file
  save the program again, or get another copy of the file"""
)
def damaged_file():
    file = io.BytesIO(b"no program")
    file.name = "loss.anyshape"
    load(file)


@mistake(
    """matmul: x.shape[1] (3) must equal p['w'].shape[0] (2) at model.py
  make p['w'].shape[0] 3, or x.shape[1] 2"""
)
def saved_program_at_a_call():
    file = io.BytesIO()
    trace(lambda x, p: x @ p["w"])(ones(4, 3), {"w": ones(3, 5)}).save(file)
    file.seek(0)
    load(file)(ones(4, 3), {"w": ones(2, 5)})
