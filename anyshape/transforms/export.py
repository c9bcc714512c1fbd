"""Programs that leave the process: `export` and `load`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph
from anyshape.support.packages import program_file, pytree_json, traced_program
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.arguments.specs import trace


def export(function: Callable[..., Any]) -> Callable[..., traced_program.Program]:
    """Return a function of specifications, as `trace` takes them, that returns a program which can be saved.

    The program holds for all sizes of the specifications, or InconclusiveDimensionError names the decision that it
    cannot make. Captured arrays are copied.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct, grad
    >>> program = export(lambda x, w: np.sum(np.tanh(x @ w)))(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("d"))
    >>> program.save(file := io.BytesIO())
    >>> loaded = load(io.BytesIO(file.getvalue()))
    >>> [float(loaded(np.ones((n, 2)), np.zeros(2))) for n in (0, 3)], grad(loaded, 1)(np.ones((3, 2)), np.zeros(2))
    ([0.0, 0.0], array([3., 3.]))
    """
    check_callable("export", function)

    def exported(*args: Any, **kwargs: Any) -> traced_program.Program:
        traced = trace(function)(*args, **kwargs).trace
        pytree_json.check_tree(traced.in_tree, traced.graph.name, "an argument")
        pytree_json.check_tree(traced.out_tree, traced.graph.name, "the result")
        return traced_program.Program(replace(traced, graph=_copy_constants(traced.graph)))

    return exported


def _copy_constants(graph: Graph) -> Graph:
    """Return the graph with read-only copies of its constants."""
    constants = []
    for value, array in graph.constants:
        copy = np.array(array)
        copy.flags.writeable = False
        constants.append((value, copy))
    return replace(graph, constants=tuple(constants))


def load(file: Any) -> traced_program.Program:
    """Return the program that `Program.save` wrote to a path, or to a file that is open for bytes.

    The file may come from anyone: loading executes nothing of it, and ProgramFileError names the defect of a bad one.
    """
    return traced_program.Program(program_file.read_trace(file))
