"""Define the errors about values and arguments of traced functions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anyshape.errors import messages
from anyshape.errors.messages import AnyshapeError
from anyshape.errors.size_errors import DIVISIONS

# Checks that do not hold where Python's own functions of numbers raise OverflowError.
_OVERFLOWS = {
    "cannot convert float infinity to integer",
    "math range error",
    "Numerical result out of range",
    "Python int too large to convert to C long",
}


class CustomRuleError(AnyshapeError, TypeError, ValueError):
    """Raised where a derivative rule of the user, or a solver, gives what does not fit its function.

    `function` is the function as the message names it, `where` the line of the rule.
    """

    def __init__(self, function: str, problem: str, advice: str, where: object = None) -> None:
        self.function, self.problem, self.advice, self.where = function, problem, advice, where
        super().__init__(f"{function}: {problem}{messages.at(where)}\n  {advice}")


class DTypeError(AnyshapeError, TypeError, NotImplementedError):
    """Raised for a dtype that a primitive or a transform does not accept.

    NumPy raises TypeError, and `scipy.signal` NotImplementedError, so this is both.
    """

    def __init__(self, primitive: str, why: str, advice: str, where: object = None) -> None:
        self.primitive, self.why, self.advice, self.where = primitive, why, advice, where
        super().__init__(f"{messages.operation(primitive, where)}: {why}{messages.at(where)}\n  {advice}")


class ArgumentError(AnyshapeError, TypeError, ValueError, RuntimeError):
    """Raised for an argument, named by its path, or a result that a transform does not accept.

    NumPy raises TypeError or ValueError, and `scipy.ndimage` RuntimeError, so this is all of them. `where` is the
    line of traced code.
    """

    where: object = None

    def __init__(self, function: str, path: str, problem: str, advice: str) -> None:
        self.function, self.path, self.problem, self.advice = function, path, problem, advice
        super().__init__(f"{function}: {path} {problem}\n  {advice}")


class ConcretizationError(AnyshapeError, TypeError):
    """Raised where Python needs the value of a traced array, which exists only when the program runs."""

    def __init__(self, asked: str, value: str, where: object = None, instead: str = "") -> None:
        self.asked, self.value, self.where = asked, value, where
        self.instead = instead or "write a choice with np.where, or move this code outside the traced function"
        if messages.is_assignment(where):
            self.instead = (
                "create the array by np.zeros_like(x) or anyshape.numpy: one of NumPy cannot hold traced values"
            )
        elif indexed := messages.indexed(where):
            taken = f"anyshape.numpy.take({indexed}, i, axis=0)"
            self.instead = f"pass {indexed} as an argument of the traced function or loop, or write {taken}"
        array = f"a traced array {value}" if value else "a traced array"
        problem = f"{asked} needs the value of {array}, which is not known while tracing"
        super().__init__(f"{messages.written(where, asked)}{problem}{messages.at(where)}\n  {self.instead}")


class DataDependentSizeError(ConcretizationError):
    """Raised where Python decides on run-time sizes; `sizes` says which operation makes each."""

    def __init__(self, asked: str, sizes: Mapping[str, str], where: object = None) -> None:
        self.asked, self.sizes, self.value, self.where = asked, dict(sizes), ", ".join(sizes), where
        self.instead = "write the code for every size, or the choice with np.where, max_dim or min_dim"
        problem = messages.data_dependent(asked, self.sizes)
        first = f"{messages.written(where, asked)}{problem}{messages.at(where)}"
        AnyshapeError.__init__(self, f"{first}\n  {self.instead}")


GLOBAL_GENERATOR = "NumPy's global generator"


class FrozenDrawError(AnyshapeError, RuntimeError):
    """Raised where a traced function draws random numbers or advances an iterator: each call would get the same.

    `source` is the path to the generator or iterator, whose state is restored.
    """

    def __init__(self, function: str, source: str, *, is_random: bool = True, where: object = None) -> None:
        self.function, self.source, self.is_random, self.where = function, source, is_random, where
        does, repeated = ("changes the state of", "numbers") if is_random else ("takes an item of", "item")
        problem = f"{does} {source} while it is traced, and each call would repeat the {repeated} of the trace"
        advice = f"take it outside of {function}, and pass it as an argument"
        if is_random:
            advice = f"draw from a numpy.random.Generator that is an argument of {function}"
        if source == GLOBAL_GENERATOR:
            advice = "write `import anyshape.numpy as np`: its np.random draws in each call"
        text = getattr(where, "expression", "") or messages.line_text(where) or function
        super().__init__(f"{text}: {problem}{messages.at(where)}\n  {advice}")


_OF_CHECKS = (  # what to do, by what the message says
    ("outside of the range of the table", "pass points within it, or write bounds_error=False or fill_value=..."),
    ("x must increase", "sort the points by np.argsort(x), and leave out repeated ones"),
    ("different signs", "give two ends between which the function changes its sign"),
    ("domain error", "pass numbers for which the function is defined, as by np.maximum(x, 0)"),
    ("", "pass arguments that satisfy this check"),
)


class CheckError(AnyshapeError, ValueError, RuntimeError):
    """Raised where a check fails: `observed` describes the values that are false, `sizes` the sizes of a claim.

    It is a RuntimeError too, as SciPy raises where iterations do not converge.
    """

    def __init__(self, message: str, observed: Any = "", where: object = None, sources: Any = None) -> None:
        self.sizes = {} if isinstance(observed, str) else dict(observed)
        self.observed = observed if isinstance(observed, str) else messages.read_sizes(observed, sources or {})
        self.message, self.where = message, where
        false = f": {self.observed}" if isinstance(observed, str) and observed not in ("", "False") else ""
        advice = next(text for part, text in _OF_CHECKS if part in message)
        super().__init__(f"{message}{false}{messages.at(where)}\n  {advice}")


class NegativeSizeError(CheckError):
    """Raised where data gives a negative `size`; `primitive` takes it."""

    def __init__(self, size: int, primitive: str = "size") -> None:
        self.size, self.sizes, self.primitive, self.where = size, dict[str, int](), primitive, None
        self.message, self.observed = "a size cannot be negative", str(size)
        text = f"{messages.operation(primitive, None)}: {self.message}, and this one is {size}"
        AnyshapeError.__init__(self, f"{text}\n  give a size of at least 0")


class DivisionCheckError(CheckError, ZeroDivisionError):
    """Raised where a check fails after which Python or NumPy would divide by zero."""


class OverflowCheckError(CheckError, OverflowError):
    """Raised where a check fails because a number is too large for Python's own functions of numbers."""


