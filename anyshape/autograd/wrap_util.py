"""Operators on functions of one argument, made operators on functions of several."""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["get_doc", "get_name", "unary_to_nary", "wrap_nary_f", "wraps"]

Function = Callable[..., Any]


def get_name(f: Any) -> str:
    """Return the name of a function."""
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str:
    """Return the docstring of a function."""
    return getattr(f, "__doc__", "")


def wraps(
    fun: Function, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Function], Function]:
    """Return a decorator that names and documents a function after another one."""

    def wrapped(f: Function) -> Function:
        f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        return f

    return wrapped


def wrap_nary_f(fun: Function, op: Function, argnum: int | Sequence[int]) -> Callable[[Function], Function]:
    """Return a decorator that says which operator was applied to which argument of a function."""
    doc = "{op} of function {fun} with respect to argument number {argnum}. Takes the arguments of {fun}."
    return wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", doc, op=get_name(op), argnum=argnum)


def unary_to_nary(unary_operator: Function) -> Function:
    """Return an operator on functions of several arguments. `argnum` says which one it is on, or which ones."""

    @wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Function:
        @wrap_nary_f(fun, unary_operator, argnum)
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            unary_f, x = at_argument(fun, argnum, args, kwargs)
            return unary_operator(unary_f, x, *nary_op_args, **nary_op_kwargs)

        return nary_f

    return nary_operator


def at_argument(fun: Function, argnum: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Function, Any]:
    """Return a function of one argument, or of a tuple of some, with the others fixed, and the value of that one."""
    positions = (argnum,) if isinstance(argnum, int) else tuple(argnum)

    def unary_f(x: Any) -> Any:
        values = list(args)
        for i, value in zip(positions, (x,) if isinstance(argnum, int) else x, strict=True):
            values[i] = value
        return fun(*values, **kwargs)

    unary_f.__name__ = get_name(fun)
    chosen = tuple([args[i] for i in positions])
    if isinstance(argnum, int):
        alone = len(args) == 1 and not kwargs
        return fun if alone else unary_f, chosen[0]
    return unary_f, chosen
