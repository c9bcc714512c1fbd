"""Tables of who serves the names of a module of SciPy: a module of anyshape by a row, or SciPy itself."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.serve import Module as Fallback
from anyshape.numpy.serve import falls_through, through
from anyshape.support.packages import load

Function = Callable[..., Any]


def signed_as_in(package: Any) -> Callable[[Function], Function]:
    """Return a decorator: the function has the parameters and defaults of the one of its name in a package.

    It gets all arguments by name. What it has no parameter for keeps its default, or is refused.
    """

    def decorate(function: Function) -> Function:
        name, taken = function.__name__, inspect.signature(function).parameters
        signature = inspect.signature(getattr(package, name))
        defaults = {key: parameter.default for key, parameter in signature.parameters.items() if key not in taken}
        missing = dict.fromkeys(taken.keys() - signature.parameters.keys())  # from an older release

        @functools.wraps(function)
        def served(*args, **kwargs):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
            bound.apply_defaults()
            for key, default in defaults.items():
                if bound.arguments.pop(key) is not default:
                    raise ArgumentError(name, key, "is not available for traced arrays", "leave it out")
            return function(**bound.arguments, **missing)

        served.__signature__ = signature
        return served

    return decorate


def _in_traces(function: Function, package: Any) -> Function:
    """Return a function whose calls outside of traces go to that of its name in a package, which loads then."""

    @functools.wraps(function)
    def served(*args, **kwargs):
        return (getattr(package, function.__name__) if active() is None else function)(*args, **kwargs)

    return served


class Module(Fallback):
    """Public names of one module of SciPy. A row names the submodule that defines names, which loads at first use.

    Names in the row "" are submodules themselves.
    Functions in `through` leave calls without traced arguments to SciPy, and those in `outside` calls outside of
    traces; what is in `own` gets all calls. Those in `lent` run SciPy's code. `finite` gives functions by the arguments
    that SciPy checks for infinities and NaN, unless `check_finite` is false.
    """

    def __init__(
        self,
        package: Any,
        name: str,
        own: Mapping[str, str],
        through: Mapping[str, str] | None = None,
        finite: Mapping[str, str] | None = None,
        lent: str = "",
        outside: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(package, name)
        rows = (*own.items(), *(through or {}).items(), *(outside or {}).items())
        self._homes = {n: home for home, names in rows for n in names.split()}
        self._finite = {n: arguments for arguments, names in (finite or {}).items() for n in names.split()}
        self._through, self._outside = (" ".join((rows or {}).values()).split() for rows in (through, outside))
        self.lent = lent.split()

    @property
    def own(self) -> list[str]:
        """Names that anyshape defines."""
        return sorted([*self._homes, *self.lent])

    def served_by(self, name: str) -> Any:
        """Return what a name stands for: a function of ours with what its rows say of it, or SciPy's own."""
        if name in self.lent:
            theirs = getattr(self.package, name)
            function = through(load("anyshape.scipy.operands.source").lent(theirs), theirs, theirs)
        elif name not in self._homes:
            return super().served_by(name)
        elif not self._homes[name]:
            return load(f"anyshape.{self.name}.{name}")
        else:
            function = getattr(load(f"anyshape.{self.name}.{self._homes[name]}"), name)
        if name in self._finite:
            function = load("anyshape.scipy.operands.conversion").checks_finite(function, self._finite[name])
        if name in self._through:
            function = falls_through(self.package)(function)
        if name in self._outside:
            function = _in_traces(function, self.package)
        if hasattr(function, "__wrapped__"):  # a pickle finds it here, and in its home the function that it calls
            function.__module__, function.__qualname__ = f"anyshape.{self.name}", name
        return function