def check_error(message: str) -> type[CheckError]:
    """Return the class of the error of a check with this message."""
    if message in DIVISIONS:
        return DivisionCheckError
    return OverflowCheckError if message in _OVERFLOWS else CheckError


class BranchMismatchError(AnyshapeError, TypeError):
    """Raised where the branches of a conditional give results of different trees, ranks or dtypes.

    `branches` has for two of them the name, what it gives, and the line.
    """

    def __init__(
        self, function: str, path: str, branches: Sequence[tuple[str, str, object]], advice: str, where: object = None
    ) -> None:
        self.function, self.path, self.branches, self.where = function, path, list(branches), where
        self.advice = advice
        texts = [f"{name} gives {text}{messages.at(line)}" for name, text, line in branches]
        about = f"{path}: " if path else ""
        super().__init__(f"{messages.operation(function, where)}: {about}{', and '.join(texts)}\n  {advice}")


class CarryMismatchError(AnyshapeError, TypeError):
    """Raised where a trip of a loop, or the function of an associative scan, changes the type of what it takes.

    `before` and `after` are what a trip takes and gives; `line` is where it gives it.
    """

    def __init__(
        self, function: str, body: str, path: str, before: str, after: str, advice: str, line=None, where=None
    ) -> None:
        self.function, self.body, self.path, self.line, self.where = function, body, path, line, where
        self.before, self.after = before, after
        problem = f"{body} takes {path} as {before}, and gives {after}{messages.at(line)}"
        super().__init__(f"{messages.operation(function, where)}: {problem}\n  {advice}")


