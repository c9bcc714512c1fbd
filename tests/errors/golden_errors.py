"""Mistakes in sizes and axes, each with the whole message that it gets."""

# ruff: noqa: E501 (messages are whole)

import numpy as np

from anyshape import DYNAMIC, ShapeDtypeStruct, jit, symbolic_args_specs, symbolic_shape, trace
from tests.errors.mistakes import mistake, ones

# -- products ----------------------------------------------------------------------------------------------------


@mistake(
    """x @ w: x.shape[1] (3) must equal w.shape[0] (2) at model.py
  make w.shape[0] 3, or x.shape[1] 2"""
)
def matmul():
    jit(lambda x, w: x @ w)(ones(4, 3), ones(2, 5))


@mistake(
    """x @ p['w']: x.shape[1] (3) must equal p['w'].shape[0] (2) at model.py
  make p['w'].shape[0] 3, or x.shape[1] 2"""
)
def matmul_of_a_parameter_in_a_dict():
    def model(p, x):
        return x @ p["w"] + p["b"]

    jit(model)({"w": ones(2, 5), "b": ones(5)}, ones(4, 3))


@mistake(
    """x @ w: x.shape[1] (3) must equal w.shape[0] (2) at model.py
  make w.shape[0] 3, or x.shape[1] 2"""
)
def matmul_at_a_later_call():
    f = jit(lambda x, w: x @ w)
    f(ones(4, 3), ones(3, 5))
    f(ones(4, 3), ones(2, 5))


@mistake(
    """x @ weights: x.shape[1] (3) must equal weights.shape[0] (2) at model.py
  make weights.shape[0] 3, or x.shape[1] 2"""
)
def matmul_with_an_array_that_is_closed_over():
    weights = ones(2, 5)
    jit(lambda x: x @ weights)(ones(4, 3))


@mistake(
    """np.concatenate([x, x, np.ones(1)]) @ w: 2*x.shape[0] + 1 (7) must equal w.shape[0] (6) at model.py
  make w.shape[0] 7"""
)
def matmul_of_a_derived_size():
    jit(lambda x, w: np.concatenate([x, x, np.ones(1)]) @ w)(ones(3), ones(6))


@mistake(
    """x @ w: x.shape[1] (4) must equal w.shape[0] (5) at model.py
  make w.shape[0] 4, or x.shape[1] 5"""
)
def matmul_of_fixed_sizes():
    trace(lambda x, w: x @ w)(ShapeDtypeStruct("n, 4"), ShapeDtypeStruct("5, m"))


@mistake(
    """x @ w: d (3, from x.shape[1]) must equal e (2, from w.shape[0]) at model.py
  make w.shape[0] 3, or x.shape[1] 2"""
)
def matmul_of_declared_sizes_at_a_call():
    program = trace(lambda x, w: x @ w)(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("e, m"))
    program(ones(4, 3), ones(2, 5))


@mistake(
    """np.dot(a, b): a.shape[0] (3) must equal b.shape[0] (4) at model.py
  make b.shape[0] 3, or a.shape[0] 4"""
)
def dot():
    jit(lambda a, b: np.dot(a, b))(ones(3), ones(4))


@mistake(
    """np.tensordot(a, b, axes=([0], [1])): a.shape[0] (3) must equal b.shape[1] (4) at model.py
  make b.shape[1] 3, or a.shape[0] 4"""
)
def tensordot():
    jit(lambda a, b: np.tensordot(a, b, axes=([0], [1])))(ones(3, 2), ones(3, 4))


@mistake(
    """np.einsum('ij,jk->ik', a, b): a.shape[1] (3) must equal b.shape[0] (4), or one of them must be 1 at model.py
  make b.shape[0] 3 or 1"""
)
def einsum():
    jit(lambda a, b: np.einsum("ij,jk->ik", a, b))(ones(2, 3), ones(4, 5))


@mistake(
    """x @ x.sum(): an operand is a scalar at model.py
  write * for a product with a scalar"""
)
def matmul_of_a_scalar():
    jit(lambda x: x @ x.sum())(ones(3))


# -- broadcasting ------------------------------------------------------------------------------------------------


@mistake(
    """x + y: x.shape[0] (3) must equal y.shape[0] (4), or one of them must be 1 at model.py
  make y.shape[0] 3 or 1"""
)
def addition():
    jit(lambda x, y: x + y)(ones(3), ones(4))


@mistake(
    """x * p['scale'] + p['b']: broadcast(p['scale'].shape[0], x.shape[1]) (3) must equal p['b'].shape[0] (4), or one of them must be 1 at model.py
  make p['b'].shape[0] 3 or 1"""
)
def addition_of_a_bias_at_a_later_call():
    def layer(p, x):
        return x * p["scale"] + p["b"]

    f = jit(layer)
    f({"scale": ones(3), "b": ones(3)}, ones(2, 3))
    f({"scale": ones(3), "b": ones(4)}, ones(2, 3))


