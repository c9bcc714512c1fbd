"""Programs that leave the process: `export` and `load`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.errors import InconclusiveDimensionError
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.ops.subgraph_call import paths_of_sizes
from anyshape.support.packages import program_file, pytree_json, size_paths, traced_program
from anyshape.tracing.pytrees import check_callable
from anyshape.tracing.trace import Trace
from anyshape.transforms.arguments.specs import trace_specs

paths_of_sizes.provide_by(lambda: size_paths)


@short_traceback
def export(function: Callable[..., Any]) -> Callable[..., traced_program.Program]:
    """Return a function of specifications, as `trace` takes them, that returns a program which can be saved.

    The program holds for all sizes of the specifications. A decision of Python on sizes is followed both ways: the
    program has all paths, and a call takes the one of its sizes. A path that ends in a `raise` or `assert` of yours is
    a check, and a call that would take it raises CheckError. So is one with sizes that do not fit, if no sizes are
    found that take it. Any other exception on a path, such as a NameError or one of NumPy, is raised by `export`.
    Where Python asks for the value of a size, InconclusiveDimensionError names the line. Raise SizePathsError for more
    than `config.max_paths` decisions. Captured arrays are copied.

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
    def exported(*args: Any, **kwargs: Any) -> traced_program.Program:
        traced = _trace(function, args, kwargs)
        pytree_json.check_tree(traced.in_tree, traced.graph.name, "an argument")
        pytree_json.check_tree(traced.out_tree, traced.graph.name, "the result")
        return traced_program.Program(replace(traced, graph=_copy_constants(traced.graph)))

    return exported


def _trace(function: Callable[..., Any], args: Any, kwargs: Any) -> Trace:
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
