"""Define rotations of `scipy.spatial.transform` whose quaternions may be traced, and interpolation between them.

Functions of unit quaternions with the scalar last: products, and the other forms of rotations.

Each is smooth where the form is. Near a rotation by 0, series stand for quotients of small numbers.
"""

from __future__ import annotations

import itertools
from math import pi
from typing import Any, Self

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg import sqrtm
from anyshape.scipy.operands.conversion import FixedAttributes
from anyshape.support.packages import scipy_transform
from anyshape.tracing.pytrees import register_class
from anyshape.transforms.control import check


def _reals(x):
    return xp.asarray(x).astype(np.float64)


def _require_last(name: str, x, count: int) -> None:
    """Demand an axis of this many components."""
    ctx = context_of(name, x)
    if x.ndim == 0:
        raise ctx.fail("the argument is a number", f"pass an array whose last axis has {count} elements")
    ctx.require_equal(sizes(x)[-1], count, f"the last axis has {count} elements")


def _axes(name: str, seq) -> tuple[list[int], bool]:
    """Return the axes of a sequence of letters, and whether they turn with the body."""
    text = str(seq)
    if not 1 <= len(text) <= 3 or not (set(text) <= set("xyz") or set(text) <= set("XYZ")):
        raise ArgumentError(name, f"seq={seq!r}", "is not a sequence of axes", "write 1 to 3 of 'xyz', or of 'XYZ'")
    if any(a == b for a, b in itertools.pairwise(text)):
        raise ArgumentError(name, f"seq={seq!r}", "repeats an axis", "name different axes one after the other")
    return ["xyz".index(c) for c in text.lower()], text.isupper()


class Rotation(FixedAttributes):
    """Rotation, or array of rotations, as unit quaternions with the scalar last. It is a tree of them.

    Traced functions take and return rotations. Concrete ones have all that SciPy's have. A quaternion of length 0
    raises CheckError when the program runs.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy.spatial.transform import Rotation
    >>> turned = lambda angle: Rotation.from_euler("z", angle).apply([1.0, 0.0, 0.0])[1]
    >>> print(grad(turned)(0.0))
    1.0
    """

    def __init__(self, quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False) -> None:
        q = _reals(quat)
        _require_last("Rotation", q, 4)
        if scalar_first:
            q = xp.roll(q, -1, axis=-1)
        if normalize:
            square = xp.sum(q * q, axis=-1, keepdims=True)
            check(xp.all(square > 0), "Rotation: a quaternion has the length 0")
            q = q / xp.sqrt(square)
        self.quat = q

    @classmethod
    def made_by(cls, theirs: Any) -> Self:
        """Return the rotation of an object of SciPy's."""
        return cls(theirs.as_quat(), normalize=False)

    def __getattr__(self, name: str) -> Any:
        """Return a further member of SciPy's rotation for concrete quaternions."""
        if name.startswith("_") or name == "quat" or not hasattr(scipy_transform.Rotation, name):
            raise AttributeError(f"a rotation has no attribute {name!r}", name=name, obj=self)
        if is_traced(self.quat):
            raise refuse(f"scipy.spatial.transform.Rotation.{name}")
        return getattr(scipy_transform.Rotation.from_quat(self.quat), name)

    @classmethod
    def from_quat(cls, quat: Any, *, scalar_first: bool = False) -> Rotation:
        """Return the rotations of quaternions of shape (..., 4), which are normalised."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def _of(cls, q) -> Rotation:
        return cls(q, normalize=False)

    @classmethod
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Rotation:
        """Return the rotations of matrices of shape (..., 3, 3); unless assumed valid, the nearest orthogonal ones."""
        m = _reals(matrix)
        _require_last("Rotation.from_matrix", m, 3)
        if not assume_valid:
            check(xp.all(xp.linalg.det(m) > 0), "Rotation.from_matrix: a determinant is not positive")
            m = orthogonal(m)
        return cls._of(from_matrix(m))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Return the rotations about vectors of shape (..., 3) by their length."""
        v = _reals(rotvec)
        _require_last("Rotation.from_rotvec", v, 3)
        return cls._of(from_rotvec(v * (pi / 180) if degrees else v))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Return the rotations of modified Rodrigues parameters of shape (..., 3)."""
        m = _reals(mrp)
        _require_last("Rotation.from_mrp", m, 3)
        return cls._of(from_mrp(m))

    @classmethod
    def from_euler(cls, seq: Any, angles: Any, degrees: bool = False) -> Rotation:
        """Return the rotations about axes, one after the other: fixed ones "xyz", or "XYZ" that turn with the body.

        Angles have the shape (..., number of axes), or are a number for one axis.
        """
        axes, intrinsic = _axes("Rotation.from_euler", seq)
        angle = _reals(angles)
        angle = angle * (pi / 180) if degrees else angle
        if len(axes) == 1 and angle.ndim == 0:
            angle = angle[None]
        _require_last("Rotation.from_euler", angle, len(axes))
        return cls._of(from_euler(axes, angle, intrinsic))

    @classmethod
    def identity(cls, num: Any = None) -> Rotation:
        """Return a rotation by 0, or so many of them."""
        one = np.array([0.0, 0.0, 0.0, 1.0])
        return cls._of(one if num is None else xp.broadcast_to(one, (num, 4)))

    @classmethod
    def random(cls, num: Any = None, rng: Any = None) -> Rotation:
        """Return concrete random rotations, drawn by SciPy."""
        return cls._of(scipy_transform.Rotation.random(num, rng).as_quat())

    @classmethod
    def concatenate(cls, rotations: Any) -> Rotation:
        """Return the rotations of several ones, one after the other."""
        parts = [rotations] if isinstance(rotations, Rotation) else rotations
        return cls._of(xp.concatenate([xp.reshape(r.quat, (-1, 4)) for r in map(_own, parts)]))

    @property
    def single(self) -> bool:
        """True for one rotation, False for an array of them."""
        return bool(self.quat.ndim == 1)

    @property
    def shape(self) -> Any:
        """Shape of an array of rotations."""
        return self.quat.shape[:-1]

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return len(self.quat)

    def __getitem__(self, index: Any) -> Rotation:
        """Return rotations of an array."""
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation._of(self.quat[index])

    def __mul__(self, other: Any) -> Rotation:
        """Return the rotations by `other` and then by this one; arrays broadcast."""
        return Rotation._of(multiply(*xp.broadcast_arrays(self.quat, _own(other).quat)))

    def __rmul__(self, other: Any) -> Rotation:
        return _own(other) * self

    def __pow__(self, n: Any) -> Rotation:
        """Return the rotations about the same axes by n times the angle, for a number n."""
        return Rotation.from_rotvec(self.as_rotvec() * xp.asarray(n)[..., None])

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Return the quaternions; canonical ones have a scalar that is not negative."""
        q = turned(self.quat) if canonical else self.quat
        return xp.roll(q, 1, axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return the matrices, of shape (..., 3, 3)."""
        x, y, z, w = (self.quat[..., k] for k in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return vectors in the direction of the axis with the length of the angle, up to pi."""
        q = turned(self.quat)
        vector, scalar = q[..., :3], q[..., 3:]
        square = _square(vector)
        is_small = square < SMALL
        length = xp.sqrt(xp.where(is_small, 1.0, square))
        series = 2 + square / 3 + 3 / 20 * square**2 + 5 / 56 * square**3
        v = xp.where(is_small, series, 2 * xp.arctan2(length, scalar) / length) * vector
        return v * (180 / pi) if degrees else v

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters of a length up to 1."""
        q = turned(self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_euler(self, seq: Any, degrees: bool = False) -> Any:
        """Return three angles of rotations about axes; see `from_euler`. Where two axes coincide the third is 0."""
        axes, intrinsic = _axes("Rotation.as_euler", seq)
        if len(axes) != 3:
            raise ArgumentError("Rotation.as_euler", f"seq={seq!r}", "does not name 3 axes", "write three letters")
        angles = to_euler(self.quat, axes, intrinsic)
        return angles * (180 / pi) if degrees else angles

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return rotated vectors of shape (..., 3); arrays of rotations and of vectors broadcast."""
        v, matrix = _reals(vectors), self.as_matrix()
        _require_last("Rotation.apply", v, 3)
        matrix = xp.matrix_transpose(matrix) if inverse else matrix
        return xp.sum(matrix * v[..., None, :], axis=-1)

    def inv(self) -> Rotation:
        """Return the inverse rotations."""
        return Rotation._of(conjugate(self.quat))

    def magnitude(self) -> Any:
        """Return the angles of rotations, from 0 to pi."""
        length = root(xp.sum(self.quat[..., :3] ** 2, axis=-1))
        return 2 * xp.arctan2(length, xp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """Return the mean of rotations, which may have weights: the eigenvector of most weight of their quaternions."""
        q = xp.reshape(self.quat, (-1, 4))
        w = xp.ones(q.shape[0]) if weights is None else _reals(weights)
        return Rotation._of(xp.linalg.eigh((q * w[:, None]).T @ q)[1][:, -1])

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self.quat!r})"


