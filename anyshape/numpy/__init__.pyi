"""Types of `anyshape.numpy`: the ones of NumPy, as its functions take and return what NumPy's do."""

import builtins
from typing import Any, SupportsIndex

from numpy import *
from numpy.linalg import matrix_norm as matrix_norm
from numpy.linalg import matrix_power as matrix_power
from numpy.linalg import multi_dot as multi_dot
from numpy.linalg import norm as norm
from numpy.linalg import vector_norm as vector_norm
from numpy.typing import ArrayLike, NDArray

from anyshape.numpy import special as special
from anyshape.numpy.at_update import at as at

_Axis = builtins.int | builtins.tuple[builtins.int, ...] | None

def softmax(x: ArrayLike, axis: _Axis = None) -> NDArray[Any]: ...
def log_softmax(x: ArrayLike, axis: _Axis = None) -> NDArray[Any]: ...
def logsumexp(
    a: ArrayLike,
    axis: _Axis = None,
    b: ArrayLike | None = None,
    keepdims: builtins.bool = False,
    return_sign: builtins.bool = False,
) -> Any: ...
def top_k(x: ArrayLike, k: SupportsIndex) -> builtins.tuple[NDArray[Any], NDArray[Any]]: ...
