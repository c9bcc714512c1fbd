"""Samples of reruns: gradients of loops with checkpoint slots, of known and unknown lengths, forwards and backwards."""

from anyshape import grad, scan, while_loop
from tests.samples.sample import Sample


def slope_of_scan(np, x):
    step = lambda c, v: (np.tanh(c * x + v), c * v)
    return grad(lambda y: np.sum(scan(step, y, np.cos(x), reverse=True, checkpoint=2)[0]))(x)


def slope_of_while(np, x):
    body = lambda c: (c[0] + 1, np.sin(c[1]) * x + c[0])
    return grad(lambda y: np.sum(while_loop(lambda c: c[0] < 5, body, (0, y), checkpoint=2)[1] ** 2))(x)


SAMPLES = [
    Sample("rerun of a scan", slope_of_scan, ("n",), ops=("rerun",)),
    Sample("rerun of a while_loop", slope_of_while, ("n",), ops=("rerun",)),
]
