"""Samples of products of vectors, matrices and stacks, of einsum and of norms."""

import numpy

from tests.samples.sample import Sample

ALL = ("float64", "float32", "complex128", "int64", "bool")
INEXACT = ("float64", "complex128")
OP = ("dot_general",)


def _einsum(equation, *shapes, dtypes=INEXACT, **options):
    return Sample(f"einsum {equation}", lambda np, *xs: np.einsum(equation, *xs), shapes, OP, dtypes, **options)


PRODUCTS = [
    Sample("matmul", lambda np, x, y: np.matmul(x, y), ("n, m", "m, k"), OP, ALL),
    Sample("matmul operator", lambda np, x, y: x @ y.T, ("n, m", "k, m"), OP, ALL),
    Sample("matmul of unrelated sizes", lambda np, x, y: x @ y, ("n, 2", "m, k"), OP),
    Sample("matmul of vectors", lambda np, x, y: x @ y, ("n", "n"), OP, ALL),
    Sample("matmul matrix vector", lambda np, x, y: x @ y, ("n, m", "m"), OP, ALL),
    Sample("matmul vector matrix", lambda np, x, y: x @ y, ("m", "m, n"), OP, INEXACT),
    Sample("matmul vector stack", lambda np, x, y: x @ y, ("m", "k, m, n"), OP, INEXACT),
    Sample("matmul stack vector", lambda np, x, y: x @ y, ("k, n, m", "m"), OP, INEXACT),
    Sample("matmul stack matrix", lambda np, x, y: x @ y, ("k, n, m", "m, 2"), OP, INEXACT),
    Sample("matmul matrix stack", lambda np, x, y: x @ y, ("2, m", "k, m, n"), OP, INEXACT),
    Sample("matmul stacks", lambda np, x, y: x @ y, ("k, n, m", "k, m, 2"), OP, ALL),
    Sample("matmul of stretched stacks", lambda np, x, y: x @ y, ("k, 1, n, m", "l, m, 2"), OP, INEXACT),
    Sample("matmul of stacks of unknown sizes", lambda np, x, y: x @ y, ("k, 2, n", "l, n, 2"), OP),
    Sample(
        "matmul of mixed dtypes",
        lambda np, x, y: x @ y.astype("float32"),
        ("n, m", "m, k"),
        OP,
        ("int64",),
        grad=None,
        tolerance=1e-5,
    ),
    Sample("matmul of half", lambda np, x, y: x @ y, ("n, m", "m, k"), OP, ("float16",), tolerance=1e-2, grad=None),
    Sample("dot of stacks", lambda np, x, y: np.dot(x, y), ("k, n, m", "2, m, l"), OP, INEXACT),
    Sample("dot with a scalar", lambda np, x, y: np.dot(x, y), ("", "n, m"), ("mul",), ALL),
    Sample("dot with a number", lambda np, x: np.dot(x, 2.0), ("n",), ("mul",), ("float64", "float32"), grad=None),
    Sample("inner", lambda np, x, y: np.inner(x, y), ("n, m", "k, l, m"), OP, ALL),
    Sample("outer", lambda np, x, y: np.outer(x, y), ("n, 2", "m"), OP, ALL),
    Sample("vdot", lambda np, x, y: np.vdot(x, y), ("n, m", "n, m"), OP, ALL),
    Sample("tensordot", lambda np, x, y: np.tensordot(x, y), ("k, n, m", "n, m, 2"), OP, INEXACT),
    Sample("tensordot of no axis", lambda np, x, y: np.tensordot(x, y, axes=0), ("n, 2", "m"), OP, INEXACT),
    Sample(
        "tensordot of named axes",
        lambda np, x, y: np.tensordot(x, y, axes=((0, -1), (-1, 0))),
        ("n, k, m", "m, 2, n"),
        OP,
        INEXACT,
    ),
    Sample(
        "tensordot of one axis", lambda np, x, y: np.tensordot(x, y, axes=(1, -1)), ("n, m, 2", "k, m"), OP, INEXACT
    ),
    Sample("kron", lambda np, x, y: np.kron(x, y), ("n, m", "2, k"), OP, INEXACT),
    Sample("kron of ranks", lambda np, x, y: np.kron(x, y), ("n", "2, m"), OP, ("float64", "int64")),
    Sample("vecdot", lambda np, x, y: np.vecdot(x, y), ("k, n, m", "n, m"), OP, ALL),
    Sample("vecdot of an axis", lambda np, x, y: np.vecdot(x, y, axis=0), ("m, n", "m, n"), OP, INEXACT),
    Sample("matvec", lambda np, x, y: np.matvec(x, y), ("k, n, m", "1, m"), OP, INEXACT),
    Sample("vecmat", lambda np, x, y: np.vecmat(x, y), ("k, n", "k, n, m"), OP, INEXACT),
    Sample("multi_dot", lambda np, x, y, z: numpy.linalg.multi_dot([x, y, z]), ("n, m", "m, k", "k"), OP, INEXACT),
    Sample("multi_dot of matrices", lambda np, x, y, z: numpy.linalg.multi_dot([x, y, z]), ("n", "n, k", "k, m"), OP),
    Sample(
        "multi_dot of many", lambda np, *xs: numpy.linalg.multi_dot(xs), ("n, m", "m, k", "k, l", "l, n"), ("einsum",)
    ),
    Sample("matrix_power", lambda np, x: numpy.linalg.matrix_power(x, 3), ("n, n",), OP, INEXACT),
    Sample(
        "matrix_power of stacks",
        lambda np, x: numpy.linalg.matrix_power(x, 0) + numpy.linalg.matrix_power(x, 2),
        ("k, n, n",),
        OP,
    ),
    Sample("linalg.matmul", lambda np, x, y: numpy.linalg.matmul(x, y), ("n, m", "m, k"), OP),
    Sample("linalg.outer", lambda np, x, y: numpy.linalg.outer(x, y), ("n", "m"), OP),
    Sample("linalg.vecdot", lambda np, x, y: numpy.linalg.vecdot(x, y, axis=-1), ("n, m", "m"), OP, INEXACT),
    Sample("linalg.tensordot", lambda np, x, y: numpy.linalg.tensordot(x, y, axes=1), ("n, m", "m, k"), OP),
]

