"""Derivatives of functions of matrices: N. J. Higham, "Functions of Matrices", 2008, theorems 3.1 and 3.6."""

from anyshape.autodiff.rule_tables import JVPS, TRANSPOSES, add_tangents, lines, no_shift, stacks
from anyshape.autodiff.rules.linalg import product, swapped
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import elementwise as ew
from anyshape.ops import matrix_functions as mf
from anyshape.ops import movement as mv
from anyshape.ops.creation import full


def _blocks(ctx, diagonal, upper):
    """Return the matrices [[diagonal, upper], [0, diagonal]]."""
    axis = ctx.rank(diagonal) - 2
    zeros = full(ctx.shape(diagonal), 0, diagonal.dtype)
    above = mv.concatenate([diagonal, upper], axis + 1)
    return mv.concatenate([above, mv.concatenate([zeros, diagonal], axis + 1)], axis)


def _upper_right(ctx, x, shape):
    """Return the last columns of the first rows of matrices, in the given shape."""
    return mv.slice(x, (*[0] * (len(shape) - 1), shape[-1]), shape)


def _function_jvp(ctx, tangents, out, a, *, function):
    return mf.matrix_function_derivative(a, tangents[0], function)


def _derivative_jvp(ctx, tangents, out, a, e, *, function):
    """Return the second derivative, symmetric in its directions, as a block of the first one at [[a, e], [0, a]]."""
    of_matrix, of_direction = tangents
    total = None if of_direction is None else mf.matrix_function_derivative(a, of_direction, function)
    if of_matrix is None:
        return total
    zeros = full(ctx.shape(e), 0, e.dtype)
    both = mf.matrix_function_derivative(_blocks(ctx, a, e), _blocks(ctx, of_matrix, zeros), function)
    return add_tangents(total, _upper_right(ctx, both, ctx.shape(out)))


def _derivative_back(ctx, ct, a, e, *, function):
    return None, swapped(ctx, mf.matrix_function_derivative(a, swapped(ctx, ct), function))


def _sylvester_jvp(ctx, tangents, out, a, b, q):
    of_a, of_b, change = tangents
    for moved in (
        None if of_a is None else product(ctx, of_a, out),
        None if of_b is None else product(ctx, out, of_b),
    ):
        change = change if moved is None else add_tangents(change, ew.neg(moved))
    return mf.sylvester(a, b, change)


def no_derivative(name, advice="use eig or eigh, or give it stop_gradient(a)"):
    """Return the rule of a decomposition whose factors are not smooth."""

    def jvp(ctx, tangents, out, *operands, **params):
        raise UnsupportedFunctionError(name, "has no derivative", advice, ctx.where)

    return jvp


JVPS[mf.matrix_function_op] = _function_jvp
JVPS[mf.matrix_function_derivative_op] = _derivative_jvp
TRANSPOSES[mf.matrix_function_derivative_op] = _derivative_back
JVPS[mf.sylvester_op] = _sylvester_jvp
TRANSPOSES[mf.sylvester_op] = lambda ctx, ct, a, b, q: (None, None, mf.sylvester(swapped(ctx, a), swapped(ctx, b), ct))
JVPS[mf.schur_op] = no_derivative("schur")
JVPS[mf.hessenberg_op] = no_derivative("hessenberg")

# -- zeros by construction

lines(stacks, mf.matrix_function_op, mf.matrix_function_derivative_op, mf.sylvester_op, mf.schur_op, mf.hessenberg_op)

# -- shifts of operands

no_shift(mf.matrix_function_op, mf.matrix_function_derivative_op, mf.sylvester_op, mf.schur_op, mf.hessenberg_op)
