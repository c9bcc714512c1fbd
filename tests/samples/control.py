"""Rows of control ops."""

from anyshape.frontend.control import stop_gradient
from tests.samples.sample import Sample

SAMPLES = [
    Sample("stop_gradient", lambda np, x: stop_gradient(np.sin(x)) * 2, ("n, 3",), ops=("stop_gradient",), grad=False),
]
