"""Base of all errors, and the parts of their messages: operations, sizes, places and advice.

Expressions as the user wrote them, read from the source line of a code position.

Python records for each bytecode instruction which columns of the source it was compiled from. An error reads them when
it is made; recording a position costs nothing but a reference to the code object.
"""

import ast
import functools
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from opcode import opmap
from types import CodeType
from typing import Any


class AnyshapeError(Exception):
    """Base of every error that anyshape raises on purpose. It copies and pickles with all its attributes.

    Tools that know a class of error and a text make the error from the text alone: its data are None then.

    `trips` are the trips of loops that a run was in, the innermost first: a number from 0, or the range of a block.
    """

    args: tuple[Any, ...]
    trips: tuple[int | range, ...] = ()
    _data: frozenset[str] = frozenset()  # names of what classes keep

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith("anyshape.errors."):
            cls.__module__ = "anyshape.errors"  # tracebacks name the class where users import it from
        if "__init__" in vars(cls):
            cls.__init__ = _from_a_text_too(cls, vars(cls)["__init__"])  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        if name in self._data:
            return None
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args), self.__dict__

    def locate(self, where: object) -> None:
        """Add the user's line to the message, if the error has an attribute `where` that is None."""
        if where is not None and getattr(self, "where", where) is None:
            self.where = where
            first, *rest = str(self).split("\n")
            primitive, function = getattr(self, "primitive", ""), getattr(self, "function", "")
            if primitive and first.startswith(before := f"{operation(primitive, None)}: "):
                first = f"{operation(primitive, where)}: {first.removeprefix(before)}"
            elif function and first.startswith(before := f"{function}: "):
                first = f"{called(function, where)}: {first.removeprefix(before)}"
            self.args = ("\n".join([first + at(where), *rest]),)

    def locate_in_loops(self, trips: tuple[int | range, ...]) -> None:
        """Add the trips of loops that were running to the message, unless it has some."""
        if trips and not self.trips:
            self.trips = trips
            first, *rest = str(self).split("\n")
            self.args = ("\n".join([first + in_trips(trips), *rest]),)

    def locate_in_example(self, example: int, shapes: str, advice: str = "") -> None:
        """Let the message name an example and its shapes in place of the trip of the loop over all examples."""
        first, *rest = str(self).split("\n")
        rest = [f"  {advice}"] if advice else rest
        first = first.removesuffix(in_trips(self.trips)) + in_trips(self.trips[:-1])
        self.args = ("\n".join([f"{first} in example {example}, where {shapes}", *rest]),)


