"""Functions with rules of their own, tests of traced values, and vector spaces, under the names of `autograd.extend`.

A function of `primitive` becomes part of the program where it can be traced. Where it cannot, as code of Cython or a
sparse solver, the program calls it back with arrays, and so it does with rules.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

import anyshape.numpy as anp
from anyshape.errors import ConcretizationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active_builders, errors_so_far, user_line
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes.substitute import evaluate
from anyshape.tracing import pytrees
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.captured.code_origin import package
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.trace import active_builder
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.custom_rules import custom_jvp, custom_vjp
from anyshape.transforms.grad import vjp

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace", "vspace",
]  # fmt: skip

Function = Callable[..., Any]
_FORWARD: ContextVar[bool] = ContextVar("_FORWARD", default=False)
_ANSWER: ContextVar[Any] = ContextVar("_ANSWER", default=None)  # gives values to primitives in one that is traced


@contextlib.contextmanager
def forward_mode() -> Iterator[None]:
    """Have primitives take their rules for tangents, where they have them, within the block."""
    token = _FORWARD.set(True)
    try:
        yield
    except UnsupportedFunctionError as error:
        raise NotImplementedError(str(error)) from error
    finally:
        _FORWARD.reset(token)


# -- boxes ---------------------------------------------------------------------------------------------------------


class _Boxes(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Traced)


class Box(metaclass=_Boxes):
    """Class of traced values, for `isinstance`."""


def isbox(x: Any) -> bool:
    """Return whether a value is traced."""
    return isinstance(x, Traced)


def getval(x: Any) -> Any:
    """Return a value without its derivative. It stays part of the program: the number is known when that runs."""
    return stop_gradient(x) if isinstance(x, Traced) else x


def _leaves(tree: Any) -> list[Any]:
    return pytrees.flatten(tree)[0]


# -- vector spaces -------------------------------------------------------------------------------------------------


class VSpace:
    """Vector space of the values that are like one: an array, a number, or a container of these."""

    mappings: dict[type, Function] = {}

    def __init__(self, value: Any) -> None:
        self._value = value

    @classmethod
    def register(cls, value_type: type, vspace_maker: Function | None = None) -> None:
        """Have `vspace` use this class, or a function, for values of a type."""
        VSpace.mappings[value_type] = vspace_maker or cls

    @property
    def shape(self) -> Any:
        """Shape of an array."""
        return anp.shape(self._value)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(anp.ndim(self._value))

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return anp.result_type(*_leaves(self._value))

    @property
    def size(self) -> Any:
        """Number of real dimensions."""
        return sum(anp.size(x) * (2 if anp.result_type(x).kind == "c" else 1) for x in _leaves(self._value))

    @property
    def iscomplex(self) -> bool:
        """True if numbers are complex."""
        return any(anp.result_type(x).kind == "c" for x in _leaves(self._value))

    def _map(self, f: Function, *trees: Any) -> Any:
        return pytrees.tree_map(f, self._value, *trees)

    def zeros(self) -> Any:
        """Return zeros."""
        return self._map(anp.zeros_like)

    def ones(self) -> Any:
        """Return ones, in both parts of complex numbers."""
        return self._map(lambda x: anp.full_like(x, 1 + 1j if anp.result_type(x).kind == "c" else 1))

    def like(self, vector: Any) -> Any:
        """Return a vector with the dtypes and shapes of the space."""
        return self._map(lambda x, v: _like(v, x), vector)

    def randn(self) -> Any:
        """Return normally distributed numbers."""
        draw = np.random.standard_normal
        parts = lambda x: draw(anp.shape(x)) + (1j * draw(anp.shape(x)) if anp.result_type(x).kind == "c" else 0)
        return self._map(lambda x: anp.asarray(parts(x)).astype(anp.result_type(x)))

    def standard_basis(self) -> Iterator[Any]:
        """Yield the unit vectors."""
        leaves, tree = pytrees.flatten(self.zeros())
        for i, x in enumerate(leaves):
            count, dtype = anp.size(x), anp.result_type(x)
            for k in range(count):
                for unit in (1.0, 1j) if dtype.kind == "c" else (1.0,):
                    vector = anp.reshape((anp.arange(count) == k) * unit, anp.shape(x)).astype(dtype)
                    yield pytrees.unflatten(tree, [*leaves[:i], vector, *leaves[i + 1 :]])

    def add(self, x: Any, y: Any) -> Any:
        """Return a sum."""
        return self._map(lambda _, a, b: a + b, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """Return a sum, in which None is zero."""
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a multiple."""
        return self._map(lambda _, v: v * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the inner product."""
        pairs = zip(_leaves(x), _leaves(y), strict=True)
        return sum(anp.real(anp.sum(anp.conj(a) * b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """Return the covector of a vector: its conjugate."""
        return self._map(lambda _, v: anp.conj(v), x)

    def __eq__(self, other: object) -> bool:
        describe = lambda space: self._signature(space._value)
        return type(self) is type(other) and bool(describe(self) == describe(other))

    def __hash__(self) -> int:
        return hash(self._signature(self._value))

    @staticmethod
    def _signature(value: Any) -> Any:
        leaves, tree = pytrees.flatten(value)
        return tree, tuple([(anp.shape(x), anp.result_type(x)) for x in leaves])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._signature(self._value)[1]})"


def vspace(value: Any) -> Any:
    """Return the vector space that a value is in."""
    return VSpace.mappings.get(type(value), VSpace)(value)


def _like(vector: Any, x: Any) -> Any:
    """Return a number or array with the dtype and shape of another one; sum over axes that broadcasting gave it."""
    vector, dtype = anp.asarray(vector), anp.result_type(x)
    if dtype.kind != "c" and vector.dtype.kind == "c":
        vector = anp.real(vector)
    return unbroadcast(vector, x).astype(dtype)


def unbroadcast(vector: Any, x: Any) -> Any:
    """Return the sum of an array over the axes along which `x` was broadcast to its shape."""
    if isinstance(anp.shape(vector), tuple) and anp.shape(vector) == anp.shape(x):
        return vector
    shape = anp.broadcast_shapes(anp.shape(vector), anp.shape(x))
    pull = vjp(lambda x: anp.broadcast_to(x, shape), anp.zeros(anp.shape(x), vector.dtype))[1]
    return pull(anp.broadcast_to(vector, shape))[0]


# -- primitives ----------------------------------------------------------------------------------------------------


class Rules:
    """Function with rules. `vjp` and `jvp` return the rule of an argument: None for zero, KeyError for none."""

    def __init__(self, fun: Function) -> None:
        self.fun, self.name = fun, getattr(fun, "__name__", "function")
        self.vjp: Function | None = None
        self.jvp: Function | None = None
        self.has_no_derivative = False
        self.called_back: set[Any] = set()  # what cannot be traced: None for the function, else a mode and an argument

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result, as part of a program where arguments are traced."""
        traced = [x for x in _leaves((args, kwargs)) if isinstance(x, Traced)]
        if not traced:
            return self.fun(*args, **kwargs)
        if self.has_no_derivative:
            return self.run(*pytrees.tree_map(getval, (args, kwargs)))
        if not any(x.dtype.kind in "fc" for x in traced):
            return self.run(args, kwargs)
        call = _Call(self, args, kwargs)
        return call.pushing() if self.jvp is not None and (self.vjp is None or _FORWARD.get()) else call.pulling()

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result: of the function traced, or called back if that fails or needs values."""
        return self.traced_or_called(None, lambda args, kwargs: self.fun(*args, **kwargs), None, args, kwargs)

    def traced_or_called(self, key: Any, call: Function, like: Any, *trees: Any) -> Any:
        """Return `call(*trees)`: traced, or called back if that fails or needs values. A result is as `like`."""
        if key not in self.called_back:
            builder = active_builder()
            answer, start, forget_errors = builder.answer, len(builder.nodes), errors_so_far()
            token = _ANSWER.set(answer or _ANSWER.get())
            builder.answer = None
            try:
                return call(*trees)
            except Exception:
                builder.forget_effects(start)
                forget_errors()
            finally:
                builder.answer = answer
                _ANSWER.reset(token)
        result = _called_back(self.name, call, like, trees)
        self.called_back.add(key)
        return result

    # older names

    def defvjp(self, rule: Function, argnum: int = 0) -> None:
        """Take a rule `rule(g, ans, vs, gvs, *args)` of one argument; use `extend.defvjp` instead."""
        self._take(
            lambda ans, *args, **kw: lambda g: rule(g, ans, vspace(args[argnum]), vspace(g), *args, **kw), argnum
        )

    def defgrad(self, maker: Function, argnum: int = 0) -> None:
        """Take a rule of one argument; use `extend.defvjp` instead."""
        self._take(maker, argnum)

    def defvjp_is_zero(self, argnums: Sequence[int] = (0,)) -> None:
        """Take arguments without derivative; use `extend.defvjp` instead."""
        for argnum in argnums:
            self._take(None, argnum)

    def _take(self, maker: Function | None, argnum: int) -> None:
        warnings.warn("this method is deprecated: use anyshape.autograd.extend.defvjp", stacklevel=3)
        before = getattr(self.vjp, "__self__", {})
        self.vjp = {**before, argnum: maker}.__getitem__


class _Call:
    """Call of a primitive: the arguments that have rules, by position, and all of them."""

    def __init__(self, owner: Rules, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.owner, self.args, self.kwargs = owner, args, kwargs

    def _choose(self, mode: str) -> None:
        """Find the rules; an argument without one raises an error where it is differentiated."""
        rule_of: Function = getattr(self.owner, mode.lower()) or {}.__getitem__
        self.rules, self.values = {}, []
        for i, x in enumerate(self.args):
            if not any(isinstance(leaf, Traced) and leaf.dtype.kind in "fc" for leaf in _leaves(x)):
                continue
            try:
                self.rules[i] = rule_of(i)
            except KeyError:
                self.rules[i] = None
                x = _barrier(f"{mode} of {self.owner.name} wrt argnum {i} not defined", x)
            self.values.append(x)

    def _filled(self, values: Sequence[Any]) -> list[Any]:
        filled = list(self.args)
        for i, x in zip(self.rules, values, strict=True):
            filled[i] = x
        return filled

    def _run(self, *values: Any) -> Any:
        return self.owner.run(self._filled(values), self.kwargs)

    def pulling(self) -> Any:
        """Return the result, with rules for cotangents."""
        self._choose("VJP")
        rule = custom_vjp(self._named())

        def forward(*values: Any) -> Any:
            ans = self.owner.call(self._filled(values), self.kwargs)  # by the rule, for derivatives of the rule
            return ans, (ans, values)

        def backward(residual: Any, g: Any) -> Any:
            ans, values = residual
            return tuple([self._pulled(i, ans, values, g) for i in self.rules])

        rule.defvjp(forward, backward)
        return rule(*self.values)

    def _pulled(self, i: int, ans: Any, values: Sequence[Any], g: Any) -> Any:
        maker, args = self.rules[i], self._filled(values)
        if maker is None:
            return None
        pull = lambda ans, args, kwargs, g: vspace(args[i]).like(maker(ans, *args, **kwargs)(g))
        return self.owner.traced_or_called(("VJP", i), pull, args[i], ans, args, self.kwargs, g)

    def pushing(self) -> Any:
        """Return the result, with rules for tangents."""
        self._choose("JVP")
        rule = custom_jvp(self._named())

        @rule.defjvp
        def push(values: Any, tangents: Any) -> Any:
            args = self._filled(values)
            ans = self.owner.call(args, self.kwargs)
            parts = [self._pushed(i, t, ans, args) for i, t in zip(self.rules, tangents, strict=True)]
            return ans, functools.reduce(vspace(ans).add, [p for p in parts if p is not None], vspace(ans).zeros())

        return rule(*self.values)

    def _pushed(self, i: int, tangent: Any, ans: Any, args: Sequence[Any]) -> Any:
        part = self.rules[i]
        if part is None:
            return None
        if part == "same":
            return self.owner.call([*args[:i], tangent, *args[i + 1 :]], self.kwargs)
        push = lambda g, ans, args, kwargs: vspace(ans).like(part(g, ans, *args, **kwargs))
        return self.owner.traced_or_called(("JVP", i), push, ans, tangent, ans, args, self.kwargs)

    def _named(self) -> Function:
        def run(*values: Any) -> Any:
            return self._run(*values)

        run.__name__ = self.owner.name
        return run


def _barrier(problem: str, tree: Any) -> Any:
    """Return values that raise an error where a derivative in them is taken."""

    def refuse(*_: Any) -> Any:
        raise NotImplementedError(problem)

    def of_leaf(x: Any) -> Any:
        if not isinstance(x, Traced):
            return x
        rule = custom_jvp(lambda x: x)
        rule.defjvp(refuse)
        return rule(x)

    return pytrees.tree_map(of_leaf, tree)


def _called_back(name: str, call: Function, like: Any, trees: Sequence[Any]) -> Any:
    leaves, tree = pytrees.flatten(trees)
    traced = [i for i, x in enumerate(leaves) if isinstance(x, Traced)]
    on_leaves = lambda leaves: call(*pytrees.unflatten(tree, leaves))

    def on_arrays(*arrays: Any) -> Any:
        filled = list(leaves)
        for i, x in zip(traced, arrays, strict=True):
            filled[i] = x
        return pytrees.tree_map(np.asarray, on_leaves(filled))

    if like is not None:
        spec = pytrees.tree_map(lambda x: ShapeDtypeStruct(anp.shape(x), anp.result_type(x)), like)
    else:
        values = [_value_of(x) if isinstance(x, Traced) else x for x in leaves]
        example = _example(name, on_leaves, values, leaves)
        open_sizes = lambda y: ", ".join("?" * np.ndim(y))
        shape = anp.broadcast_shapes(*map(anp.shape, leaves)) if _broadcasts(on_leaves, values, example) else None
        spec = pytrees.tree_map(lambda y: ShapeDtypeStruct(shape or open_sizes(y), np.result_type(y)), example)
    return pure_callback(on_arrays, spec, *[leaves[i] for i in traced])


def _example(name: str, on_leaves: Function, values: list[Any], leaves: Sequence[Any]) -> Any:
    """Return a result, whose rank and dtype count. It fills in ones for values that are not known."""
    unknown = [i for i, x in enumerate(leaves) if isinstance(x, Traced) and values[i] is None]
    for i in unknown:
        values[i] = _ones_like(leaves[i])
    try:
        return on_leaves(values)
    except Exception as error:
        if not unknown:
            raise
        advice = "call it outside of loops, in a function of jit or grad: it fails for ones"
        raise ConcretizationError(f"the primitive {name}", "traced arrays", user_line(), advice) from error


def _broadcasts(on_leaves: Function, values: Sequence[Any], example: Any) -> bool:
    """Return whether a result has the shape that operands broadcast to, for these operands and at other sizes.

    Large operands are halved, as twice their sizes may take long. A program requires the shape of each run, and other
    sizes of results stay open.
    """
    factor = 2 if sum(map(np.size, values)) <= _SMALL else 0.5
    try:
        others = [_resized(x, factor) for x in values]
        shapes = [np.broadcast_shapes(*map(np.shape, xs)) for xs in (values, others)]
        return shapes[0] != shapes[1] and shapes == [np.shape(example), np.shape(on_leaves(others))]
    except Exception:  # such as that of a system of equations which is singular then
        return False


_SMALL = 4096  # elements


def _resized(x: Any, factor: float) -> Any:
    for axis, n in enumerate(np.shape(x)):
        x = np.take(x, range(max(1, int(n * factor))) if n > 1 else range(n), axis, mode="wrap")
    return x


def _value_of(x: Traced) -> Any:
    """Return the value that a traced array has in the call that is traced, None where it has none."""
    answer: Any = next((b.answer for b in reversed(active_builders()) if hasattr(b.answer, "value")), _ANSWER.get())
    return None if answer is None else answer.value(x)


def _ones_like(x: Traced) -> Any:
    """Return ones of the dtype of a traced array, at the sizes of the call; unknown sizes are 2."""
    hints = x.builder.scope.hints or {}
    size_at: Any = lambda variable: hints.get(variable, 2)
    size_of = lambda extent: evaluate(extent.size, size_at) if isinstance(extent, Exact) else 2
    return np.ones(list(map(size_of, x.value.meta.extents)), x.dtype)


def primitive(f_raw: Function) -> Any:
    """Return a function that takes rules for its derivatives, by `defvjp` and `defjvp`.

    >>> import numpy as np
    >>> from anyshape.autograd import grad
    >>> from anyshape.autograd.extend import defvjp, primitive
    >>> square = primitive(lambda x: x**2)
    >>> defvjp(square, lambda ans, x: lambda g: 2 * g * x)
    >>> print(grad(square)(3.0))
    6.0
    """
    rules = Rules(f_raw)

    def function(*args: Any, **kwargs: Any) -> Any:
        return rules.call(args, kwargs)

    called: Any = functools.update_wrapper(function, f_raw, updated=())
    del called.__wrapped__
    called.fun, called.rules = f_raw, rules
    called.defvjp, called.defgrad, called.defvjp_is_zero = rules.defvjp, rules.defgrad, rules.defvjp_is_zero
    return called


def notrace_primitive(f_raw: Function) -> Any:
    """Return a function without derivatives."""
    made = primitive(f_raw)
    made.rules.has_no_derivative = True
    return made


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Have a primitive be without derivatives."""
    _rules_of(primitive_fun).has_no_derivative = True


def _rules_of(fun: Any) -> Any:
    """Return the rules of a primitive; warn for a function that has derivatives here, whose rules are not used."""
    rules = getattr(fun, "rules", None)
    if rules is None and (isinstance(fun, np.ufunc) or package(fun) in _WITH_DERIVATIVES):
        warnings.warn(f"{fun.__name__} keeps the derivative that it has: the rule is not used", stacklevel=3)
        return types.SimpleNamespace()
    return fun.rules if rules is None else rules


_WITH_DERIVATIVES = ("anyshape", "numpy", "scipy")


def defvjp(fun: Any, *vjpmakers: Function | None, argnums: Sequence[int] | None = None) -> None:
    """Have a primitive pull cotangents back by `maker(ans, *args, **kwargs)(g)` of each argument; None is zero."""
    _rules_of(fun).vjp = dict(zip(argnums or itertools.count(), vjpmakers)).__getitem__


def defvjp_argnum(fun: Any, vjpmaker: Function) -> None:
    """Have a primitive pull cotangents back by `maker(argnum, ans, args, kwargs)(g)`."""
    _rules_of(fun).vjp = lambda i: lambda ans, *args, **kwargs: vjpmaker(i, ans, args, kwargs)


def defvjp_argnums(fun: Any, vjpmaker: Function) -> None:
    """Have a primitive pull cotangents back by `maker(argnums, ans, args, kwargs)(g)`, which gives one each."""
    pull = lambda i, g, ans, args, kwargs: next(iter(vjpmaker((i,), ans, args, kwargs)(g)))
    _rules_of(fun).vjp = lambda i: lambda ans, *args, **kwargs: lambda g: pull(i, g, ans, args, kwargs)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Sequence[int] | None = None) -> None:
    """Have a primitive push tangents by `rule(g, ans, *args, **kwargs)`, one for each argument.

    None is zero, and "same" says that the function is linear in the argument.
    """
    _rules_of(fun).jvp = dict(zip(argnums or itertools.count(), jvpfuns)).__getitem__


def defjvp_argnum(fun: Any, jvpmaker: Function) -> None:
    """Have a primitive push tangents by `maker(argnum, g, ans, args, kwargs)`."""
    _rules_of(fun).jvp = lambda i: lambda g, ans, *args, **kwargs: jvpmaker(i, g, ans, args, kwargs)


def defjvp_argnums(fun: Any, jvpmaker: Function) -> None:
    """Have a primitive push tangents by `maker(argnums, gs, ans, args, kwargs)`."""
    _rules_of(fun).jvp = lambda i: lambda g, ans, *args, **kwargs: jvpmaker((i,), (g,), ans, args, kwargs)


def def_linear(fun: Any) -> None:
    """Say that a primitive is linear in each argument."""
    _rules_of(fun).jvp = lambda i: "same"