@mistake(
    """np.where(x > 0, x, y): x.shape[0] (3) must equal y.shape[0] (4), or one of them must be 1 at model.py
  make y.shape[0] 3 or 1"""
)
def where():
    jit(lambda x, y: np.where(x > 0, x, y))(ones(3), ones(4))


@mistake(
    """x < y: x.shape[0] (3) must equal y.shape[0] (4), or one of them must be 1 at model.py
  make y.shape[0] 3 or 1"""
)
def comparison():
    jit(lambda x, y: x < y)(ones(3), ones(4))


@mistake(
    """np.broadcast_to(x, (2, 4)): x.shape[0] (3) must be 1 or equal 4 at model.py
  make x.shape[0] 4 or 1"""
)
def broadcast_to():
    jit(lambda x: np.broadcast_to(x, (2, 4)))(ones(3))


@mistake(
    """a * b: max(x.shape[0] - 1, 0) (3) must equal y.shape[0] (5), or one of them must be 1 \
at model.py, called at model.py
  make y.shape[0] 3 or 1"""
)
def helper_function():
    def scaled(a, b):
        return a * b

    jit(lambda x, y: scaled(x[1:], y))(ones(4), ones(5))


# -- reshape -----------------------------------------------------------------------------------------------------


@mistake(
    """x.reshape(2, 2): x.shape[0] (3) must equal 4 at model.py
  make x.shape[0] 4"""
)
def reshape():
    jit(lambda x: x.reshape(2, 2))(ones(3))


@mistake(
    """x.reshape(4, -1): x.shape[0]*x.shape[1] (9) must be divisible by 4 at model.py
  make x.shape[0]*x.shape[1] a multiple of 4, such as 8 or 12"""
)
def reshape_with_minus_one():
    jit(lambda x: x.reshape(4, -1))(ones(3, 3))


@mistake(
    """x.reshape(2, 2): cannot reshape (3,) to (2, 2) at model.py
  pass a shape of 3 elements: (2, 2) has 4"""
)
def reshape_of_a_fixed_shape():
    trace(lambda x: x.reshape(2, 2))(ShapeDtypeStruct("3"))


@mistake(
    """x.reshape(1.5, 2): 1.5 is not an integer at model.py
  pass an int or an entry of x.shape"""
)
def reshape_to_a_float():
    jit(lambda x: x.reshape(1.5, 2))(ones(3))


@mistake(
    """np.squeeze(x, 0): x.shape[0] (2) must equal 1 at model.py
  make x.shape[0] 1"""
)
def squeeze():
    jit(lambda x: np.squeeze(x, 0))(ones(2, 3))


@mistake(
    """np.split(x, 2): x.shape[0] (5) must be divisible by 2 at model.py
  make x.shape[0] a multiple of 2, such as 4 or 6"""
)
def split():
    jit(lambda x: np.split(x, 2)[0])(ones(5))


# -- joining -----------------------------------------------------------------------------------------------------


@mistake(
    """np.concatenate([x, y]): x.shape[1] (3) must equal y.shape[1] (2) at model.py
  make y.shape[1] 3, or x.shape[1] 2"""
)
def concatenate():
    jit(lambda x, y: np.concatenate([x, y]))(ones(2, 3), ones(2, 2))


@mistake(
    """np.concatenate([x, y]): all arrays must have the same number of axes, and they have 2 and 1 at model.py
  add axes with x[None]"""
)
def concatenate_of_ranks():
    jit(lambda x, y: np.concatenate([x, y]))(ones(2, 3), ones(3))


@mistake(
    """np.stack([x, y]): x.shape[0] (3) must equal y.shape[0] (4) at model.py
  make y.shape[0] 3, or x.shape[0] 4"""
)
def stack():
    jit(lambda x, y: np.stack([x, y]))(ones(3), ones(4))


# -- axes and indices --------------------------------------------------------------------------------------------


@mistake(
    """x.sum(2): axis 2 is out of bounds for array of dimension 2 at model.py
  name an axis from -2 to 1"""
)
def axis():
    jit(lambda x: x.sum(2))(ones(2, 3))


@mistake(
    """x.sum((0, 0)): axis (0, 0) names an axis twice at model.py
  name each axis once"""
)
def axis_named_twice():
    jit(lambda x: x.sum((0, 0)))(ones(2, 3))


@mistake(
    """x[10]: x.shape[0] (3) must be at least 11 at model.py
  make x.shape[0] at least 11"""
)
def index():
    jit(lambda x: x[10])(ones(3))


@mistake(
    """x[10]: x.shape[0] (3) must be at least 11 at model.py
  make x.shape[0] at least 11"""
)
def index_at_a_later_call():
    f = jit(lambda x: x[10])
    f(ones(11))
    f(ones(3))


@mistake(
    """x[0, 1]: 2 indices for an array with 1 axis at model.py
  give at most 1"""
)
def too_many_indices():
    jit(lambda x: x[0, 1])(ones(3))


