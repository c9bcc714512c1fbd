"""Samples of functions that move elements: shapes, order of axes, joining, splitting, repeating."""

from tests.samples.sample import Sample

S = Sample
MIXED = ("float64", "float32", "complex128", "int32", "bool")


def assigned(x, statement, v):
    """A copy of x, named y, after a statement that writes to it."""
    names = {"y": x.copy(), "v": v}
    exec(statement, names)
    return names["y"]


SAMPLES = [
    # -- shapes
    S("broadcast_to", lambda np, x, y: np.broadcast_to(x, y.shape) * y, ("n", "m, n"), ops=("broadcast_in_dim",)),
    S("broadcast_to, stretched", lambda np, x, y: np.broadcast_to(x, y.shape), ("n, 1", "m, n, k")),
    S("broadcast_arrays", lambda np, x, y: np.broadcast_arrays(x, y, 1.5), ("m, 1", "n")),
    S("reshape", lambda np, x: np.reshape(x, (-1,)), ("m, n",), ops=("reshape",), dtypes=MIXED),
    S("reshape, rows", lambda np, x: x.reshape(x.shape[1], x.shape[0]), ("m, n",)),
    S("reshape, -1", lambda np, x: np.reshape(x, (2, -1, 3)), ("n, 6",)),
    S("reshape, Fortran", lambda np, x: np.reshape(x, (6, -1), order="F"), ("n, 2, 3",)),
    S("reshape, -1 beside a size", lambda np, x: np.reshape(x, (-1, x.shape[1])), ("m, n",)),
    S("reshape, does not divide", lambda np, x: np.reshape(x, (2, -1)), ("n, 3",)),
    S("ravel", lambda np, x: np.ravel(x), ("m, n",)),
    S("ravel, Fortran", lambda np, x: np.ravel(x, order="F"), ("m, n",)),
    S("ravel, scalar", lambda np, x: np.ravel(x), ("",)),
    S("expand_dims", lambda np, x: np.expand_dims(x, (0, -1)), ("m, n",)),
    S("squeeze, axis", lambda np, x: np.squeeze(x, axis=(0, -1)), ("1, n, 1",)),
    S("squeeze", lambda np, x: np.squeeze(x), ("1, 3, 1",)),
    S("atleast_1d", lambda np, x, y: np.atleast_1d(x, y), ("", "n")),
    S("atleast_2d", lambda np, x, y: np.atleast_2d(x, y), ("", "n")),
    S("atleast_3d", lambda np, x, y, z: np.atleast_3d(x, y, z), ("", "n", "m, n")),
    # -- order of axes
    S("transpose", lambda np, x: np.transpose(x), ("m, n, 2",), ops=("transpose",), dtypes=MIXED),
    S("transpose, axes", lambda np, x: np.transpose(x, (1, -1, 0)), ("m, n, 2",)),
    S("permute_dims", lambda np, x: np.permute_dims(x, (1, 0)), ("m, n",)),
    S("matrix_transpose", lambda np, x: np.matrix_transpose(x), ("2, m, n",)),
    S("swapaxes", lambda np, x: np.swapaxes(x, 0, -1), ("m, n, 2",)),
    S("moveaxis", lambda np, x: np.moveaxis(x, (0, 1), (-1, 0)), ("m, n, 2",)),
    S("rollaxis", lambda np, x: np.rollaxis(x, 2), ("m, n, 2",)),
    S("rollaxis, start", lambda np, x: np.rollaxis(x, 0, 2), ("m, n, 2",)),
    S("flip", lambda np, x: np.flip(x), ("m, n",), ops=("rev",), dtypes=MIXED),
    S("flip, axis", lambda np, x: np.flip(x, -1) * x, ("m, n",)),
    S("fliplr", lambda np, x: np.fliplr(x), ("m, n",)),
    S("flipud", lambda np, x: np.flipud(x), ("m, n",)),
    S("rot90", lambda np, x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, 3), np.rot90(x, -4)), ("m, n",)),
    S("rot90, axes", lambda np, x: np.rot90(x, 1, (2, 0)), ("m, n, 2",)),
    # -- assignment
    S(
        "assign to a slice",
        lambda np, x, y: assigned(x, "y[1:-1] = v", y[1:-1]),
        ("n, 2", "n, 2"),
        ops=("slice_update",),
        dtypes=MIXED,
    ),
    S(
        "add to a slice",
        lambda np, x, y: assigned(x, "y[1:-1] += v", y[1:-1]),
        ("n, 2", "n, 2"),
        ops=("slice_add",),
        dtypes=MIXED,
    ),
    S("subtract from every second row", lambda np, x, y: assigned(x * y, "y[::2, :1] -= v", y), ("m, 2", "")),
    S("add to overlapping rows", lambda np, x: assigned(x, "y[1:] += y[:-1] * v", 2.0), ("m, 2",)),
    S("assign to every second row", lambda np, x, y: assigned(x, "y[::2, 1:] = v", y), ("m, n", "")),
    S("assign to a row, backwards", lambda np, x, y: assigned(x * x, "y[0, ::-1] *= v", y), ("2, n", "n")),
    S("assign through a transpose", lambda np, x, y: assigned(x, "y.T[1:] += v", y), ("n, m", "n")),
    # -- joining
    S("concatenate", lambda np, x, y: np.concatenate([x, y, x]), ("m, 2", "n, 2"), ops=("concatenate",), dtypes=MIXED),
    S("concatenate, last axis", lambda np, x, y: np.concatenate((x, y), axis=-1), ("m, n", "m, 3")),
    S("concatenate, flat", lambda np, x, y: np.concatenate((x, y), axis=None), ("m, n", "k")),
    S("concatenate, must agree", lambda np, x, y: np.concatenate((x, y), axis=1), ("m, 2", "n, 2")),
    S("concatenate, dtype", lambda np, x: np.concatenate([x, x], dtype=np.float32, casting="same_kind"), ("n",)),
    S("concatenate, constant", lambda np, x: np.concatenate([x, [1, 2], x * x, x[:1]]), ("n",), dtypes=MIXED[:3]),
    S("concat", lambda np, x, y: np.concat([x, y]), ("m", "n")),
    S("stack", lambda np, x, y: np.stack([x, y, x * y]), ("m, n", "m, n"), dtypes=("float64", "complex64")),
    S("stack, last axis", lambda np, x, y: np.stack([x, y], axis=-1), ("m, n", "m, n")),
    S("stack, scalars", lambda np, x: np.stack([x, 2.0, x * x]), ("",), dtypes=("float64", "float32")),
    S("vstack", lambda np, x, y: np.vstack((x, y)), ("n", "m, n")),
    S("hstack", lambda np, x, y: np.hstack((x, y)), ("m", "n")),
    S("hstack, matrices", lambda np, x, y: np.hstack((x, y)), ("m, n", "m, 2")),
    S("dstack", lambda np, x, y: np.dstack((x, y)), ("m, n", "m, n")),
    S("column_stack", lambda np, x, y: np.column_stack((x, y)), ("m", "m, n")),
    S("block", lambda np, x, y: np.block([[x, y], [y, x]]), ("n, n", "n, n")),
    S("block, depths", lambda np, x, y: np.block([x, y, 3.0]), ("m", "n")),
    S("append", lambda np, x, y: np.append(x, y), ("m, n", "k")),
    S("append, axis", lambda np, x, y: np.append(x, y, axis=0), ("m, n", "k, n")),
    S("append, scalar", lambda np, x: np.append(x, 1.5), ("n",), dtypes=("float64", "float32")),
    # -- splitting
    S("split", lambda np, x: np.split(x, 2), ("n, 2",), ops=("slice",)),
    S("split, last axis", lambda np, x: np.split(x, 3, axis=-1), ("n, 6",)),
    S("split, places", lambda np, x: np.split(x, [1, 3, 2, -1]), ("n",)),
    S("array_split", lambda np, x: np.array_split(x, 3), ("n, 2",)),
    S("hsplit", lambda np, x: np.hsplit(x, [1]), ("m, n",)),
    S("vsplit", lambda np, x: np.vsplit(x, [2]), ("m, n",)),
    S("dsplit", lambda np, x: np.dsplit(x, 2), ("m, n, 2",)),
    S("unstack", lambda np, x: np.unstack(x, axis=1), ("n, 3",)),
    # -- repeating
    S("roll", lambda np, x: np.roll(x, 2), ("m, n",), dtypes=MIXED),
    S("roll, axis", lambda np, x: np.roll(x, -7, axis=1), ("m, n",)),
    S("roll, axes", lambda np, x: np.roll(x, (1, 2), axis=(0, -1)), ("m, n",)),
    S("roll, same axis twice", lambda np, x: np.roll(x, (1, 2), axis=(0, 0)), ("n",)),
    S("roll, one shift", lambda np, x: np.roll(x, 1, axis=(0, 1)), ("m, n",)),
    S("tile", lambda np, x: np.tile(x, (2, 3)), ("m, n",)),
    S("tile, more axes", lambda np, x: np.tile(x, (2, 1, 2)), ("n",)),
    S("tile, fewer axes", lambda np, x: np.tile(x, 2), ("m, n",)),
    S("tile, none", lambda np, x: np.tile(x, 0), ("m, n",)),
    S("tile, symbolic", lambda np, x, y: np.tile(x, y.shape[0]), ("n", "m"), tags=frozenset({"namespace"})),
    S("repeat", lambda np, x: np.repeat(x, 2), ("m, n",)),
    S("repeat, axis", lambda np, x: np.repeat(x, 3, axis=-1), ("m, n",)),
    S("repeat, each", lambda np, x: np.repeat(x, [2, 0], axis=0), ("n, 2",)),
    S("repeat, list of one", lambda np, x: np.repeat(x, [3], axis=1), ("n, 2",)),
    S("repeat, none", lambda np, x: np.repeat(x, 0, axis=0), ("m, n",)),
]
