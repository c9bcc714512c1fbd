"""Samples of further special functions, which have one op: one function for each number of operands and results.

`tests/scipy/special/test_ufuncs.py` has all of them.
"""

import scipy.special as sc

from anyshape.scipy import special
from tests.samples.elementwise import F
from tests.samples.sample import Sample

SAMPLES = [
    Sample("special.agm", lambda np, a, b: sc.agm(a, b), ("n, 3", "3"), ("special_ufunc",), F, (0.3, 3)),
    Sample("special.airy", lambda np, x: sc.airy(x)[2], ("n, 3",), ("special_ufunc",), F),
    Sample("special.eval_jacobi", lambda np, x: sc.eval_jacobi(3, 1.5, 0.5, x), ("n, 3",), ("special_ufunc",)),
    Sample("special.hankel1", lambda np, x: np.abs(sc.hankel1(1.5, x)), ("n",), ("special_ufunc",), domain=(0.5, 3)),
    Sample(
        "special.elliprj",
        lambda np, *xs: special.elliprj(*xs),
        ("n, 2", "2", "1", ""),
        ("special_ufunc", "carlson_integral"),
        F,
        (0.3, 3),
        order=1,
    ),
]