TABLE = numpy.arange(6.0).reshape(2, 3) / 7

CROSS = [
    Sample("cross", lambda np, x, y: np.cross(x, y), ("n, 3", "3"), ("mul", "sub"), ("float64", "complex128", "int64")),
    Sample(
        "cross of axes", lambda np, x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), ("3, n", "m, 3"), ("mul", "sub")
    ),
    Sample("linalg.cross", lambda np, x, y: numpy.linalg.cross(x, y, axis=-1), ("n, 3", "n, 3"), ("mul", "sub")),
]

# arrays that a function closes over
CLOSED_OVER = [
    Sample("matmul with a constant", lambda np, x: x @ TABLE, ("n, 2",), OP, INEXACT),
    Sample("matmul of a constant", lambda np, x: TABLE @ x, ("n, 3, m",), OP, INEXACT),
    Sample("dot with a constant", lambda np, x: np.dot(TABLE[0], x), ("n, 3, m",), OP),
    Sample("tensordot with a list", lambda np, x: np.tensordot(x, [[1.0, 2], [3, 4]], axes=1), ("n, 2",), OP),
    Sample("einsum with a constant", lambda np, x: np.einsum("ij,kj->ik", x, TABLE), ("n, 3",), OP),
    Sample("outer with a constant", lambda np, x: np.outer(x, TABLE), ("n",), OP),
]

