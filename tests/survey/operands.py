"""Operands that rows of the survey name, and parts of them at other sizes.

`AXES` says which axes of an operand have the common size n. The remaining axes keep their lengths.
"""

import numpy as np

N = 6
_SPREAD = np.array([0.31, 0.74, 0.12, 0.55, 0.93, 0.43])
_OTHER = np.array([0.62, 0.21, 0.83, 0.37, 0.11, 0.58])
_MATRIX = np.outer(_SPREAD, _OTHER) + np.diag([2.1, 3.2, 1.7, 2.6, 3.9, 2.9]) + 0.1 * np.tri(N)

OPERANDS = {
    "x": _SPREAD,
    "y": _OTHER,
    "t": np.array([0.05, 0.2, 0.41, 0.52, 0.77, 0.96]),
    "a": _SPREAD + 1.3,
    "b": _OTHER + 2.1,
    "z": _SPREAD + 1j * _OTHER,
    "k": np.array([1, 4, 2, 3, 6, 5]),
    "i": np.array([2, 0, 1, 3, 0, 4]),
    "m": np.array([True, False, True, True, False, True]),
    "A": _MATRIX,
    "B": _MATRIX.T * 0.3 + np.outer(_OTHER, _OTHER),
    "S": _MATRIX @ _MATRIX.T / 4 + np.eye(N),
    "X": np.stack([_SPREAD, _OTHER, _SPREAD * _OTHER + 0.1], 1),
    "Y": np.stack([_OTHER, _SPREAD * 0.7, _SPREAD + _OTHER], 1),
    "v": np.array([0.4, 0.9, 0.7]),
    "w": np.array([0.8, 0.3, 0.6]),
    "M": np.array([[0.9, 0.1], [0.2, 1.4]]),
    "s": np.array(0.47),
    "u": np.array(1.0),
}
AXES = {"A": (0, 1), "B": (0, 1), "S": (0, 1), "v": (), "w": (), "M": (), "s": (), "u": ()}
DIFFERENTIABLE = [name for name, value in OPERANDS.items() if value.dtype == np.float64]


def axes_of(name):
    """Return the axes of an operand that have the common size."""
    return AXES.get(name, (0,))


def shorten(value, name, rows):
    """Return the part of an operand at some positions of its axes of the common size."""
    for axis in axes_of(name):
        value = value[rows] if axis == 0 else value[:, rows]
    return value


def varied(value):
    """Return an operand that differs a little, for a second example of a batch."""
    return value * 1.01 if value.dtype.kind in "fc" else value
