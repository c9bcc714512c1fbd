"""Types of the public names: transforms keep the parameters of the functions that they take.

Arrays are NumPy's for a type checker, as they are when a function runs without a transform. What a transform returns
is `Any` only where Python's types cannot say it, such as the tree of a Jacobian.
"""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import IO, Any, Concatenate, Generic, Literal, ParamSpec, Self, TextIO, TypeVar, TypeVarTuple, overload

import numpy as np

from anyshape import cluster as cluster
from anyshape import debug as debug
from anyshape import errors as errors
from anyshape import numpy as numpy
from anyshape import ops as ops
from anyshape import optimize as optimize
from anyshape import scipy as scipy
from anyshape.backend.runtime.config import Config
from anyshape.errors import AnyshapeError as AnyshapeError
from anyshape.inspect.explanation import CacheInfo, Explanation
from anyshape.inspect.profile import Profile
from anyshape.program.program import Program
from anyshape.support.version import __version__ as __version__
from anyshape.tracing.named_dims import Dim as Dim
from anyshape.tracing.named_dims import ShapeDtypeStruct as ShapeDtypeStruct
from anyshape.tracing.named_dims import SymbolicScope as SymbolicScope
from anyshape.tracing.named_dims import SymbolicShape as SymbolicShape
from anyshape.tracing.view import View as View
from anyshape.transforms.arguments.dynamic_shapes import Axis
from anyshape.transforms.ragged.values import Ragged as Ragged