EINSUMS = [
    _einsum("ij,jk->ik", "n, m", "m, k", dtypes=(*ALL, "int8")),
    _einsum("ij,jk", "n, 2", "m, k"),  # unrelated sizes: equal, or 1 on either side
    _einsum("i,i->i", "n", "m"),
    _einsum("ij->ji", "n, m", dtypes=ALL),
    _einsum("ba", "n, m"),
    _einsum("ij->", "n, m", dtypes=ALL),
    _einsum("ij->j", "n, m", dtypes=("bool", "int8", "float64")),
    _einsum("ii", "n, n"),
    _einsum("ii->i", "n, n"),
    _einsum("iji->ji", "n, m, n"),
    _einsum("iii->i", "n, n, n"),
    _einsum("ij,ji,i->", "n, m", "m, n", "n"),
    _einsum("ii,ij->ij", "n, n", "n, m"),
    _einsum("i,j->ij", "n", "m"),
    _einsum("i,ij,j", "n", "n, m", "m"),
    _einsum("ij,jk,kl,lm->im", "n, m", "m, k", "k, 2", "2, n", order=1),
    *[
        Sample(f"einsum {equation}", lambda np, *xs, e=equation: np.einsum(e, *xs), shapes, ("einsum",), dtypes, **more)
        for equation, shapes, dtypes, more in (
            ("ij,jk,kl->il", ("n, m", "m, k", "k, l"), (*INEXACT, "int64", "int8"), {}),
            ("bi,ijk,bj->kb", ("b, n", "n, m, k", "b, m"), INEXACT, {}),
            ("hij,hjk,kl,i->l", ("2, n, m", "2, m, k", "k, n", "n"), ("float64",), {"order": 1}),
            ("iij,jk,kl->l", ("n, n, m", "m, k", "k, l"), ("float64",), {"order": 1}),
            ("i...,ij,j...->...i", ("n, k", "n, m", "m, 1"), ("float64", "float32"), {}),
        )
    ],
    _einsum("bqhd,bkhd->bhqk", "b, q, 2, 3", "b, k, 2, 3", dtypes=("float64",)),
    _einsum("bij,bjk->bik", "b, n, m", "b, m, 2"),
    _einsum("bji,bkj->bik", "b, n, m", "b, 2, n"),
    _einsum("...ij,...jk->...ik", "b, n, m", "m, 2"),
    _einsum("...i,...i", "n, m", "k, m"),
    _einsum("i...->...", "n, m, 2"),
    _einsum("...,...", "n, m", "m"),
    _einsum("i...,j...->ij...", "n, 2", "m, k, 2"),
    _einsum(",i->i", "", "n"),
    _einsum("ijk,jil->kl", "n, m, 2", "m, n, k"),
    Sample("einsum of lists", lambda np, x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), ("n, m", "m, k"), OP),
    Sample("einsum of lists with ellipsis", lambda np, x: np.einsum(x, [..., 0, 0]), ("k, n, n",), OP),
    Sample(
        "einsum of mixed dtypes",
        lambda np, x, y: np.einsum("i,i", x.astype("float32"), y),
        ("n", "n"),
        OP,
        ("int64", "float64"),
        grad=None,
        tolerance=1e-5,
    ),
]


def _away(rng, shapes, dtype):
    """Return elements away from 0, of different sizes."""
    arrays = []
    for shape in shapes:
        count = 1
        for size in shape:
            count *= size
        x = (rng.permutation(count).reshape(shape) + 1.0) ** 1.3 * rng.choice([-0.5, 0.5], size=shape)
        arrays.append((x * (1 + 1j) if dtype.kind == "c" else x).astype(dtype))
    return arrays


NORMS = (
    [
        Sample(
            "norm",
            lambda np, x: numpy.linalg.norm(x),
            ("n, m",),
            ("reduce_sum",),
            ("float64", "float32", "complex128"),
            make=_away,
            smallest=1,
        ),
        Sample(
            "norm of integers",
            lambda np, x: numpy.linalg.norm(x, axis=0),
            ("n, m",),
            ("reduce_sum",),
            ("int64",),
            grad=None,
        ),
        Sample(
            "norm of an axis",
            lambda np, x: numpy.linalg.norm(x, axis=-1, keepdims=True),
            ("n, m",),
            ("reduce_sum",),
            make=_away,
            smallest=1,
        ),
        Sample(
            "norm fro",
            lambda np, x: numpy.linalg.norm(x, "fro", axis=(2, 0)),
            ("n, 2, m",),
            ("reduce_sum",),
            make=_away,
            smallest=1,
        ),
        Sample(
            "vector_norm",
            lambda np, x: numpy.linalg.vector_norm(x, axis=(0, 1), ord=1),
            ("n, m, 2",),
            ("reduce_sum",),
            make=_away,
        ),
        Sample(
            "matrix_norm",
            lambda np, x: numpy.linalg.matrix_norm(x, keepdims=True),
            ("k, n, m",),
            ("reduce_sum",),
            make=_away,
            smallest=1,
        ),
    ]
    + [
        Sample(
            f"norm {order}",
            lambda np, x, order=order: numpy.linalg.norm(x, order, axis=0),
            ("n, m",),
            ("reduce_sum",),
            ("float64", "float32"),
            make=_away,
        )
        for order in (1, float("inf"), float("-inf"))
    ]
    + [
        Sample(
            "norm 0", lambda np, x: numpy.linalg.norm(x, 0, axis=0), ("n, m",), ("reduce_sum",), make=_away, grad=False
        ),
        Sample(
            "norm 2.5",
            lambda np, x: numpy.linalg.norm(x, 2.5, axis=1),
            ("n, m",),
            ("reduce_sum",),
            make=_away,
            smallest=1,
            tolerance=1e-7,
        ),
    ]
    + [
        Sample(
            f"matrix norm {order}",
            lambda np, x, order=order: numpy.linalg.norm(x, order),
            ("n, m",),
            ("reduce_sum",),
            make=_away,
        )
        for order in (1, -1, float("inf"), float("-inf"))
    ]
)

SAMPLES = [*PRODUCTS, *CROSS, *CLOSED_OVER, *EINSUMS, *NORMS]
