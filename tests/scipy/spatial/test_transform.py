"""Compare rotations of anyshape.scipy.spatial.transform with SciPy's, traced and concrete, and their derivatives."""

import numpy as np
import pytest
import scipy.spatial.transform as sp

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError, CheckError, UnsupportedFunctionError
from anyshape.scipy.spatial import transform as own

RNG = np.random.default_rng(2)
Q = RNG.normal(size=(5, 4))
V = RNG.normal(size=(5, 3))
# functions of the module, of quaternions and of vectors
CASES = {
    "from_quat": lambda s, q, v: s.Rotation.from_quat(q, scalar_first=True).as_quat(canonical=True),
    "as_matrix": lambda s, q, v: s.Rotation.from_quat(q).as_matrix(),
    "from_matrix": lambda s, q, v: s.Rotation.from_matrix(s.Rotation.from_quat(q).as_matrix()).as_quat(canonical=True),
    "from_matrix, near": lambda s, q, v: s.Rotation.from_matrix(
        s.Rotation.from_quat(q).as_matrix() + 0.02 * v[..., None, :]
    ).as_matrix(),
    "from_rotvec": lambda s, q, v: s.Rotation.from_rotvec(v).as_quat(),
    "from_rotvec in degrees": lambda s, q, v: s.Rotation.from_rotvec(99 * v, degrees=True).as_matrix(),
    "as_rotvec": lambda s, q, v: s.Rotation.from_quat(q).as_rotvec(),
    "mrp": lambda s, q, v: s.Rotation.from_mrp(v).as_mrp() + s.Rotation.from_quat(q).as_mrp(),
    "from_euler": lambda s, q, v: s.Rotation.from_euler("xzy", v).as_matrix(),
    "from_euler of the body": lambda s, q, v: s.Rotation.from_euler("ZXZ", 90 * v, degrees=True).as_matrix(),
    "from_euler of two": lambda s, q, v: s.Rotation.from_euler("zx", v[..., :2]).as_quat(),
    "from_euler of one": lambda s, q, v: s.Rotation.from_euler("Y", v[..., :1]).as_quat(),
    "as_euler": lambda s, q, v: s.Rotation.from_quat(q).as_euler("xyz"),
    "as_euler of the body": lambda s, q, v: s.Rotation.from_quat(q).as_euler("YZX", degrees=True),
    "as_euler, symmetric": lambda s, q, v: s.Rotation.from_quat(q).as_euler("zyz"),
    "as_euler, symmetric of the body": lambda s, q, v: s.Rotation.from_quat(q).as_euler("XYX"),
    "apply": lambda s, q, v: s.Rotation.from_quat(q).apply(v),
    "apply inverse": lambda s, q, v: s.Rotation.from_quat(q).apply(v, inverse=True),
    "product": lambda s, q, v: (s.Rotation.from_quat(q) * s.Rotation.from_rotvec(v)).as_quat(canonical=True),
    "inv": lambda s, q, v: s.Rotation.from_quat(q).inv().as_quat(),
    "power": lambda s, q, v: (s.Rotation.from_quat(q) ** 2.5).as_matrix(),
    "magnitude": lambda s, q, v: s.Rotation.from_quat(q).magnitude(),
}
TIMES = np.array([0, 0.3, 1.0, 1.9])
MANY = {
    "mean": lambda s, q, v: s.Rotation.from_quat(q).mean(np.abs(v[:, 0])).as_matrix(),
    "concatenate": lambda s, q, v: s.Rotation.concatenate(
        [s.Rotation.from_quat(q), s.Rotation.from_rotvec(v)]
    ).as_quat(),
    "item": lambda s, q, v: s.Rotation.from_quat(q)[1:][::-1].as_quat(),
    "one applied to many": lambda s, q, v: s.Rotation.from_quat(q[0]).apply(v),
    "many applied to one": lambda s, q, v: s.Rotation.from_quat(q).apply(v[0]),
    "slerp": lambda s, q, v: s.Slerp(np.arange(q.shape[0]), s.Rotation.from_quat(q))(
        np.array([0, 0.3, 1.0, 1.9])
    ).as_matrix(),
    "slerp at one time": lambda s, q, v: s.Slerp(np.arange(q.shape[0]), s.Rotation.from_quat(q))(1.25).as_matrix(),
}


