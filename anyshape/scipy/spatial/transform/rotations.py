"""Define rotations of `scipy.spatial.transform` whose quaternions may be traced, and interpolation between them."""

from __future__ import annotations

import itertools
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import refuse
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.ops.core.apply import context_of
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.scipy.spatial.transform import quaternions as qn
from anyshape.support.packages import scipy_transform
from anyshape.tracing.tree_nodes import register_class
from anyshape.transforms.control import check


def _reals(x: Any) -> Any:
    return xp.asarray(x).astype(np.float64)


def _require_last(name: str, x: Any, count: int) -> None:
    """Demand an axis of this many components."""
    ctx = context_of(name, x)
    if x.ndim == 0:
        raise ctx.fail("the argument is a number", f"pass an array whose last axis has {count} elements")
    ctx.require_equal(sizes(x)[-1], count, f"the last axis has {count} elements")


def _axes(name: str, seq: Any) -> tuple[list[int], bool]:
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
    def _of(cls, q: Any) -> Rotation:
        return cls(q, normalize=False)

    @classmethod
    def from_matrix(cls, matrix: Any, *, assume_valid: bool = False) -> Rotation:
        """Return the rotations of matrices of shape (..., 3, 3); unless assumed valid, the nearest orthogonal ones."""
        m = _reals(matrix)
        _require_last("Rotation.from_matrix", m, 3)
        if not assume_valid:
            check(xp.all(xp.linalg.det(m) > 0), "Rotation.from_matrix: a determinant is not positive")
            m = qn.orthogonal(m)
        return cls._of(qn.from_matrix(m))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Return the rotations about vectors of shape (..., 3) by their length."""
        v = _reals(rotvec)
        _require_last("Rotation.from_rotvec", v, 3)
        return cls._of(qn.from_rotvec(v * (pi / 180) if degrees else v))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Return the rotations of modified Rodrigues parameters of shape (..., 3)."""
        m = _reals(mrp)
        _require_last("Rotation.from_mrp", m, 3)
        return cls._of(qn.from_mrp(m))

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
        return cls._of(qn.from_euler(axes, angle, intrinsic))

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
        return Rotation._of(qn.multiply(*xp.broadcast_arrays(self.quat, _own(other).quat)))

    def __rmul__(self, other: Any) -> Rotation:
        return _own(other) * self

    def __pow__(self, n: Any) -> Rotation:
        """Return the rotations about the same axes by n times the angle, for a number n."""
        return Rotation.from_rotvec(self.as_rotvec() * xp.asarray(n)[..., None])

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Return the quaternions; canonical ones have a scalar that is not negative."""
        q = qn.turned(self.quat) if canonical else self.quat
        return xp.roll(q, 1, axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return the matrices, of shape (..., 3, 3)."""
        return qn.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return vectors in the direction of the axis with the length of the angle, up to pi."""
        v = qn.to_rotvec(self.quat)
        return v * (180 / pi) if degrees else v

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters of a length up to 1."""
        return qn.to_mrp(self.quat)

    def as_euler(self, seq: Any, degrees: bool = False) -> Any:
        """Return three angles of rotations about axes; see `from_euler`. Where two axes coincide the third is 0."""
        axes, intrinsic = _axes("Rotation.as_euler", seq)
        if len(axes) != 3:
            raise ArgumentError("Rotation.as_euler", f"seq={seq!r}", "does not name 3 axes", "write three letters")
        angles = qn.to_euler(self.quat, axes, intrinsic)
        return angles * (180 / pi) if degrees else angles

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return rotated vectors of shape (..., 3); arrays of rotations and of vectors broadcast."""
        v, matrix = _reals(vectors), self.as_matrix()
        _require_last("Rotation.apply", v, 3)
        matrix = xp.matrix_transpose(matrix) if inverse else matrix
        return xp.sum(matrix * v[..., None, :], axis=-1)

    def inv(self) -> Rotation:
        """Return the inverse rotations."""
        return Rotation._of(qn.conjugate(self.quat))

    def magnitude(self) -> Any:
        """Return the angles of rotations, from 0 to pi."""
        length = qn.root(xp.sum(self.quat[..., :3] ** 2, axis=-1))
        return 2 * xp.arctan2(length, xp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """Return the mean of rotations, which may have weights: the eigenvector of most weight of their quaternions."""
        q = xp.reshape(self.quat, (-1, 4))
        w = xp.ones(q.shape[0]) if weights is None else _reals(weights)
        return Rotation._of(xp.linalg.eigh((q * w[:, None]).T @ q)[1][:, -1])

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self.quat!r})"


def _own(rotation: Any) -> Rotation:
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

    rotations: Rotation
    times: Any

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
