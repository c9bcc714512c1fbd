"""What each consumer of metadata needs to be guaranteed of it, as a table: docs/compilation.md shows it, tests hold it.

A pass asks through a `ShapeGuardContext` under its name, for one of the fields that are its own. What is weaker than
it needs, an upper bound or nothing at all, it refuses, leaves to the run, or leaves as it is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """A consumer, what it needs, and what it does then; `asks` are the questions of a pass, as (pass, field)."""

    consumer: str
    needs: str
    rule: str
    asks: frozenset[tuple[str, str]] = frozenset()

    def __str__(self) -> str:
        return f"| {self.consumer} | {self.needs} | {self.rule} |"


def _asks(asker: str, *fields: str) -> frozenset[tuple[str, str]]:
    return frozenset((asker, field) for field in fields)


CONTRACT = (
    Need("rank and axis checks", "exact rank", "rank is always exact", _asks("rewrite", "") | _asks("lower", "")),
    Need("transpose, elementwise metadata", "any extents", "carry guarantees along unchanged"),
    Need(
        "operands of an elementwise op",
        "equal shapes, proved",
        "sizes without a name are equal where metadata were passed on from one value; else "
        "`UnsupportedDynamicShapeError`, as NumPy would stretch a 1",
    ),
    Need(
        "`reshape`, `broadcast_in_dim` parameters",
        "exact, resolvable here",
        "an upper bound is refused with `UnsupportedDynamicShapeError`",
    ),
    Need("dead code, last use", "nothing", "metadata is irrelevant"),
    Need(
        "common subexpressions",
        "nothing",
        "exact sizes are compared by name, any others by the array they are read from",
        _asks("rewrite", "key", "params"),
    ),
    Need(
        "identities and folding",
        "exact sizes of what they make anew",
        "an identity that writes a shape does not apply where a size has no name",
        _asks("rewrite", "fill", "stretch", "reshape", "shape"),
    ),
    Need(
        "broadcasts left to NumPy",
        "exact sizes, or operands that pass on one value's metadata",
        "any other stretch is a step of its own",
        _asks("lower", "broadcast"),
    ),
    Need(
        "sizes in steps",
        "any extents",
        "an exact size is a local of the plan, any other is read from the array when the step runs",
        _asks("lower", "params", "sources"),
    ),
    Need(
        "buffer reuse",
        "equal sizes and dtype",
        "a slot takes over a dead slot's buffer",
        _asks("buffers", "buffer", ""),
    ),
    Need(
        "movement in a row",
        "exact sizes",
        "one view of an operand in C order, whose window NumPy checks; of any other, the steps it stands for",
        _asks("views", "view"),
    ),
    Need(
        "sums with padded arrays",
        "equal shapes, proved",
        "any other sum stretches one of its operands, and the padded array is made",
    ),
    Need(
        "steps that wait for what reads them",
        "sizes proved equal, or no name",
        "an operand whose size may differ from that of the result counts as smaller",
        _asks("delay", "bytes", ""),
    ),
    Need(
        "what depends on sizes alone",
        "exact sizes that the arguments give",
        "what has others is made by each call",
        _asks("by_size", "results", ""),
    ),
    Need(
        "products of several operands",
        "exact sizes, without which there is none",
        "sizes that depend on data count as usual ones in the choice of an order",
    ),
    Need(
        "steps along the same rows",
        "exact sizes, numbers of rows proved equal",
        "what has other sizes, or sizes without a name, is a step of its own",
        _asks("fuse", "rows", ""),
    ),
    Need(
        "contraction kernels",
        "sizes of the actual inputs",
        "axes are merged at run time; one pair of summed axes may lack a proof, NumPy compares it",
    ),
    Need(
        "movement around contractions",
        "exact sizes of what is repeated",
        "a transpose only moves labels; an axis that may or may not be 1 stays in a stack",
        _asks("contractions", "contraction", ""),
    ),
    Need("signature of a program", "any extents", "a size that depends on data is shown by its bound over inputs"),
    Need("diagnostics", "whatever there is", "print it as it is"),
)


def contract_table() -> str:
    """The table as docs/compilation.md shows it."""
    return "\n".join(["| consumer | needs | rule |", "|---|---|---|", *map(str, CONTRACT)])
