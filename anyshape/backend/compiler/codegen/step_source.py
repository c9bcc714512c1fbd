"""The lines that call kernels: of one step, or of a view with the steps that it replaced. Sizes are local ints."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from anyshape.backend.compiler.plan import Literal, Step
from anyshape.backend.runtime.split_gemm import MIN_PRODUCTS
from anyshape.graph.ir.graph import has_local
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, InputAxis, Leaf, Size
from anyshape.graph.sizes.printing import call_source, to_source
from anyshape.ops.apply import Site, find_kernel


class StepSource:
    """Collects lines and the objects that names in them are bound to.

    `size_name` are the locals of sizes that a call reads, `computed` those of expressions; `reading` are the slots that
    a step without names for sizes reads these off.
    """

    def __init__(self, size_name: Mapping[DimVar, str], names: dict[str, Any]) -> None:
        self.size_name, self.names = size_name, names
        self.lines: list[str] = []
        self.computed: dict[DimExpr | Call, str] = {}
        self.reading: tuple[str, ...] = ()

    def name(self, leaf: Leaf) -> str:
        """What a size of an array or a variable is called here."""
        if isinstance(leaf, InputAxis):  # a size without a name
            return f"{self.reading[leaf.operand]}.shape[{leaf.axis}]"
        return self.size_name[leaf] if isinstance(leaf, DimVar) else str(leaf)

    def bind(self, prefix: str, thing: Any) -> str:
        """A new name for an object."""
        name = f"{prefix}{len(self.names)}"
        self.names[name] = thing
        return name

    def call_kernel(self, step: Step) -> None:
        """The lines of a step."""
        numbers = not any(meta.rank for meta in step.metas)
        inputs = [self.operand(i, numbers) for i in step.inputs]
        computed, self.reading = self.computed, step.sources
        if step.sources:
            self.computed = dict(computed)  # what is read of these arrays is for this step alone
        lines = self._written(step, inputs)
        if lines is None:
            if step.reuse is not None:
                inputs.append(f"out={step.reuse}" if find_kernel(step.op).out == "keyword" else step.reuse)
            function, arguments = self._kernel(step)
            function = self._or_shared(step, function)
            lines = [f"{', '.join(step.outputs)} = {function}({', '.join([*inputs, *arguments])})"]
        self.computed = computed
        self.lines += lines

    def _written(self, step: Step, operands: Sequence[str]) -> Sequence[str] | None:
        """The lines of a step that its kernel writes itself."""
        write = find_kernel(step.op).write
        if write is None:
            return None
        (target,), (result,) = step.outputs, step.results

        def bind(thing: Any) -> str:
            return self.bind(f"k_{step.op.name}_" if callable(thing) else "p", thing)

        params = dict(step.params)
        return write(Site(target, tuple(operands), params, step.metas, result, step.reuse, self._param, bind))

    def _or_shared(self, step: Step, function: str) -> str:
        """The function, or the one that threads share, by how much there is to do."""
        share = find_kernel(step.op).shared
        if share is None or not all(isinstance(o, str) for o in step.inputs):
            return function
        shared, _ = share(dict(step.params), step.metas)
        return f"({self.bind('shared', shared)} if {self.work(step)} >= {MIN_PRODUCTS} else {function})"

    def work(self, step: Step) -> str:
        """How many products a contraction adds up; how many elements any other step reads."""
        share = find_kernel(step.op).shared
        axes = () if share is None else share(dict(step.params), step.metas)[1]
        return " * ".join([f"{step.inputs[0]}.size", *[f"{step.inputs[1]}.shape[{axis}]" for axis in axes]])

    def call_view(self, step: Step) -> None:
        """A view of an operand in C order; of any other, and where there is none, the steps that it replaced."""
        (source,), (target,) = step.inputs, step.outputs
        self.lines.append(f"{target} = None")
        self._block(f"if {source}.flags.c_contiguous:", [step])
        self._block(f"if {target} is None:", step.fallback)
        between = [slot for part in step.fallback[:-1] for slot in part.outputs]
        if between:
            self.lines.append(f"    del {', '.join(between)}")

    def _block(self, head: str, steps: Sequence[Step]) -> None:
        """Steps that run on a condition, so that the locals which hold their sizes are theirs alone."""
        lines, computed = self.lines, dict(self.computed)
        self.lines = []
        for step in steps:
            self.call_kernel(step)
        lines += [head, *[f"    {line}" for line in self.lines]]
        self.lines, self.computed = lines, computed

    def _kernel(self, step: Step) -> tuple[str, list[str]]:
        """The name of the function to call, and its keyword arguments."""
        kernel, params = find_kernel(step.op), dict(step.params)
        if not any(has_local(p) for p in params.values()):
            special = kernel.specialise(params, step.metas) if kernel.specialise is not None else None
            if special is not None:
                return self.bind("k_", special), []
            run = functools.partial(kernel.run, **params) if params else kernel.run
            return self.bind(f"k_{step.op.name}_", run), []
        return self.bind(f"k_{step.op.name}_", kernel.run), [f"{k}={self._param(p)}" for k, p in params.items()]

    def _param(self, param: Any) -> str:
        if isinstance(param, tuple):
            inner = ", ".join(self._param(p) for p in param)
            return f"({inner},)" if len(param) == 1 else f"({inner})"
        if isinstance(param, DimExpr):
            return self._size(param)
        if isinstance(param, (int, str, type(None))):
            return repr(param)
        return self.bind("p", param)

    def _size(self, size: DimExpr) -> str:
        """A local that holds the size; an expression is computed once."""
        atom = expr.as_atom(size)
        if isinstance(atom, DimVar):
            return self.size_name[atom]
        if size not in self.computed:
            text = self.text(size)
            self.computed[size] = text if text.isidentifier() else self._local(text)
        return self.computed[size]

    def atom(self, size: Size) -> str:
        """A local that holds the size, or the number that it is."""
        return self._size(size) if isinstance(size, DimExpr) else str(size)

    def text(self, size: Size) -> str:
        """The size as an expression of locals."""
        return to_source(size, self.name, self.local_of)

    def local_of(self, call: Call) -> str:
        """A local that holds the value of the call: calls share parts, and Python nests only so deep."""
        if call not in self.computed:
            self.computed[call] = self._local(call_source(call, self.name, self.local_of))
        return self.computed[call]

    def _local(self, source: str) -> str:
        local = f"s{len(self.computed)}"
        self.lines.append(f"{local} = {source}")
        return local

    def operand(self, operand: str | Literal, number: bool = False) -> str:
        """A slot, or a literal as an array, which is what ufuncs take fastest, or as a number among numbers."""
        if not isinstance(operand, Literal):
            return operand
        return self.bind("literal", operand.array()[()] if number else operand.array())
