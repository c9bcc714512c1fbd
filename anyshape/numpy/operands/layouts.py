"""Orders "A" and "K" of arguments and of views of them: how elements lie in memory, which a program then relies on.

Results of computations have no layout that a program knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.graph.ir.builder import Builder
from anyshape.graph.ir.graph import Value

_SAME_ORDER = ("slice", "rev")  # views whose axes have the order in memory of their base


def _order_of_axes(array: Any) -> tuple[int, ...] | None:
    """Return the axes by falling strides; None where an axis repeats its elements."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    if any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)):
        return None
    return tuple(sorted(range(array.ndim), key=lambda i: -abs(array.strides[i])))


# what a program may ask of an argument, and its answer
_ANSWERS: dict[str, Callable[[Any], Any]] = {
    "C": lambda array: array.flags.c_contiguous,
    "A": lambda array: (array.flags.c_contiguous, array.flags.f_contiguous),
    "K": _order_of_axes,
}


def layout_of(array: Any, question: str) -> Any:
    """Return how the elements of an array lie in memory."""
    return _ANSWERS[question](array)


def layout_text(question: str, layout: Any) -> str:
    """Return a layout in words."""
    if question == "C":
        return "C-contiguous" if layout else "not C-contiguous"
    if question == "A":
        both = zip(("C-contiguous", "F-contiguous"), layout, strict=True)
        return " and ".join([name if holds else f"not {name}" for name, holds in both])
    return "repeated in memory" if layout is None else f"in memory by axes {', '.join(map(str, layout))}"


def order_in_memory(x: Any, order: str) -> tuple[int, ...] | None:
    """Return the axes of a traced array in the order in which NumPy reads elements for "A" or "K"; None: unknown."""
    base = x if x.memory is None else x.memory.current
    axes = _axes_in_view([*range(base.meta.rank)], () if x.memory is None else x.views, order)
    layout = None if axes is None else _layout_of_base(base, x.memory, order)
    if axes is None or layout is None:
        return None
    return _order_a(axes, layout) if order == "A" else tuple([axes.index(i) for i in layout])


def _axes_in_view(axes: list[int], views: Sequence[Any], order: str) -> list[int] | None:
    """Return which axis of the base each axis of a view is; None for views of another kind."""
    for view in views:
        kind, *rest = view.key or ("",)
        if kind == "transpose":
            axes = [axes[i] for i in rest[0]]
        elif kind not in _SAME_ORDER or order == "A":
            return None
    return axes


def _layout_of_base(base: Any, memory: Any, order: str) -> Any:
    """Return the answer of an argument, or of a copy: one in C order may be in Fortran order too, by its sizes."""
    if memory is None or memory.argument is not None or memory.outside:
        return _asked(base.builder, base.value if memory is None else memory.argument or base.value, order)
    if not memory.is_contiguous:
        return None
    return (True, None) if order == "A" else tuple(range(base.meta.rank))


def _order_a(axes: list[int], layout: tuple[bool, bool | None]) -> tuple[int, ...] | None:
    """Return the order for "A": that of Fortran, if the array is contiguous in it and not in C order."""
    forward, backward = [*range(len(axes))], [*reversed(range(len(axes)))]
    if axes not in (forward, backward):
        return None
    in_c, in_fortran = layout if axes == forward else layout[::-1]
    if in_c is None and in_fortran:
        return None
    return tuple(backward if in_fortran and not in_c else forward)


def _asked(builder: Builder | None, value: Value, question: str) -> Any:
    """Return the answer of an argument of the outermost function, which the program relies on; None for others."""
    while builder is not None and value in builder.inputs:
        if builder.layout is not None:
            return builder.layout(value, question)
        position = builder.inputs.index(value)
        if builder.arguments is None or builder.takes_rows or position >= len(builder.arguments):
            return None
        builder, value = builder.arguments[position]
    return None