__all__ = [
    "AUTO",
    "DYNAMIC",
    "STATIC",
    "AnyshapeError",
    "Dim",
    "Ragged",
    "ShapeDtypeStruct",
    "SymbolicScope",
    "SymbolicShape",
    "View",
    "as_written",
    "associative_scan",
    "check",
    "check_grads",
    "check_sizes",
    "checkpoint",
    "cond",
    "config",
    "conv",
    "conv_general_dilated",
    "conv_transpose",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "errors",
    "eval_shape",
    "explain",
    "export",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "load",
    "map",
    "max_dim",
    "min_dim",
    "numpy",
    "ops",
    "profile",
    "pure_callback",
    "ragged_map",
    "ravel_pytree",
    "reduce_window",
    "register_pytree_node",
    "scan",
    "statically_known",
    "stop_gradient",
    "switch",
    "symbolic_args_specs",
    "symbolic_shape",
    "trace",
    "tree_leaves",
    "tree_map",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

_P = ParamSpec("_P")
_P2 = ParamSpec("_P2")
_Ts = TypeVarTuple("_Ts")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_S = TypeVar("_S")
_Y = TypeVar("_Y")
_Aux = TypeVar("_Aux")
_Tree = TypeVar("_Tree")
_Class = TypeVar("_Class", bound=type[Any])

_Argnums = int | Sequence[int]
_First = Literal[0]
_FirstTwo = tuple[Literal[0], Literal[1]]
_Names = str | Sequence[str] | None
_Optimize = Literal["now", "auto", "off"] | None
_Compile = Literal["auto", "off", "background", "wait"] | None

AUTO: Axis
DYNAMIC: Axis
STATIC: Axis
config: Config

# -- programs ----------------------------------------------------------------------------------------------------

class _Jitted(Generic[_P, _R_co]):
    """Function that is traced once per structure, dtypes and ranks of its arguments, and runs at every size."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    name: str

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: _Jitted[Concatenate[_S, _P2], _R], instance: _S, owner: type | None = None
    ) -> _Jitted[_P2, _R]: ...
    def optimise_for(self, *args: _P.args, **kwargs: _P.kwargs) -> None: ...
    def programs(self) -> list[Program]: ...
    def cache_info(self) -> CacheInfo: ...
    def clear_cache(self) -> None: ...
    def explain(self) -> Explanation: ...
    def explain_call(self, *args: _P.args, **kwargs: _P.kwargs) -> Explanation: ...
    def with_programs(self) -> Self: ...

@overload
def jit(
    function: Callable[_P, _R],
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
    on_decision: Literal["guard", "error"] = "guard",
    max_bytes: int | None = None,
    optimize: _Optimize = None,
    compile: _Compile = None,
    read_source: Literal["auto", "off"] | None = None,
    name: str | None = None,
) -> _Jitted[_P, _R]: ...
@overload
def jit(
    function: None = None,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
    on_decision: Literal["guard", "error"] = "guard",
    max_bytes: int | None = None,
    optimize: _Optimize = None,
    compile: _Compile = None,
    read_source: Literal["auto", "off"] | None = None,
    name: str | None = None,
) -> Callable[[Callable[_P, _R]], _Jitted[_P, _R]]: ...
def explain(function: Callable[..., Any], *, verbose: bool = False) -> Callable[..., Explanation]: ...
def profile(
    function: Callable[_P, Any], *, repeat: int | None = None, rows: int | None = 40, file: TextIO | None = None
) -> Callable[_P, Profile]: ...
def trace(function: Callable[..., Any]) -> Callable[..., Program]: ...
def export(function: Callable[..., Any]) -> Callable[..., Program]: ...
def load(file: str | PathLike[str] | IO[bytes]) -> Program: ...
def eval_shape(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
def symbolic_args_specs(
    args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: SymbolicScope | None = None
) -> Any: ...
def symbolic_shape(
    spec: str | None, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None, like: Any = None
) -> SymbolicShape: ...
def max_dim(*sizes: Any) -> Any: ...
def min_dim(*sizes: Any) -> Any: ...
def pure_callback(
    callback: Callable[..., Any], result_spec: Any, *args: Any, vectorized: bool = False, **kwargs: Any
) -> Any: ...
def register_pytree_node(
    cls: _Class,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    unflatten: Callable[[Any, Any], Any] | None = None,
) -> _Class: ...
def tree_leaves(tree: Any) -> list[Any]: ...
def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any: ...
def ravel_pytree(tree: _Tree) -> tuple[np.ndarray[Any, Any], Callable[[Any], _Tree]]: ...

# -- derivatives -------------------------------------------------------------------------------------------------

@overload
def grad(
    function: Callable[Concatenate[_A, _P], tuple[Any, _Aux]],
    argnums: _First = 0,
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    function: Callable[Concatenate[_A, _P], Any],
    argnums: _First = 0,
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _P], _A]: ...
@overload
def grad(
    function: Callable[Concatenate[_A, _B, _P], tuple[Any, _Aux]],
    argnums: Literal[1],
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[_B, _Aux]]: ...
@overload
def grad(
    function: Callable[Concatenate[_A, _B, _P], Any],
    argnums: Literal[1],
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], _B]: ...
@overload
def grad(
    function: Callable[Concatenate[_A, _B, _P], tuple[Any, _Aux]],
    argnums: _FirstTwo,
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[tuple[_A, _B], _Aux]]: ...
@overload
def grad(
    function: Callable[Concatenate[_A, _B, _P], Any],
    argnums: _FirstTwo,
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def grad(
    function: Callable[_P, Any],
    argnums: _Argnums,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
@overload
def grad(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    *,
    has_aux: bool,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _P], tuple[_R, _Aux]],
    argnums: _First = 0,
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _P], tuple[tuple[_R, _Aux], _A]]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _P], _R],
    argnums: _First = 0,
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _P], tuple[_R, _A]]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _B, _P], tuple[_R, _Aux]],
    argnums: Literal[1],
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[tuple[_R, _Aux], _B]]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _B, _P], _R],
    argnums: Literal[1],
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[_R, _B]]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _B, _P], tuple[_R, _Aux]],
    argnums: _FirstTwo,
    *,
    has_aux: Literal[True],
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[tuple[_R, _Aux], tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    function: Callable[Concatenate[_A, _B, _P], _R],
    argnums: _FirstTwo,
    has_aux: Literal[False] = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[Concatenate[_A, _B, _P], tuple[_R, tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    function: Callable[_P, Any],
    argnums: _Argnums,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
@overload
def value_and_grad(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    *,
    has_aux: bool,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
def jacfwd(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
def jacrev(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
def jacobian(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
def hessian(
    function: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, Any]: ...
def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any: ...
@overload
def jvp(
    function: Callable[..., tuple[_R, _Aux]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    function: Callable[..., _R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[_R, _R]: ...
@overload
def vjp(
    function: Callable[[*_Ts], tuple[_R, _Aux]], *primals: *_Ts, has_aux: Literal[True]
) -> tuple[_R, Callable[[_R], tuple[*_Ts]], _Aux]: ...
@overload
def vjp(
    function: Callable[[*_Ts], _R], *primals: *_Ts, has_aux: Literal[False] = False
) -> tuple[_R, Callable[[_R], tuple[*_Ts]]]: ...
@overload
def linearize(
    function: Callable[[*_Ts], tuple[_R, _Aux]], *primals: *_Ts, has_aux: Literal[True]
) -> tuple[_R, Callable[[*_Ts], _R], _Aux]: ...
@overload
def linearize(
    function: Callable[[*_Ts], _R], *primals: *_Ts, has_aux: Literal[False] = False
) -> tuple[_R, Callable[[*_Ts], _R]]: ...
def linear_transpose(function: Callable[..., _R], *primals: Any) -> Callable[[_R], tuple[Any, ...]]: ...
def ragged_map(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0, layout: str = "loop"
) -> Callable[..., Any]: ...
def vmap(
    function: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: Any = None,
    *,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, _R]: ...
@overload
def checkpoint(
    function: Callable[_P, _R],
    *,
    policy: Literal["contractions"] | None = None,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> _Jitted[_P, _R]: ...
@overload
def checkpoint(
    function: None = None,
    *,
    policy: Literal["contractions"] | None = None,
    static_argnums: _Argnums | None = None,
    static_argnames: _Names = None,
    dynamic_shapes: Any = None,
) -> Callable[[Callable[_P, _R]], _Jitted[_P, _R]]: ...
def stop_gradient(tree: _Tree) -> _Tree: ...
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ...,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None: ...
def check_sizes(
    f: Callable[..., Any],
    specs: Sequence[Any],
    sizes: Sequence[int] = (0, 1, 2, 5),
    order: int = 1,
    domain: tuple[float, float] = (-1.0, 1.0),
    seed: int = 0,
) -> int: ...
def check(condition: Any, message: str = "a check failed") -> None: ...
def statically_known(condition: Any) -> bool | None: ...

# -- rules of the user -------------------------------------------------------------------------------------------

class _CustomFunction(Generic[_P, _R_co]):
    """Function with a derivative rule of its own."""

    __name__: str
    __wrapped__: Callable[..., Any]
    name: str
    nondiff_argnums: tuple[int, ...]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: _CustomFunction[Concatenate[_S, _P2], _R], instance: _S, owner: type | None = None
    ) -> Callable[_P2, _R]: ...

class _CustomJVP(_CustomFunction[_P, _R_co]):
    """Function whose rule gives tangents, which serves every transform."""

    def defjvp(self, jvp: Callable[_P2, _R]) -> Callable[_P2, _R]: ...
    def defjvps(self, *jvps: Callable[..., Any] | None) -> None: ...

class _CustomVJP(_CustomFunction[_P, _R_co]):
    """Function whose rule gives cotangents, for reverse mode."""

    def defvjp(self, fwd: Callable[_P, Any], bwd: Callable[..., tuple[Any, ...]]) -> None: ...

@overload
def custom_jvp(function: Callable[_P, _R], nondiff_argnums: _Argnums = ()) -> _CustomJVP[_P, _R]: ...
@overload
def custom_jvp(
    function: None = None, nondiff_argnums: _Argnums = ()
) -> Callable[[Callable[_P, _R]], _CustomJVP[_P, _R]]: ...
@overload
def custom_vjp(function: Callable[_P, _R], nondiff_argnums: _Argnums = ()) -> _CustomVJP[_P, _R]: ...
@overload
def custom_vjp(
    function: None = None, nondiff_argnums: _Argnums = ()
) -> Callable[[Callable[_P, _R]], _CustomVJP[_P, _R]]: ...
@overload
def custom_root(
    f: Callable[[_Tree], _Tree],
    initial_guess: _Tree,
    solve: Callable[[Callable[[_Tree], _Tree], _Tree], tuple[_Tree, _Aux]],
    tangent_solve: Callable[[Callable[[_Tree], _Tree], _Tree], _Tree],
    has_aux: Literal[True],
) -> tuple[_Tree, _Aux]: ...
@overload
def custom_root(
    f: Callable[[_Tree], _Tree],
    initial_guess: _Tree,
    solve: Callable[[Callable[[_Tree], _Tree], _Tree], _Tree],
    tangent_solve: Callable[[Callable[[_Tree], _Tree], _Tree], _Tree],
    has_aux: Literal[False] = False,
) -> _Tree: ...
@overload
def custom_linear_solve(
    matvec: Callable[[_Tree], _Tree],
    b: _Tree,
    solve: Callable[[Callable[[_Tree], _Tree], _Tree], tuple[_Tree, _Aux]],
    transpose_solve: Callable[[Callable[[_Tree], _Tree], _Tree], Any] | None = None,
    symmetric: bool = False,
    *,
    has_aux: Literal[True],
) -> tuple[_Tree, _Aux]: ...
@overload
def custom_linear_solve(
    matvec: Callable[[_Tree], _Tree],
    b: _Tree,
    solve: Callable[[Callable[[_Tree], _Tree], _Tree], _Tree],
    transpose_solve: Callable[[Callable[[_Tree], _Tree], _Tree], _Tree] | None = None,
    symmetric: bool = False,
    has_aux: Literal[False] = False,
) -> _Tree: ...

# -- control flow ------------------------------------------------------------------------------------------------

def cond(pred: Any, true_fun: Callable[[*_Ts], _R], false_fun: Callable[[*_Ts], _R], *operands: *_Ts) -> _R: ...
def switch(index: Any, branches: Sequence[Callable[[*_Ts], _R]], *operands: *_Ts) -> _R: ...
def scan(
    f: Callable[[_C, Any], tuple[_C, _Y]],
    init: _C,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    unroll: int = 1,
    *,
    checkpoint: Any = None,
) -> tuple[_C, _Y]: ...
def while_loop(
    cond_fun: Callable[[_C], Any], body_fun: Callable[[_C], _C], init_val: _C, *, checkpoint: Any = None
) -> _C: ...
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, _C], _C], init_val: _C, *, checkpoint: Any = None
) -> _C: ...
def map(f: Callable[[Any], _Y], xs: Any, *, checkpoint: Any = None) -> _Y: ...
def as_written(function: _C) -> _C: ...
def associative_scan(
    fn: Callable[[_Tree, _Tree], _Tree], elems: _Tree, reverse: bool = False, axis: int = 0
) -> _Tree: ...

# -- windows -----------------------------------------------------------------------------------------------------

def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: Any = 1,
    batch_group_count: Any = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> np.ndarray[Any, Any]: ...
def conv(
    lhs: Any, rhs: Any, window_strides: Any, padding: Any, precision: Any = None, preferred_element_type: Any = None
) -> np.ndarray[Any, Any]: ...
def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Any,
    padding: Any,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> np.ndarray[Any, Any]: ...
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Any,
    window_dimensions: Any,
    window_strides: Any = None,
    padding: Any = "VALID",
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> np.ndarray[Any, Any]: ...
