"""Arrays of a kernel in C: how it reads them off its tuple, checks their axes, and points into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anyshape.backend.compiler.c_expressions import c_type
from anyshape.backend.native.loop_nests import Loop
from anyshape.backend.native.statements import Value

DECLINED = 1  # what a kernel returns where the strides or the elements are not what its text can serve


@dataclass(frozen=True, slots=True)
class CArray:
    """Array of a kernel.

    - `local`: its name in C; a suffix makes the names of its fields.
    - `loops`: the loops over its axes, outermost first.
    - `has_rows`: its first axis is that of the rows, or of the parts of a partial result.
    """

    local: str
    value: Value
    loops: tuple[Loop, ...]
    has_rows: bool
    is_written: bool

    @property
    def kind(self) -> str:
        """Return the type of its elements."""
        return c_type(self.value.dtype) or ""

    @property
    def const(self) -> str:
        """Return the qualifier of what the kernel only reads."""
        return "" if self.is_written else "const "

    @property
    def first(self) -> int:
        """Return the position of the first axis behind the rows."""
        return int(self.has_rows or self.value.one_row)

    def reads(self, position: int, sizes: Sequence[str]) -> list[str]:
        """Return the lines that read it off the tuple and check its axes; `sizes` are of axes behind the rows."""
        ndim = self.first + len(self.value.axes)
        checks = [f"{self.local}_->dims[{i}] != {size}" for i, size in enumerate(sizes, self.first)]
        return [
            f"const as_array *{self.local}_ = as_item(arrays, {position}, {ndim});",
            f"if ({' || '.join([f'!{self.local}_', *checks])}) return {DECLINED};",
            f"{self.const}char *{self.local}_d = {self.local}_->data;",
            *([f"const int64_t {self.local}_r = {self.local}_->strides[0];"] if self.has_rows else []),
        ]

    def strides(self) -> list[str]:
        """Return the lines that read the stride of each of its loops. That of the innermost must be one element."""
        lines: list[str] = []
        for loop in self.loops:
            axes = enumerate(self.value.axes, self.first)
            positions = [i for i, axis in axes if axis is not None and axis.root() in loop.axes]
            stride, unit = f"{self.local}_{loop.number}", int(loop is self.loops[-1])
            range_ = f"{positions[0]}, {positions[-1]}, {self.value.dtype.itemsize}, {unit}, &{stride}"
            lines += [f"int64_t {stride};", f"if (!as_axes({self.local}_, {range_})) return {DECLINED};"]
        return lines

    def is_in_order(self) -> str:
        """Return the test of whether all its axes lie in C order."""
        last = len(self.value.axes)
        return f"as_axes({self.local}_, 0, {last}, {self.value.dtype.itemsize}, 1, &stride)"

    def pointer(self, name: str, offsets: Sequence[str] = ()) -> str:
        """Return the line that points to an element."""
        address = " + ".join([f"{self.local}_d", *offsets])
        return f"{self.const}{self.kind} *restrict {name} = ({self.const}{self.kind} *)({address});"

    def number(self, *offsets: str) -> str:
        """Return the line that reads an element into the local of the array."""
        address = " + ".join([f"{self.local}_d", *offsets])
        return f"const {self.kind} {self.local} = *(const {self.kind} *)({address});"
