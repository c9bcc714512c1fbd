"""Prints, calls and the debugger in functions that are traced: they happen when the program runs, in its order.

Each statement happens once for each time that the program gets to it, also where nothing reads a result of it. A
derivative does not repeat it, and nothing happens while a function is traced.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.user_stack import user_line
from anyshape.inspect.notebook import run_page
from anyshape.numpy.arrays.array import SHOWN_ARRAY
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing import pytrees
from anyshape.tracing.effects import Text, call, show
from anyshape.transforms.jitted import LISTENERS

__all__ = ["breakpoint", "callback", "print", "report"]


@short_traceback
def print(fmt: str, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Print `fmt.format(*args, **kwargs)` and a newline when the program runs, once for each time that it gets here.

    - Values are arrays and scalars of NumPy, and sizes are ints.
    - Prints keep their order, whatever `ordered` says. It is there for code that was written for JAX.
    - A derivative prints what the function prints, once. `vmap` prints for each example, in their order.

    >>> import numpy as np
    >>> import anyshape
    >>> f = anyshape.jit(lambda x: anyshape.debug.print("sum {s:.2f} of {}", x.shape, s=np.sum(x)))
    >>> f(np.ones(3))
    sum 3.00 of (3,)
    """
    if not isinstance(fmt, str):
        raise ArgumentError("debug.print", "fmt", f"is of type {type(fmt).__name__}, not a text", 'write "{}"')
    if shown := SHOWN_ARRAY.search(fmt):
        advice = 'write "{}" there, not an f-string, and the array behind the format'
        raise ArgumentError("debug.print", "fmt", f"holds the text of a traced array, {shown[0]}", advice)
    try:
        text, used = Text.of_format(fmt, args, kwargs)
    except (KeyError, IndexError) as error:
        problem, advice = "has more fields than values", "give a value for each {}"
        if isinstance(error, KeyError):
            problem, advice = f"names {error.args[0]!r}, which is not given", f"write {error.args[0]}=... behind it"
        raise ArgumentError("debug.print", "fmt", problem, advice) from None
    if unused := [str(key) for key in (*range(len(args)), *kwargs) if key not in used]:
        raise ArgumentError("debug.print", f"argument {unused[0]}", "is not in the format", f"write {fmt + ' {}'!r}")
    show([*text.parts, "\n"])


@short_traceback
def callback(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Call `function` with the values of these arguments when the program runs, once for each time that it gets here.

    What it returns is ignored. Arguments are trees. Traced leaves are arrays and numbers of NumPy in the call, which
    cannot be written to. Other leaves are as they are. Calls keep their order among themselves and with prints.

    >>> import numpy as np
    >>> import anyshape
    >>> seen = []
    >>> f = anyshape.jit(lambda x: anyshape.debug.callback(seen.append, x.sum()))
    >>> f(np.ones(3)), seen
    (None, [np.float64(3.0)])
    """
    pytrees.check_callable("debug.callback", function)
    call(function, pytrees.function_name(function), args, kwargs)


@short_traceback
def breakpoint(*args: Any, **kwargs: Any) -> None:
    """Open the debugger when the program runs, by `sys.breakpointhook`, with the values as variables.

    Values by position are in `args`, others have their names. The debugger shows the line of the function that is
    traced. `PYTHONBREAKPOINT` holds as for Python's own `breakpoint`.

    >>> import sys
    >>> import numpy as np
    >>> import anyshape
    >>> f = anyshape.jit(lambda x: anyshape.debug.breakpoint(x=x, total=x.sum()))
    >>> seen = []
    >>> sys.breakpointhook = lambda: seen.append(sys._getframe(1).f_globals["total"])
    >>> f(np.ones(3)), seen
    (None, [np.float64(3.0)])
    >>> sys.breakpointhook = sys.__breakpointhook__
    """
    where = user_line()
    call(
        _Stop("<anyshape breakpoint>", 1) if where is None else _Stop(where.file, where.line),
        "breakpoint",
        args,
        kwargs,
    )


@contextmanager
def report(path: Any) -> Iterator[None]:
    """Write one page about all programs that are traced inside of the `with` statement, to the file `path`.

    The page lists programs in their order, with the reason why each was traced. For each function it has the counts,
    and for each program its conditions, sizes, kernels and graph. It needs nothing but a browser. It is written after
    an error, too. `anyshape report script.py` does so for a whole script.

    >>> import pathlib
    >>> import numpy as np
    >>> import anyshape
    >>> f = anyshape.jit(lambda x: x * 2 if x.shape[0] > 2 else x)
    >>> page = pathlib.Path("run.html")
    >>> with anyshape.debug.report(page):
    ...     _ = f(np.ones(3)), f(np.ones(1))
    >>> "2 programs of 1 function" in page.read_text("utf-8")
    True
    >>> page.unlink()
    """
    started, made = perf_counter(), list[tuple[float, Any, Any]]()
    listener = lambda function, entry: made.append((perf_counter() - started, function, entry))
    LISTENERS.append(listener)
    try:
        yield
    finally:
        LISTENERS.remove(listener)
        Path(path).write_text(run_page(made), "utf-8")


@dataclass(frozen=True)
class _Stop:
    """Call of the debugger from a frame at a line of the user, with values as variables."""

    file: str
    line: int

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        code = compile("\n" * (self.line - 1) + "_anyshape_hook()", self.file, "exec")
        exec(code, {"args": args, **kwargs, "_anyshape_hook": sys.breakpointhook})
