"""Call Python functions from programs; their results are checked against declared shapes and dtypes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, SpecError, UnusedCallWarning
from anyshape.graph.ir.builder import Builder, Traced, active_builders, user_line
from anyshape.graph.ir.graph import Graph, with_subgraphs
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.spec_parser import parse_size
from anyshape.graph.prover.user_stack import tell
from anyshape.graph.shapes.array_type import ShapeExtent, Unknown, UpperBound
from anyshape.graph.sizes.expr import DimVar, Size, from_atom
from anyshape.numpy.operands.promotion import is_traced, operand, shape_of
from anyshape.ops import control as cb
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing import pytrees


@dataclass(frozen=True)
class _Flat:
    """Function of the leaves of its arguments that returns the leaves of its result."""

    function: Callable[..., Any]
    arguments: Any
    result: Any

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = pytrees.unflatten(self.arguments, leaves)
        result = self.function(*args, **kwargs)
        if (outputs := pytrees.flatten_as(result, self.result)) is None:
            name, advice = pytrees.function_name(self.function), "return what result_spec describes"
            returned, declared = map(pytrees.structure_text, (pytrees.flatten(result)[1], self.result))
            problem = f"gave {returned}, not {declared} as declared"
            raise ArgumentError("pure_callback", name, problem, advice)
        return outputs


@short_traceback
def pure_callback(callback: Callable[..., Any], result_spec, *args, vectorized: bool = False, **kwargs) -> Any:
    """Return the result of `callback` on arrays when the program runs; the callback itself is not traced.

    - `result_spec` is a tree of ShapeDtypeStruct, or of arrays that the result resembles. Sizes are ints and entries of
      `x.shape`. A text may also bound a size or leave it open: "n, 3", "<=n, 4", "?, 4", f"<={x.shape[0]}".
    - Results are checked against it, and open sizes become symbols.
    - The callback must be pure: it may run any number of times, or never. `debug.callback` calls it for what it does.
    - It has no derivative: pass it `stop_gradient(x)`, or call it in a function with a rule, by `custom_jvp`.
    - `vmap` calls it for each example, or once for all with `vectorized`.

    Args:
        args, kwargs: arguments of the callback, which gets arrays of NumPy.

    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct, jit
    >>> unique = lambda x: pure_callback(np.unique, ShapeDtypeStruct(f"<={x.shape[0]}"), x)
    >>> jit(lambda x: unique(x) * 2)(np.array([3.0, 1.0, 3.0]))
    array([2., 6.])
    """
    pytrees.check_callable("pure_callback", callback)
    specs, out_tree = pytrees.flatten_registered(result_spec)
    results = [_promised(spec, i) for i, spec in enumerate(specs)]
    leaves, in_tree = pytrees.flatten((args, kwargs))
    if not leaves and any(isinstance(spec, Traced) for spec in specs):
        advice = "the result comes before the arguments: write pure_callback(f, ShapeDtypeStruct(x.shape, x.dtype), x)"
        raise ArgumentError("pure_callback", "args", "is empty, and result_spec is a traced array", advice)
    operands = [x if isinstance(x, Traced) else _operand(x) for x in leaves]
    flat = cb.Callback(_Flat(callback, in_tree, out_tree), pytrees.function_name(callback))
    outputs = cb.callback(flat, results, *operands, vectorized=vectorized) if results else ()
    if not (callback.__module__ or "").startswith("anyshape."):
        _note_call(flat)
    return pytrees.unflatten(out_tree, [cb.name_sizes(x) for x in outputs])


class _Calls:
    """Calls in the trace of one function of the user, with their lines: its end tells of lines that are left out."""

    def __init__(self) -> None:
        self.of_line: dict[SourceLine | None, list[cb.Callback]] = {}

    def __call__(self, graph: Graph) -> None:
        live = {*map(id, cb.functions_called(_live(graph)))}
        for where, functions in self.of_line.items():  # of all traces of a body, the last one counts
            if live.isdisjoint(map(id, functions)):
                text = f"nothing reads a result of pure_callback({functions[0]}): programs leave it out"
                tell(f"{text}\n  call it by anyshape.debug.callback for what it does", UnusedCallWarning, where)


def _note_call(function: cb.Callback) -> None:
    """Have the end of the trace of the user's function look whether programs make a call."""
    ends = next((b.at_end for b in reversed(active_builders()) if b.at_end is not None), None)
    if ends is not None:
        ends += [] if any(isinstance(end, _Calls) for end in ends) else [_Calls()]
        calls = next(end for end in ends if isinstance(end, _Calls))
        calls.of_line.setdefault(user_line(), []).append(function)


def _live(graph: Graph) -> Graph:
    """Return the graph, and its subgraphs, without dead code."""
    return with_subgraphs(remove_dead_code(graph), _live)


def _operand(x):
    if not pytrees.is_array(x) and not is_traced(x):
        advice = "pass arrays, numbers, or trees of them; the callback can close over anything else"
        raise ArgumentError("pure_callback", "an argument", f"is of type {type(x).__name__}, not an array", advice)
    return operand(x, "pure_callback")


def _promised(spec, position: int) -> tuple[np.dtype, list[Size | ShapeExtent]]:
    """Return the dtype and the extents that a leaf of the specification declares."""
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        advice = 'give ShapeDtypeStruct("n, 3", dtype) for each result'
        raise ArgumentError("pure_callback", f"result_spec, leaf {position},", f"is {spec!r:.80}", advice)
    if isinstance(spec.shape, str):
        return np.dtype(spec.dtype), [_extent(piece, spec.shape) for piece in _pieces(spec.shape)]
    return np.dtype(spec.dtype), list(shape_of(spec.shape))


def _pieces(text: str) -> Iterator[str]:
    """Yield the sizes of a text, which commas outside of brackets separate."""
    start = depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def _extent(text: str, whole: str) -> Size | ShapeExtent:
    if text == "?":
        return Unknown()
    bound = text.removeprefix("<=")
    builders = active_builders()

    def lookup(name: str) -> Size:
        variables = [v for v in _variables(builders) if str(v) == name]
        if len(variables) != 1:
            problem = f"{name} is {'the name of two sizes' if variables else 'not a size'} of this program"
            raise SpecError(whole, problem, 'write an entry of x.shape, as in f"<={x.shape[0]}, 4"')
        return from_atom(variables[0])

    size = parse_size(bound, lookup)
    return UpperBound(size) if bound != text else size


def _variables(builders: Sequence[Builder]) -> list[DimVar]:
    """Return the variables of the programs that are being traced."""
    return list(dict.fromkeys(v for b in builders for v in (*b.dims, *b.runtime)))
