"""Programs that leave the process: export, and load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph
from anyshape.program.file import read_trace
from anyshape.program.program import Program
from anyshape.program.pytree_json import check_tree
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.specs import trace


def export(function: Callable[..., Any]) -> Callable[..., Program]:
    """A function of specifications, as `trace` takes them, that gives a program which can be saved.

    It holds for all sizes of the specifications, or InconclusiveDimensionError says what it cannot decide. What the
    function closes over is copied.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct, grad
    >>> program = export(lambda x, w: np.sum(np.tanh(x @ w)))(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("d"))
    >>> program.save(file := io.BytesIO())
    >>> again = load(io.BytesIO(file.getvalue()))
    >>> [float(again(np.ones((n, 2)), np.zeros(2))) for n in (0, 3)], grad(again, 1)(np.ones((3, 2)), np.zeros(2))
    ([0.0, 0.0], array([3., 3.]))
    """
    check_callable("export", function)

    def exported(*args: Any, **kwargs: Any) -> Program:
        found = trace(function)(*args, **kwargs).trace
        check_tree(found.in_tree, found.graph.name, "an argument")
        check_tree(found.out_tree, found.graph.name, "the result")
        return Program(replace(found, graph=_owning(found.graph)))

    return exported


def _owning(graph: Graph) -> Graph:
    """The graph with constants that nobody else can change."""
    constants = []
    for value, array in graph.constants:
        copy = np.array(array)
        copy.flags.writeable = False
        constants.append((value, copy))
    return replace(graph, constants=tuple(constants))


def load(file: Any) -> Program:
    """The program that `Program.save` wrote to a path, or to a file that is open for bytes.

    The file may come from anyone: loading it runs nothing of it, and ProgramFileError says what is wrong with it.
    """
    return Program(read_trace(file))
