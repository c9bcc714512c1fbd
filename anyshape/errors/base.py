"""Define the base of every error that anyshape raises on purpose."""

from typing import Any

from anyshape.errors import messages


class AnyshapeError(Exception):
    """Base of every error that anyshape raises on purpose. It copies and pickles with all its attributes.

    `trips` are the trips of loops that a run was in, the innermost first: a number from 0, or the range of a block.
    """

    args: tuple[Any, ...]
    trips: tuple[int | range, ...] = ()

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith("anyshape.errors."):
            cls.__module__ = "anyshape.errors"  # tracebacks name the class where users import it from

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args), self.__dict__

    def locate(self, where: object) -> None:
        """Add the user's line to the message, if the error has an attribute `where` that is None."""
        if where is not None and getattr(self, "where", where) is None:
            self.where = where
            first, *rest = str(self).split("\n")
            primitive, function = getattr(self, "primitive", ""), getattr(self, "function", "")
            if primitive and first.startswith(before := f"{messages.operation(primitive, None)}: "):
                first = f"{messages.operation(primitive, where)}: {first.removeprefix(before)}"
            elif function and first.startswith(before := f"{function}: "):
                first = f"{messages.called(function, where)}: {first.removeprefix(before)}"
            self.args = ("\n".join([first + messages.at(where), *rest]),)

    def locate_in_loops(self, trips: tuple[int | range, ...]) -> None:
        """Add the trips of loops that were running to the message, unless it has some."""
        if trips and not self.trips:
            self.trips = trips
            first, *rest = str(self).split("\n")
            self.args = ("\n".join([first + messages.in_trips(trips), *rest]),)


def _rebuild(kind: type[AnyshapeError], args: tuple[Any, ...]) -> AnyshapeError:
    """Return an error with this message, which is not built again."""
    error: AnyshapeError = BaseException.__new__(kind)  # whichever built-in errors it is too
    error.args = args
    return error


AnyshapeError.__module__ = "anyshape.errors"