def _own(rotation) -> Rotation:
    """Return a rotation of this class for one of SciPy's too."""
    return rotation if isinstance(rotation, Rotation) else Rotation._of(rotation.as_quat())


register_class(Rotation, lambda r: ((r.quat,), None), lambda _, parts: Rotation._of(parts[0]))


class Slerp:
    """Interpolant of rotations at times, which turns about one axis at constant speed between two of them.

    Times are a vector in ascending order. A time outside of them raises CheckError when the program runs.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> from anyshape.scipy.spatial.transform import Rotation, Slerp
    >>> turned = jit(lambda turns, t: Slerp([0, 1], Rotation.from_rotvec(turns))(t).as_rotvec())
    >>> print(turned(np.array([[0.0, 0, 0], [0, 0, 1.2]]), 0.25).round(6))
    [0.  0.  0.3]
    """

    def __init__(self, times: Any, rotations: Any) -> None:
        self.rotations, self.times = _own(rotations), _reals(times)
        if self.rotations.single:
            raise ArgumentError("Slerp", "rotations", "is a single rotation", "pass an array of rotations")
        self.steps: Any = self.times[1:] - self.times[:-1]
        check(xp.all(self.steps > 0), "Slerp: times must be strictly increasing")
        self.turns: Any = (self.rotations[:-1].inv() * self.rotations[1:]).as_rotvec()

    def __call__(self, times: Any) -> Rotation:
        """Return the rotations at times."""
        t = _reals(times)
        check(xp.all((t >= self.times[0]) & (t <= self.times[-1])), "Slerp: a time is outside of the interpolant")
        piece = xp.maximum(xp.searchsorted(self.times, t) - 1, 0)
        share = (t - self.times[piece]) / self.steps[piece]
        return self.rotations[piece] * Rotation.from_rotvec(self.turns[piece] * share[..., None])


SMALL = 1e-6  # of squared lengths: the series are exact to double precision below it


def root(x: Any) -> Any:
    """Return a square root whose derivative at 0 is 0."""
    return xp.where(x == 0, 0.0, xp.sqrt(xp.where(x == 0, 1.0, x)))


def _square(v):
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


def from_mrp(m: Any) -> Any:
    """Return the quaternions of modified Rodrigues parameters."""
    square = _square(m)
    return xp.concatenate([2 * m, 1 - square], axis=-1) / (1 + square)


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