def _from_a_text_too(cls: type[AnyshapeError], construct: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that takes a message instead of the data, where the data are more than one text."""
    code = construct.__code__
    fields = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    needed = code.co_argcount - 1 - len(construct.__defaults__ or ())
    cls._data = cls._data | {*fields, *code.co_names}

    @functools.wraps(construct)
    def from_data_or_text(self: AnyshapeError, *args: Any, **data: Any) -> None:
        if len(args) == 1 and not data and (needed > 1 or "\n  " in str(args[0])):  # a text, or a whole message
            super(AnyshapeError, self).__init__(str(args[0]))
        else:
            construct(self, *args, **data)

    return from_data_or_text


def _rebuild(kind: type[AnyshapeError], args: tuple[Any, ...]) -> AnyshapeError:
    """Return an error with this message, which is not built again."""
    error: AnyshapeError = BaseException.__new__(kind)  # whichever built-in errors it is too
    error.args = args
    return error


AnyshapeError.__module__ = "anyshape.errors"


# NumPy's names of primitives that are called otherwise, for code without its source.
_NUMPY_NAMES = {
    "at": "x.at[...]", "add_at": "add.at", "adjugate": "det", "betainc_derivative": "betainc", "interpolate": "interp",
    "spline_filter": "interp", "student_derivative": "stdtr", "broadcast_in_dim": "broadcast_to",
    "callback": "pure_callback", "cholesky_cotangent": "cholesky", "cholesky_tangent": "cholesky", "complex": "astype",
    "effect": "debug.print", "cond_each": "cond", "order_draw": "draw", "raise": "check", "rerun": "scan",
    "slice_add": "x[...] += v", "slice_update": "x[...] = v",
    "while": "while_loop", "while_each": "while_loop", "convert": "astype",
    "gammainc_derivative": "gammainc", "expit_slope": "expit", "riemann_zeta": "zeta",
    "zeta_derivative": "zeta", "polygamma_difference": "polygamma", "tanh_slope": "tanh", "decide": "bool",
    "custom_argument": "custom_jvp", "custom_vjp_tangent": "custom_vjp", "cummax": "maximum.accumulate",
    "cummin": "minimum.accumulate", "mirror": "pinv", "direction": "hypot", "div": "divide", "dot_general": "tensordot",
    "enter_checkpoint": "checkpoint", "eq": "equal", "gather": "x[...]", "gather_dynamic": "x[...]",
    "ge": "greater_equal", "getitem": "x[...]", "gt": "greater", "index_bounds": "x[...]", "iota": "arange",
    "le": "less_equal", "leave_checkpoint": "checkpoint", "length": "sqrt", "lt": "less", "lu_factor": "solve",
    "lu_solve": "solve", "mul": "multiply", "name_sizes": "pure_callback", "narrow": "astype", "ne": "not_equal",
    "neg": "negative", "nonzero_each": "nonzero", "permute": "take_along_axis", "pow": "power", "power_by": "power",
    "put_add": "add.at", "python_int": "int", "float_of_ints": "float", "float_of_size": "float", "ranked": "sort",
    "reduce_and": "all", "reduce_logsumexp": "logsumexp", "reduce_max": "max", "reduce_min": "min", "reduce_or": "any",
    "reduce_prod": "prod", "reduce_sum": "sum", "repeated": "repeat", "repeated_each": "repeat", "rev": "flip",
    "scatter_add": "x.at[...].add", "scatter_max": "x.at[...].max", "scatter_min": "x.at[...].min",
    "scatter_mul": "x.at[...].multiply", "scatter_set": "x.at[...].set", "sized": "cond", "select": "where",
    "size_token": "x.shape", "size_token_each": "x.shape", "size_value": "x.shape", "slice": "x[...]",
    "spread": "correlate", "tied": "max", "unique_each": "unique", "sub": "subtract", "sum_to": "sum", "warn": "x.mean",
    "warn_below": "x.mean", "upfirdn": "convolve", "weigh": "correlate", "window_bounds": "x[...]",
    "binary_steps": "logical_and", "toeplitz_solve": "solve", "banded_eigh": "eigh", "banded_eigvalsh": "eigvalsh",
    "banded_cholesky": "cholesky", "above": "triu", "put_above": "triu", "nearest": "argmin",
}  # fmt: skip


def operation(primitive: str, where: object) -> str:
    """Return an operation as the user wrote it, or NumPy's name of the primitive without its source.

    A transform of a function, such as `grad(loss)`, is called by that.
    """
    written = "" if "(" in primitive else getattr(where, "expression", "")
    return written or numpy_name(primitive)


def written(where: object, *known: str) -> str:
    """Return the expression of the user's line as a prefix, unless the message says the same."""
    expression = getattr(where, "expression", "")
    return f"{expression}: " if expression and expression not in known else ""


class Text(str):
    """Text that a prompt shows as it is, without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def quoted(where: object) -> str:
    """Return the expression of the user's line as `by x * 2`, where it is known."""
    expression = getattr(where, "expression", "")
    return f" by {expression}" if expression else ""


def in_place(asked: str, where: object) -> tuple[str, str]:
    """Return an assignment in the words of the user's line, and the name of the array that it writes to."""
    if not (expression := getattr(where, "expression", "")):
        return asked, "x"
    target = expression.removesuffix(_ASSIGNED).partition("[")[0]
    if (assigned := re.fullmatch(_IN_PLACE, expression)) is not None:
        target = assigned[1]
    return expression, target if target.isidentifier() else "x"


def is_assignment(where: object) -> bool:
    """True if the user's line assigns to an element."""
    return bool(getattr(where, "expression", "").endswith(_ASSIGNED))


def indexed(where: object) -> str:
    """Return the name of what the user's line indexes, as in `x[i + 1:]`; else an empty text."""
    return match[1] if (match := re.fullmatch(_INDEXED, getattr(where, "expression", ""))) else ""


_INDEXED = r"([\w.]+)\[[^\]]+\]"
_ASSIGNED = " = ..."  # of an expression whose value is not part of it
_IN_PLACE = r"(.+?) (\S+)= (.+)"  # x += y


def called(function: str, where: object) -> str:
    """Return a call of a function as the user wrote it, or its name where the user's line calls another one."""
    written = operation(function, where)
    callee, call, _ = written.partition("(")
    name = function.removesuffix("()").rpartition(".")[2]
    is_operator = " " in callee or not written.endswith(")")  # an operand of it is a call, as in x * f(y)
    return written if not call or is_operator or callee.endswith(name) or name == "array" else numpy_name(function)


def numpy_name(primitive: str) -> str:
    """Return NumPy's name of a primitive."""
    return _NUMPY_NAMES.get(primitive, primitive)


def at(where: object) -> str:
    """Return the user's line and its callers as a suffix, empty if it is not known."""
    return f" at {getattr(where, 'trail', where)}" if where is not None else ""


def in_trips(trips: Sequence[int | range]) -> str:
    """Return the trips of loops, the innermost first, as a suffix, empty if there are none."""
    texts = [f"one of trips {t.start} to {t.stop - 1}" if isinstance(t, range) else f"trip {t}" for t in trips]
    return f" in {' of a loop in '.join(texts)}" if texts else ""


def line_text(where: object) -> str:
    """Return the user's line as written, empty if its source is not known."""
    file, line = getattr(where, "file", ""), getattr(where, "line", 0)
    return shortened(linecache.getline(file, line).strip())


def shortened(text: str, limit: int = 100) -> str:
    """Return the text, cut where it is long."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def window(text: str, column: int) -> tuple[str, str]:
    """Return one line of text around a column, and the blanks that lead to the column in it."""
    start = 0 if len(text) <= 100 else max(0, column - 50)
    shown = text[start : start + 100].replace("\n", " ").replace("\t", " ")
    return f"{'...' if start else ''}{shown}", " " * (column - start + (3 if start else 0))


def brief(x: object) -> str:
    """Return a number to six digits, and anything else as it prints."""
    return f"{x:.6g}" if isinstance(x, (float, complex)) else str(x)


def few(texts: Sequence[str], most: int = 3) -> list[str]:
    """Return at most `most` texts, each cut where it is long, and the number of the others."""
    cut = [text if len(text) <= 80 else text[:77] + "..." for text in texts[:most]]
    return cut + ([f"{len(texts) - most} more"] if len(texts) > most else [])


def read_from(name: str, source: str) -> str:
    """Return the source of a size as a suffix, empty if the name of the size says it."""
    return f" from {source}" if source not in ("", name) else ""


def ragged(shapes: Mapping[tuple[int, ...], tuple[int, ...]]) -> str:
    """Return which examples of a batch have which sizes, if that is known."""
    if not shapes:
        return "vmap needs one size for all examples, and here each has its own"
    parts = [
        f"{shape[0] if len(shape) == 1 else shape} in example {i[0] if len(i) == 1 else i}"
        for i, shape in shapes.items()
    ]
    return f"vmap needs one size for all examples, and it is {' and '.join(parts)}"


# Kinds of sizes that are not exact, with the advice for each.
OBSERVED = {
    "symbolic": "not known while tracing",
    "run-time": "a size that depends on data",
    "upper bound": "only an upper bound",
    "unknown": "not known at all",
}
_NAMED = "give the array's sizes names with anyshape.ops.name_sizes, or take the size from an array that has it"
ADVICE = {
    "symbolic": "give the size a fixed value, or write it with array operations, which take every size",
    "run-time": "write it with array operations, which take every size, or move it outside the traced function",
    "upper bound": _NAMED,
    "unknown": _NAMED,
}


def undetermined(
    variable: str,
    equations: Sequence[str],
    repeated: bool,
    same: tuple[Mapping[str, int], Mapping[str, int]] | None,
    missing: str,
) -> tuple[str, str, str]:
    """Return the equations for a size that inputs do not determine, the problem and the advice."""
    stated = " and ".join(few(equations))
    why = (
        f"{stated} {'say the same of it' if len(equations) == 2 else 'follow from one another'}"
        if repeated and len(equations) > 1
        else f"only {stated} {'mentions' if len(equations) == 1 else 'mention'} it"
    )
    choices = [", ".join(f"{n} = {size}" for n, size in choice.items()) for choice in same or ()]
    if choices:
        problem = f"the sizes of the inputs do not determine {variable}: {why} ({' and '.join(choices)} look alike)"
    else:
        problem = f"{variable} cannot be found from the sizes of the inputs: {why}"
    advice = (
        f"give some input an axis of size {variable} alone{f', declare {missing}' if missing else ''}, "
        f"or pass it as an integer: ShapeDtypeStruct((), int, value={variable!r})"
    )
    return stated, problem, advice


def decided(witnesses: Mapping[bool, Mapping[str, int]], size: str) -> tuple[str, str, str]:
    """Return the verdict on a claim about sizes, the sizes that were tried, and the advice.

    `size` is the size whose value Python needs, if it needs one.
    """
    sizes = {answer: ", ".join(f"{n}={v}" for n, v in w.items()) for answer, w in sorted(witnesses.items())}
    if size and sizes:
        advice = (
            "write a loop with anyshape.fori_loop, use jit, which makes a program for each value, or let it stay a "
            "size: anyshape.numpy takes sizes as they are, as in anyshape.numpy.zeros(x.shape)"
        )
        return "not the same for every size", f"tried {' and '.join(sizes.values())}", advice
    advice = "use jit, which keeps a program for each answer, or write the choice with np.where, max_dim or min_dim"
    shown = "; ".join(f"{at}: {answer}" for answer, at in sizes.items())
    both = len(witnesses) == 2
    verdict = "neither true nor false for every size" if both else "not decided"
    missing = "no sizes were found for the other answer" if shown else "no sizes were found for either answer"
    return verdict, shown if both else "; ".join([shown, missing] if shown else [missing]), advice


def out_of_range(index: int, axis: int, size: int, window: int) -> str:
    """Return the problem with an index in NumPy's words."""
    of = f" for a window of {window}" if window != 1 else ""
    return f"index {index} is out of bounds for axis {axis} with size {size}{of}"


def scope_origins(sizes: Sequence[str], origins: Sequence[object]) -> str:
    """Return each size with the place where its scope was made."""
    lines = ["elsewhere" if origin is None else f"at {origin}" for origin in origins]
    return " and ".join(f"{size} of the scope made {line}" for size, line in zip(sizes, lines, strict=True))


def too_much(needed: int | None, limit: int, sizes: Mapping[str, int], again: int | None) -> str:
    """Return how many bytes a run may need, how many with rematerialisation, and how many it is allowed."""
    if needed is None:
        less = f" without checkpoint slots; with one, it may need {again} bytes" if again is not None else ""
        return f"no bound of its memory is known{less}, and max_bytes is {limit}"
    call = ", ".join(f"{n} = {v}" for n, v in sizes.items())
    less = f", {again} where values are computed again" if again is not None else ""
    return f"may need {needed} bytes{f' for {call}' if call else ''}{less}, and max_bytes is {limit}"


def data_dependent(needed: str, sizes: Mapping[str, str]) -> str:
    """Return that Python needs what depends on run-time sizes, with the expression that makes each."""
    makers = " and ".join([f"{name} ({maker})" for name, maker in sizes.items()])
    return f"Python needs {needed}, and {makers} depends on data: it is not known while tracing"


def read_sizes(sizes: Mapping[str, int], sources: Mapping[str, str]) -> str:
    """Return sizes with the source of each."""
    return ", ".join([f"{name} = {size}{read_from(name, sources.get(name, ''))}" for name, size in sizes.items()])


def specialised(size: str, sizes: Mapping[str, int], constant: int | None, why: str, where: object) -> str:
    """Return that a size which was declared dynamic would have been bound, and what to do."""
    call = ", ".join(f"{n}={v}" for n, v in sizes.items())
    reason = f"({why}{f' with {call}' if call else ''}){at(where)}"
    inferred = f"{size} was declared dynamic, and is inferred to be the constant {constant}"
    narrowed = f"{size} was declared dynamic, and a decision depends on it"
    advice = "write the code for every size, or declare the size AUTO or STATIC to have a program for each case"
    return f"{written(where)}{narrowed if constant is None else inferred} {reason}\n  {advice}"


def leaves_advice(count: int, wanted: int) -> str:
    """Return the advice for a tree of leaves that does not match another one."""
    if count == wanted:
        return "give the leaves in the same containers, with the same keys"
    return f"give {wanted} {'leaf' if wanted == 1 else 'leaves'}, not {count}"


_LONGEST = 60  # characters of an expression in a message
_LONGEST_OPERAND = 32  # characters of an operand that is repeated in front of `.shape[0]`
_MODULES = frozenset(("np", "numpy", "anp", "anyshape", "xp", "jnp", "scipy", "linalg", "special"))
_BYTES_PER_INSTRUCTION = 2
STORES = {opmap.get(name) for name in ("STORE_SUBSCR", "STORE_SLICE")}


def is_cell(file: str) -> bool:
    """Return whether a file is a cell of a notebook, or of IPython."""
    return "ipykernel_" in file or file.startswith("<ipython-input")


def file_label(file: str) -> str:
    """Return a file as messages name it: without its folders, and a cell of a notebook by its number, as `In[3]`."""
    if is_cell(file):
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        named = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
        if named is not None:
            return str(named[1])
    return file.rpartition("/")[2]


def expression_at(code: CodeType, offset: int) -> ast.AST | None:
    """Return the expression or statement that the instruction at `offset` belongs to, None without its source."""
    text = _segment(code, offset)
    if not text.strip():
        return None
    if code.co_code[offset] in STORES:
        text = f"{text} = ..."
    for source in (f"({text.strip()})", text):
        try:
            statement = ast.parse(textwrap.dedent(source)).body
        except (SyntaxError, ValueError):
            continue
        if len(statement) == 1:
            return _essence(statement[0])
    return None


def _segment(code: CodeType, offset: int) -> str:
    """Return the source columns of one instruction, indented as in the file."""
    position = next(islice(code.co_positions(), offset // _BYTES_PER_INSTRUCTION, None), None)
    if offset < 0 or position is None or None in position:
        return ""
    first, last, start, end = position
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]  # type: ignore[arg-type,operator]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = b" " * start + lines[0][start:]  # type: ignore[operator]
    return b"".join(lines).decode(errors="replace")


def _essence(statement: ast.stmt) -> ast.AST:
    """Return the part of a statement that computes: the test of an `if`, the value of an expression statement."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        return value.test if isinstance(value, ast.IfExp) else value
    return statement.test if isinstance(statement, (ast.If, ast.While, ast.Assert)) else statement


def show_expression(node: ast.AST) -> str:
    """Return the expression on one line; the arguments of a long call are left out."""
    if isinstance(node, ast.For):
        return f"for {ast.unparse(node.target)} in {show_expression(node.iter)}"
    text = ast.unparse(node).partition("\n")[0]
    if len(text) <= _LONGEST:
        return text
    if isinstance(node, ast.Call):
        return f"{show_expression(node.func)}(...)"
    return f"{text[: _LONGEST - 3]}..."


def operand_texts(node: ast.AST, functions: Sequence[str]) -> list[str]:
    """Return the operands of an operator or of a call of one of the functions; of a method the object comes first.

    A call of another function has other operands than the functions that it calls inside.
    """
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) not in functions:
        return []
    return [_operand_text(x) for x in _operands(node)]


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Subscript):
        return [node.value]
    return _call_operands(node) if isinstance(node, ast.Call) else []


def _call_operands(call: ast.Call) -> list[ast.expr]:
    """Return the operands of a call: a list of arrays counts as its members, a subscript of einsum as nothing."""
    operands = [x for x in call.args if not (isinstance(x, ast.Constant) and isinstance(x.value, str))]
    if operands and isinstance(operands[0], (ast.List, ast.Tuple)):
        operands = operands[0].elts
    if any(isinstance(x, ast.Starred) for x in operands):
        return []
    return [*([call.func.value] if _is_method(call.func) else []), *operands]  # type: ignore[attr-defined]


def _is_method(function: ast.expr) -> bool:
    """Return True if a called attribute belongs to an array and not to a module."""
    root = function.value if isinstance(function, ast.Attribute) else None
    while isinstance(root, ast.Attribute):
        root = root.value
    return root is not None and not (isinstance(root, ast.Name) and root.id in _MODULES)


def _operand_text(node: ast.expr) -> str:
    """Return an operand that `.shape[0]` can follow, "" for a long one."""
    text = ast.unparse(node)
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        text = f"({text})"
    return text if len(text) <= _LONGEST_OPERAND else ""
