"""Functions of unit quaternions with the scalar last: products, and the other forms of rotations.

Each is smooth where the form is. Near a rotation by 0, series stand for quotients of small numbers.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy.linalg.functions import sqrtm

SMALL = 1e-6  # of squared lengths: the series are exact to double precision below it


def root(x: Any) -> Any:
    """Return a square root whose derivative at 0 is 0."""
    return xp.where(x == 0, 0.0, xp.sqrt(xp.where(x == 0, 1.0, x)))


def _square(v: Any) -> Any:
    return xp.sum(v * v, axis=-1, keepdims=True)


def multiply(p: Any, q: Any) -> Any:
    """Return the quaternions of rotations by q and then by p."""
    pv, pw, qv, qw = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    vector = pw * qv + qw * pv + xp.cross(pv, qv)
    return xp.concatenate([vector, pw * qw - xp.sum(pv * qv, axis=-1, keepdims=True)], axis=-1)


def conjugate(q: Any) -> Any:
    """Return the quaternions of the inverse rotations."""
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def turned(q: Any) -> Any:
    """Return the quaternions with a scalar that is not negative."""
    return xp.where(q[..., 3:] < 0, -q, q)


def to_matrix(q: Any) -> Any:
    """Return the matrices of rotations."""
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)


def orthogonal(m: Any) -> Any:
    """Return the nearest orthogonal matrices, m (m^T m)**(-1 / 2)."""
    return m @ xp.linalg.inv(sqrtm(xp.matrix_transpose(m) @ m))


def from_matrix(m: Any) -> Any:
    """Return the quaternions of orthogonal matrices, by the largest of four sums of the diagonal (Shepperd, 1978)."""
    at = lambda i, j: m[..., i, j]
    trace = at(0, 0) + at(1, 1) + at(2, 2)
    candidates = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        parts = [trace, trace, trace, at(k, j) - at(j, k)]
        parts[i], parts[j], parts[k] = 1 - trace + 2 * at(i, i), at(j, i) + at(i, j), at(k, i) + at(i, k)
        candidates.append(xp.stack(parts, axis=-1))
    last = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1), 1 + trace]
    candidates.append(xp.stack(last, axis=-1))
    choice = xp.argmax(xp.stack([at(0, 0), at(1, 1), at(2, 2), trace], axis=-1), axis=-1)
    q = xp.stack(candidates, axis=-2)
    q = xp.take_along_axis(q, choice[..., None, None], axis=-2)[..., 0, :]
    return q / xp.sqrt(_square(q))


def from_rotvec(v: Any) -> Any:
    """Return the quaternions of rotations about the direction of v by its length."""
    square = _square(v)
    is_small = square < SMALL
    angle = xp.sqrt(xp.where(is_small, 1.0, square))
    series = 0.5 - square / 48 + square**2 / 3840
    scale = xp.where(is_small, series, xp.sin(angle / 2) / angle)
    scalar = xp.where(is_small, 1 - square / 8 + square**2 / 384, xp.cos(angle / 2))
    return xp.concatenate([scale * v, scalar], axis=-1)


def to_rotvec(q: Any) -> Any:
    """Return vectors of rotation of a length up to pi."""
    q = turned(q)
    vector, scalar = q[..., :3], q[..., 3:]
    square = _square(vector)
    is_small = square < SMALL
    length = xp.sqrt(xp.where(is_small, 1.0, square))
    series = 2 + square / 3 + 3 / 20 * square**2 + 5 / 56 * square**3
    return xp.where(is_small, series, 2 * xp.arctan2(length, scalar) / length) * vector


def from_mrp(m: Any) -> Any:
    """Return the quaternions of modified Rodrigues parameters."""
    square = _square(m)
    return xp.concatenate([2 * m, 1 - square], axis=-1) / (1 + square)


def to_mrp(q: Any) -> Any:
    """Return modified Rodrigues parameters of a length up to 1."""
    q = turned(q)
    return q[..., :3] / (1 + q[..., 3:])


def from_euler(axes: list[int], angles: Any, intrinsic: bool) -> Any:
    """Return the quaternions of rotations about axes, one after the other, for angles along the last axis."""
    total = None
    for position, axis in enumerate(axes):
        half = angles[..., position] / 2
        parts = [xp.zeros_like(half)] * 3 + [xp.cos(half)]
        parts[axis] = xp.sin(half)
        q = xp.stack(parts, axis=-1)
        total = q if total is None else multiply(total, q) if intrinsic else multiply(q, total)
    return total


def to_euler(q: Any, axes: list[int], intrinsic: bool) -> Any:
    """Return three angles of rotations about axes (Bernardes and Viollet, 2022); one is 0 where two axes coincide."""
    i, j, k = axes[::-1] if intrinsic else axes
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x = [q[..., n] for n in range(4)]
    if is_symmetric:
        a, b, c, d = x[3], x[i], x[j], x[k] * sign
    else:
        a, b, c, d = x[3] - x[j], x[i] + x[k] * sign, x[j] + x[3], x[k] * sign - x[i]
    middle = 2 * xp.arctan2(root(c * c + d * d), root(a * a + b * b))
    is_low, is_high = xp.abs(middle) <= 1e-7, xp.abs(middle - pi) <= 1e-7
    total, difference = xp.arctan2(b, a), xp.arctan2(d, c)
    before, after = total - difference, total + difference
    first, third = (after, before) if intrinsic else (before, after)
    locked = xp.where(is_low, 2 * total, 2 * difference * (1 if intrinsic else -1))
    first = xp.where(is_low | is_high, locked, first)
    third = xp.where(is_low | is_high, 0.0, third)
    if not is_symmetric:
        first, third = (first * sign, third) if intrinsic else (first, third * sign)
        middle = middle - pi / 2
    angles = xp.stack([first, middle, third], axis=-1)
    return angles - 2 * pi * xp.rint(angles / (2 * pi))