@mistake(
    """x[i]: an index is float64, not an integer at model.py
  convert it to integers with astype(int)"""
)
def index_of_floats():
    jit(lambda x, i: x[i])(ones(3), ones(2))


@mistake(
    """x[i]: index 7 is out of bounds for axis 0 with size 5 at model.py
  keep indices within the axis, or choose mode='clip', mode='fill' or mode='drop'"""
)
def index_out_of_range_at_run_time():
    jit(lambda x, i: x[i])(ones(5), np.array([1, 7]))


@mistake(
    """np.take(x, i): index 7 is out of bounds for axis 0 with size 5 at model.py
  keep indices within the axis, or choose mode='clip', mode='fill' or mode='drop'"""
)
def take_out_of_range_at_run_time():
    jit(lambda x, i: np.take(x, i))(ones(5), np.array([1, 7]))


@mistake(
    """x[m]: x.shape[0] (3) must equal m.shape[0] (2) at model.py
  make m.shape[0] 3, or x.shape[0] 2"""
)
def mask():
    jit(lambda x, m: x[m])(ones(3), np.array([True, False]))


@mistake(
    """x[::x.shape[0] - 3]: x.shape[0] - 3 (0) must not be 0 at model.py
  change x.shape[0]"""
)
def slice_step():
    jit(lambda x: x[:: x.shape[0] - 3])(ones(3))


@mistake(
    """x.at[2].add(v): an array of 2 axes cannot be broadcast to 0 axes at model.py
  drop axes first, as with x[0]"""
)
def update():
    jit(lambda x, v: x.at[2].add(v))(ones(3), ones(2, 2))


# -- declared shapes ---------------------------------------------------------------------------------------------


@mistake(
    """<lambda>: y.shape[0] = 4 does not fit n (n = 3 from x.shape[0])
  make it 3, or change x.shape[0]"""
)
def size_declared_twice():
    jit(lambda x, y: x, dynamic_shapes={"x": "n", "y": "n"})(ones(3), ones(4))


@mistake(
    """<lambda>: x.shape[0] = 3 does not fit 2*n: remainder 1
  make it a size without a remainder, such as 2 or 4"""
)
def size_with_a_remainder():
    trace(lambda x: x)(ShapeDtypeStruct("2*n"))(ones(3))


@mistake(
    """symbolic_args_specs(...): a (3, from x.shape[0]) must be at least b (4, from y.shape[0]) at model.py
  make x.shape[0] at least 4"""
)
def constraint_of_a_call():
    x, y = symbolic_args_specs((ones(3), ones(4)), ("a", "b"), constraints=["a >= b"])
    trace(lambda x, y: x.sum() + y.sum())(x, y)(ones(3), ones(4))


@mistake(
    """'n, , 3': a size is missing
  n, , 3
     ^
  write sizes as in "n, 2*m, (n + 1)//2, 3", with + - * // % ** max() min() ceildiv() broadcast()"""
)
def spec_syntax():
    trace(lambda x: x)(ShapeDtypeStruct("n, , 3"))


@mistake(
    """'m >= n': contradicts n >= m + 8 at model.py
  drop or weaken one of these constraints"""
)
def contradiction():
    symbolic_shape("n, m", constraints=["n >= m + 8", "m >= n"])


@mistake(
    """'a + b': the sizes of the inputs do not determine a: only a + b mentions it (a = 0, b = 1 and a = 1, b = 0 look alike)
  give some input an axis of size a alone, or pass it as an integer: ShapeDtypeStruct((), int, value='a')"""
)
def size_that_no_input_gives():
    trace(lambda x: x)(ShapeDtypeStruct("a + b"))


@mistake(
    """len(x): x.shape[0] was declared dynamic, and is inferred to be the constant 3 (int(x.shape[0]) with x.shape[0]=3) at model.py
  write the code for every size, or declare the size AUTO or STATIC to have a program for each case"""
)
def dynamic_size_that_is_bound():
    jit(lambda x: x * len(x), dynamic_shapes={"x": (DYNAMIC,)})(ones(3))


@mistake(
    """x.shape[0] > 3: n > 3 is neither true nor false for every size (n=0: False; n=4: True) at model.py
  use jit, which keeps a program for each answer, or write the choice with np.where, max_dim or min_dim"""
)
def decision_of_a_trace():
    trace(lambda x: x * 2 if x.shape[0] > 3 else x)(ShapeDtypeStruct("n"))


@mistake(
    """x.shape[0] > 3: the program was traced for x.shape[0] > 3, and it was called with x.shape[0] = 2 at model.py
  trace it again for such sizes, or use jit, which keeps a program for each case"""
)
def decision_of_another_path():
    f = jit(lambda x: x * 2 if x.shape[0] > 3 else x)
    f(ones(5))
    f.programs()[0](ones(2))