@pytest.mark.parametrize("name", CASES)
def test_one_rotation_and_many_are_scipys(name):
    traced = jit(lambda q, v: CASES[name](own, q, v))
    for q, v in ((Q, V), (Q[:1], V[:1]), (Q[0], V[0])):
        expected = CASES[name](sp, q, v)
        np.testing.assert_allclose(traced(q, v), expected, 1e-9, 1e-9)
        np.testing.assert_allclose(CASES[name](own, q, v), expected, 1e-9, 1e-9)
    assert traced(Q[:0], V[:0]).shape[0] == 0
    weights = np.cos(np.arange(expected.size).reshape(expected.shape))
    check_grads(lambda q, v: (CASES[name](own, q, v) * weights).sum(), (Q[1], V[1]), order=1, rtol=1e-4)


@pytest.mark.parametrize("name", MANY)
def test_arrays_of_rotations_are_scipys(name):
    traced = jit(lambda q, v: MANY[name](own, q, v))
    for n in (3, 5):
        np.testing.assert_allclose(traced(Q[:n], V[:n]), MANY[name](sp, Q[:n], V[:n]), 1e-9, 1e-9)
    check_grads(lambda q, v: np.sin(MANY[name](own, q, v)).sum(), (Q, V), order=1, rtol=1e-4)


@pytest.mark.slow
def test_derivatives_at_no_rotation_are_smooth():
    zero = np.zeros(3)
    for function in (
        lambda v: own.Rotation.from_rotvec(v).as_matrix(),
        lambda v: own.Rotation.from_rotvec(v).as_rotvec(),
        lambda v: own.Rotation.from_mrp(v).as_mrp(),
        lambda v: own.Rotation.from_matrix(own.Rotation.from_rotvec(v).as_matrix()).as_rotvec(),
    ):
        check_grads(function, (zero + 1e-9,), order=2, rtol=1e-4, atol=1e-4)
    assert grad(lambda v: own.Rotation.from_rotvec(v).magnitude())(zero).tolist() == [0, 0, 0]


def test_angles_where_two_axes_coincide():
    for seq, angles in (("xyz", [0.4, np.pi / 2, 0.3]), ("ZYX", [0.4, -np.pi / 2, 0.3]), ("zxz", [0.4, 0.0, 0.3])):
        with pytest.warns(UserWarning, match="Gimbal"):
            expected = sp.Rotation.from_euler(seq, angles).as_euler(seq)
        actual = jit(lambda a, seq=seq: own.Rotation.from_euler(seq, a).as_euler(seq))(np.array(angles))
        np.testing.assert_allclose(actual, expected, 1e-7, 1e-7)


def test_rotations_are_trees_and_mix_with_scipys():
    turn = own.Rotation.from_rotvec(V)
    doubled = jit(lambda r: r * r)(turn)
    np.testing.assert_allclose(doubled.as_matrix(), (sp.Rotation.from_rotvec(V) ** 2).as_matrix(), 1e-9, 1e-9)
    expected = (sp.Rotation.from_rotvec(V) * sp.Rotation.from_quat(Q)).as_matrix()
    np.testing.assert_allclose((turn * sp.Rotation.from_quat(Q)).as_matrix(), expected, 1e-9, 1e-12)
    batch = vmap(lambda q, v: own.Rotation.from_quat(q).apply(v))(Q, V)
    np.testing.assert_allclose(batch, sp.Rotation.from_quat(Q).apply(V), 1e-12)
    assert len(turn) == 5 and turn.approx_equal(sp.Rotation.from_rotvec(V)).all()
    assert own.Rotation.identity().as_quat().tolist() == [0, 0, 0, 1]


def test_wrong_arguments_are_named():
    with pytest.raises(CheckError, match="length 0"):
        jit(lambda q: own.Rotation.from_quat(q).as_matrix())(np.zeros(4))
    with pytest.raises(CheckError, match="determinant is not positive"):
        jit(lambda m: own.Rotation.from_matrix(m).as_quat())(-np.eye(3))
    with pytest.raises(AnyshapeError, match="must equal 4"):
        jit(lambda q: own.Rotation.from_quat(q).as_matrix())(np.ones((2, 5)))
    with pytest.raises(ArgumentError, match="repeats an axis"):
        own.Rotation.from_euler("xxy", np.ones(3))
    with pytest.raises(CheckError, match="outside of the interpolant"):
        jit(lambda q: own.Slerp(np.arange(5.0), own.Rotation.from_quat(q))(7.0).as_quat())(Q)
    with pytest.raises(UnsupportedFunctionError, match=r"Rotation.*\.as_davenport"):
        jit(lambda q: own.Rotation.from_quat(q).as_davenport([1, 0, 0], "extrinsic"))(Q)