class DecisionError(AnyshapeError, ValueError):
    """Raised where one program cannot follow a decision of Python on a value.

    `turn` counts the decisions before it. `answers` are two that differ. They are of examples of a batch, or of the
    trace and a call of a program that has one path.
    """

    where: object = None

    def __init__(self, turn: int, answers: Sequence[bool | int], problem: str = "") -> None:
        self.turn, self.answers = turn, list(answers)
        self.problem = problem or "examples of a batch decide differently"
        text = f"{self.problem}: {' and '.join(map(str, answers))}"
        advice = "write the choice with np.where or anyshape.cond, and the loop with anyshape.while_loop"
        super().__init__(f"{text}\n  {advice}")


class MutationError(AnyshapeError, TypeError):
    """Raised for a write to memory that a program may not change: of an argument, of a constant, of a read-only view.

    A container of the arguments in which the function replaced a part raises it too.

    `{x}` in `instead` stands for the array as the user's line names it.
    """

    def __init__(self, asked: str, problem: str, instead: str, where: object = None) -> None:
        written, target = messages.in_place(asked, where)
        self.asked, self.problem, self.instead, self.where = asked, problem, instead.replace("{x}", target), where
        super().__init__(f"{written}: {problem}{messages.at(where)}\n  {self.instead}")


class SymbolicIterationError(AnyshapeError, TypeError):
    """Raised for iteration over an axis whose size is not known while tracing: of run-time size, or under `trace`."""

    def __init__(self, value: str, where: object = None) -> None:
        self.value, self.where = value, where
        problem = f"iteration over the first axis of {value}, whose size is not known while tracing"
        first = f"{messages.written(where)}{problem}{messages.at(where)}"
        super().__init__(f"{first}\n  write the loop with anyshape.scan, which takes every number of rows")


class UnhashableError(AnyshapeError, TypeError):
    """Raised for a traced array or number as a key of a dict or in a set."""

    instead: str = "use a name or a position as the key, and the array as the value"

    def __init__(self, value: str, kind: type, where: object = None) -> None:
        self.value, self.kind, self.where = value, kind, where
        if re.search(r" in \{[^:]*$", getattr(where, "expression", "")):
            self.instead = "write the values as a list, as in x in [1, 2]"
        elif call := re.fullmatch(r"(?!hash\()([\w.]+)\(.*\)", getattr(where, "expression", "")):
            is_set = call[1].rpartition(".")[2] in ("set", "frozenset", "Counter")
            self.instead = "leave out the cache of this function, or call it outside with numbers"
            if is_set:
                self.instead = "write np.unique(x), with return_counts=True for how often each occurs"
        because = f"an array has no hash (unhashable type: '{kind.__module__}.{kind.__name__}')"
        if kind.__hash__ is not None:
            because = "its hash is that of its value, which is not known while tracing"
        problem = f"a traced array {value} is not a key of a dict or a set, as {because}"
        super().__init__(f"{messages.written(where)}{problem}{messages.at(where)}\n  {self.instead}")


class LeakedTracerError(AnyshapeError, RuntimeError):
    """Raised for a traced array that outlives its trace through a global, an attribute or a closure.

    `elsewhere` is True for one that another thread uses while its trace goes on.
    """

    def __init__(self, value: str, origin: object = None, where: object = None, elsewhere: bool = False) -> None:
        self.value, self.origin, self.where, self.elsewhere = value, origin, where, elsewhere
        made = f"the traced {value}{f', made{messages.quoted(origin)} at {origin},' if origin else ''}"
        advice = "return it from the traced function instead of storing it"
        used = "after its trace had ended"
        if elsewhere:
            used, advice = "in another thread than its trace", "compute in the thread that calls the traced function"
        first = f"{messages.written(where)}{made} was used {used}{messages.at(where)}"
        super().__init__(f"{first}\n  {advice}")


class UnsupportedFunctionError(AnyshapeError, TypeError):
    """Raised for a NumPy function, or an option of one, that has no counterpart on traced arrays."""

    def __init__(self, function: str, problem: str, advice: str, where: object = None) -> None:
        self.function, self.problem, self.advice, self.where = function, problem, advice, where
        called = messages.called(function, where)
        super().__init__(f"{called}: {problem}{messages.at(where)}\n  {advice}")
