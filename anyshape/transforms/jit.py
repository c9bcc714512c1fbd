"""`jit`: the public transform, and how other transforms are jitted.

`explain`: describe the program that a call would use, without running it.

Programs that leave the process: `export` and `load`.

`profile`: measure the time of each step of a call.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from anyshape.errors import ArgumentError, InconclusiveDimensionError
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.inspect.explanation import Explanation
from anyshape.support import elsewhere
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import profiler, profiles, program_file, saved_trees, sharing, size_paths, traced_program
from anyshape.support.true_types import has_type
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.pytrees import check_callable, flatten, function_name, is_array, is_registered, unflatten
from anyshape.tracing.trace import Trace
from anyshape.transforms.arguments.dynamic_shapes import dynamic_shapes_of
from anyshape.transforms.arguments.options import Declared, Options, static_arguments
from anyshape.transforms.arguments.specs import trace_specs, zeros_like_spec
from anyshape.transforms.caching.cache import shared_programs
from anyshape.transforms.jitted import Jitted, bind

shared_programs.provide_by(lambda: sharing)


@short_traceback
def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    on_decision: str = "guard",
    max_bytes: int | None = None,
    optimize: str | None = None,
    compile: str | None = None,
    read_source: str | None = None,
    name: str | None = None,
) -> Any:
    """Trace `function` once per structure, dtypes and ranks of its arguments, and run it at any size.

    Without a function, return a decorator.

    - Static arguments are hashable values. Each value has its own trace, and the function gets it as it is.
    - `dynamic_shapes` declares the axes by parameter. Equal names are equal sizes, ints are fixed, and a Dim has a
      range. AUTO declares nothing, STATIC makes a program for each size, and DYNAMIC is an error where the size is
      bound to one value. An integer argument that is given a name or a Dim is a size by its value.
    - `on_decision="guard"` guards a decision of Python on sizes, and another answer traces again. With "error" it is a
      SpecializationError, on all axes but AUTO and STATIC ones. A decision on a value is a ConcretizationError then.
    - `max_bytes` bounds the arrays of a call, beside its arguments. A call that might take more recomputes cheap values
      instead of keeping them. If that is not enough, it raises MemoryLimitError before it allocates. Where no bound of
      its bytes is known, the call counts them, and raises in the step that exceeds the limit.
    - `optimize` says when the optimised plan is made: "now" with the first, "auto" when the calls so far show that it
      pays, "off" never. Plans differ in how sums are added up. None takes `anyshape.config.optimize`, which is "auto".
    - `compile` says when groups of steps of the optimised plan become machine code, by the C compiler of the system.
      "auto" builds it when the runs so far are worth that, "background" while calls go on, "wait" before the plan runs,
      "off" never. One build serves all sizes. None takes `anyshape.config.compile`, which is "auto".
    - `read_source="auto"` reads the source of the function, and of the user's functions that it calls, so that loops
      stay loops. "off" runs them as they are written. None takes `anyshape.config.read_source`, which is "auto".

    Args:
        function: function to trace. Its arguments are arrays, numbers, trees of these, and static values.
        static_argnums, static_argnames: positions or names of static arguments.
        name: name of the program in messages, instead of that of the function.

    Returns:
        A function of the same arguments, with `cache_info`, `explain`, `programs` and `trace`.

    Raises:
        ArgumentError: in a call, if an argument is neither an array nor static, and can be neither.

    >>> import numpy as np
    >>> from anyshape import Dim
    >>> f = jit(lambda x, y: np.sum(np.sin(x) * y))
    >>> [round(float(f(np.ones(n), np.ones(n))), 3) for n in (0, 1, 5)]
    [0.0, 0.841, 4.207]
    >>> f.cache_info().traces
    1
    >>> head = jit(lambda x, k: x[:k].sum() / k, dynamic_shapes={"x": "n", "k": Dim("k", max=9)})
    >>> float(head(np.arange(5.0), 4)), head.cache_info().traces
    (1.5, 1)
    """
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "dynamic_shapes": dynamic_shapes,
        "on_decision": on_decision,
        "max_bytes": max_bytes,
        "optimize": optimize,
        "compile": compile,
        "read_source": read_source,
        "name": name,
    }
    if function is None:
        return functools.partial(jit, **options)
    check_callable("jit", function)
    shown_name = name if name is not None else function_name(function)
    static = static_arguments(function, shown_name, static_argnums, static_argnames)
    shapes = dynamic_shapes_of(function, shown_name, dynamic_shapes, on_decision, static.names)
    checked = Options(static, shapes, max_bytes, optimize, compile, read_source).checked(shown_name)
    jitted = Jitted(function, shown_name, None, checked, (jit, (function,), options))
    jitted.may_rebind = True
    jitted.positional_from = function.positional_from if isinstance(function, Jitted) else 0
    if on_decision == "guard" and all(x is None for name, x in options.items() if name != "on_decision"):
        inner = function.origin if isinstance(function, Jitted) else None
        jitted.origin = (function, jit) if inner is None else (inner[0], (jit, inner[1]))
    return jitted


def jit_transform(
    function: Callable[..., Any],
    name: str,
    like: Callable[..., Any],
    recipe: tuple[Any, ...] = (),
    options: Options | None = None,
    without_object: Callable[[Any], Any] | None = None,
    keywords: Mapping[str, Any] = types.MappingProxyType({}),
    kind: type[Jitted] = Jitted,
) -> Jitted:
    """Return a transformed function: inside a trace `function` works on its values, outside it is jitted.

    - `recipe` is the transform and the arguments that this was made from, `keywords` its keyword arguments.
    - `options` hold for the result; without any, only when the plans of `like` are optimised holds for it too.
    - `without_object` serves methods of objects that are not trees of arrays. The first option in the recipe counts
      arguments; it returns that option for the arguments without the object, or None if there is none.
    """
    check_callable(name.partition("(")[0], like)
    if options is None:
        options = Declared().options(like, name, "")

    def method(instance) -> Callable[..., Any] | None:
        transform, _, option, *rest = recipe
        shifted = None if without_object is None else without_object(option)
        if shifted is None or is_array(instance) or is_registered(instance):
            return None
        static = options.static.bound()
        others = {"static_argnums": sorted(static.positions), "static_argnames": sorted(static.names)}
        return transform(bind(like, instance), shifted, *rest, **others).function

    remake: tuple[Any, ...] = (recipe[0], recipe[1:], dict(keywords)) if recipe else ()
    return kind(function, name, like, options, remake, method if without_object is not None else None)


@short_traceback
def explain(function: Callable[..., Any], *, verbose: bool = False) -> Callable[..., Explanation]:
    """Return a function of arguments that explains which program they need, and the conditions of all programs.

    Arguments are arrays, or ShapeDtypeStruct with ints for sizes. A missing program is traced, not run. For a jitted
    or transformed function its own programs are explained; any other function is jitted first. With `verbose` it also
    prints the decisions that were proved, with the reason, and every size that rules and passes rely on.

    Args:
        function: function that is jitted or transformed.

    >>> import numpy as np
    >>> text = explain(lambda x: x * 2 if len(x.shape) > 1 else x.sum())(np.ones(3))
    >>> print(str(text).splitlines()[0])
    <lambda>: 1 program; 1 trace, 0 calls without
    """
    check_callable("explain", function)
    jitted = function if isinstance(function, Jitted) else jit(function)

    @short_traceback
    def explained(*args, **kwargs) -> Explanation:
        leaves, tree = flatten((args, kwargs))
        arrays = [zeros_like_spec(x) if isinstance(x, ShapeDtypeStruct) else x for x in leaves]
        args, kwargs = unflatten(tree, arrays)
        return replace(jitted.explain_call(*args, **kwargs), verbose=verbose)

    return explained


@short_traceback
def export(function: Callable[..., Any]) -> Callable[..., traced_program.Program]:
    """Return a function of specifications, as `trace` takes them, that returns a program which can be saved.

    The program holds for all sizes of the specifications. A decision of Python on sizes is followed both ways: the
    program has all paths, and a call takes the one of its sizes. A path that ends in a `raise` or `assert` of yours is
    a check, and a call that would take it raises CheckError. So is one with sizes that do not fit, if no sizes are
    found that take it. Any other exception on a path, such as a NameError or one of NumPy, is raised by `export`.
    Where Python asks for the value of a size, InconclusiveDimensionError names the line. Raise SizePathsError for more
    than `config.max_paths` decisions. Captured arrays are copied.

    Args:
        function: function to trace.

    Returns:
        A function of specifications, which returns the program. `program.save(file)` writes it, `load` reads it.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct, grad
    >>> program = export(lambda x, w: np.sum(np.tanh(x @ w)))(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("d"))
    >>> program.save(file := io.BytesIO())
    >>> loaded = load(io.BytesIO(file.getvalue()))
    >>> [float(loaded(np.ones((n, 2)), np.zeros(2))) for n in (0, 3)], grad(loaded, 1)(np.ones((3, 2)), np.zeros(2))
    ([0.0, 0.0], array([3., 3.]))
    >>> program = export(lambda x: x.sum() if x.shape[0] > 2 else x.sum() * 10)(ShapeDtypeStruct("n"))
    >>> [float(program(np.ones(n))) for n in (1, 2, 3)], grad(program)(np.ones(2))
    ([10.0, 20.0, 3.0], array([10., 10.]))
    """
    check_callable("export", function)

    @short_traceback
    def exported(*args, **kwargs) -> traced_program.Program:
        traced = _trace(function, args, kwargs)
        saved_trees.encode_tree(traced.in_tree, traced.graph.name, "an argument")
        saved_trees.encode_tree(traced.out_tree, traced.graph.name, "the result")
        return traced_program.Program(replace(traced, graph=_copy_constants(traced.graph)))

    return Export(exported)


class Export:
    """Function of specifications that returns a program; what it is asked for besides is a slip."""

    def __init__(self, function: Callable[..., traced_program.Program]) -> None:
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> traced_program.Program:
        return self.__wrapped__(*args, **kwargs)


Export.__getattr__ = elsewhere.no_method  # type: ignore[attr-defined]


def _trace(function: Callable[..., Any], args, kwargs) -> Trace:
    """Return the trace for specifications; of all paths where the function decides on sizes."""
    try:
        return trace_specs(function, args, kwargs, fixed=False)[0]
    except InconclusiveDimensionError as error:
        if error.decision is None:
            raise
    return trace_specs(function, args, kwargs, fixed=False, following=size_paths.following_sizes)[0]


def _copy_constants(graph: Graph) -> Graph:
    """Return the graph with read-only copies of its constants."""
    constants = []
    for value, array in graph.constants:
        copy = np.array(array)
        copy.flags.writeable = False
        constants.append((value, copy))
    return replace(graph, constants=tuple(constants))


@short_traceback
def load(file: Any) -> traced_program.Program:
    """Return the program that `Program.save` wrote to a path, or to a file that is open for bytes.

    The file may come from anyone: loading executes nothing of it, and ProgramFileError names the defect of a bad one.

    Args:
        file: path, or open binary file.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct, trace
    >>> file = io.BytesIO()
    >>> trace(lambda x: x * 2)(ShapeDtypeStruct("n")).save(file)
    >>> _ = file.seek(0)
    >>> print(load(file)(np.ones(3)))
    [2. 2. 2.]
    """
    return traced_program.Program(program_file.read_trace(file))


@short_traceback
def profile(
    function: Callable[..., Any], *, repeat: int | None = None, rows: int | None = 40, file: TextIO | None = None
) -> Callable[..., profiles.Profile]:
    """Return a function of the same arguments that calls `function` repeatedly and prints the time of each step.

    Every callable can be profiled: jitted and transformed functions, programs and loaded programs. Any other function
    is jitted first.

    - After a warm-up it is called `repeat` times as it is, alternating with as many calls with timers around each step.
      By default these calls fill half a second, with at most 100 repeats.
    - The table has medians. Steps that ran as tiles are one row, with the steps inside. The time outside of all steps
      is a row, so shares add up to 100 %.
    - Bytes and operations are counted like `program.cost()`, at the sizes of the call. Values that stay in a tile move
      no bytes.
    - At most `rows` rows are printed, all with None, to `file` or to standard output. The result has all rows as data
      and the value of the call, and its `save` writes a page.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import grad
    >>> gradient = grad(lambda x: np.sum(np.sin(x) * x))
    >>> result = profile(gradient, repeat=3, file=io.StringIO())(np.zeros(2000))
    >>> [row.name for row in result.rows]
    ['cos', 'mul', 'sin', 'add', 'entry and exit']
    >>> result.rows[0].flops, result.rows[0].bytes, round(sum(row.share for row in result.rows), 6)
    (2000, 32000, 1.0)
    >>> result.save("gradient.html")  # doctest: +SKIP
    """
    check_callable("profile", function)
    for name, value in (("repeat", repeat), ("rows", rows)):
        if value is not None and (has_type(value, bool) or not has_type(value, int) or value < 1):
            raise ArgumentError("profile", name, f"is {value!r}", "give a number of at least 1, or None")
    target = function if isinstance(function, (Jitted, traced_program.Program)) else jit(function)

    @short_traceback
    @functools.wraps(function, updated=())
    def profiled(*args, **kwargs) -> profiles.Profile:
        if active_builders():
            advice = "profile the outermost function, from outside of all traces"
            raise ArgumentError("profile", target.__name__, "is being traced, and does not run", advice)
        result = profiler.measure(target, args, kwargs, repeat)
        result.print(rows, file)
        result.printed.extend([True] * (file is None))
        return result

    return profiled
