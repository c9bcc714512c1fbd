"""Loops in plain Python, with the names and arguments that the library has."""

import numpy as np
import optree


def scan(f, init, xs=None, length=None, reverse=False):
    leaves, tree = optree.tree_flatten(xs)
    count, ys, carry = len(leaves[0]) if leaves else length, [], init
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = f(carry, optree.tree_unflatten(tree, [x[i] for x in leaves]))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, optree.tree_map(lambda *parts: np.stack(parts), *ys) if ys else None


def while_loop(cond_fun, body_fun, val):
    while cond_fun(val):
        val = body_fun(val)
    return val


def fori_loop(lower, upper, body_fun, val):
    for i in range(lower, upper):
        val = body_fun(i, val)
    return val


def cond(pred, first, second, *operands):
    return first(*operands) if pred else second(*operands)


def map(f, xs):
    return np.stack([f(x) for x in xs])


def checkpoint(f):
    return f
