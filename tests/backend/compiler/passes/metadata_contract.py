"""Metadata contract: guarantees that each consumer of metadata needs, as a table. The pages show it, tests hold it.

A pass queries a `ShapeGuardContext` under its name, for one of its declared fields. Where metadata guarantee less than
it needs, it raises, defers to the run, or leaves the node as it is.
"""

from typing import NamedTuple


class Need(NamedTuple):
    """Consumer, what it needs, and what it does; `queries` are (pass, field) pairs."""

    consumer: str
    needs: str
    rule: str
    queries: frozenset[tuple[str, str]] = frozenset()

    def __str__(self) -> str:
        return f"| {self.consumer} | {self.needs} | {self.rule} |"


def _queries(name: str, *fields: str) -> frozenset[tuple[str, str]]:
    return frozenset([(name, field) for field in fields])


CONTRACT = (
    Need(
        "rank and axis checks", "exact rank", "rank is always exact", _queries("simplify", "") | _queries("lower", "")
    ),
    Need("transpose, elementwise metadata", "any extents", "carry guarantees along unchanged"),
    Need(
        "operands of an elementwise op",
        "equal shapes, proved",
        "sizes without a name are equal where values pass on one value's metadata; else "
        "`UnsupportedDynamicShapeError`, as NumPy would stretch a 1",
    ),
    Need(
        "`reshape`, `broadcast_in_dim` parameters",
        "exact, resolvable here",
        "an upper bound is refused with `UnsupportedDynamicShapeError`",
    ),
    Need("dead code, last use", "nothing", "metadata is irrelevant"),
    Need(
        "loops whose results nothing reads",
        "exact sizes of stacks",
        "a loop over any other stack makes all of its trips",
        _queries("prune_loops", "elements"),
    ),
    Need("masks of loops", "equal lengths, proved", "a loop over stacks of any other length reads the mask"),
    Need(
        "common subexpressions",
        "nothing",
        "exact sizes are compared by name, any others by the array they are read from",
        _queries("simplify", "key", "params"),
    ),
    Need(
        "identities and folding",
        "exact sizes of the values they create",
        "an identity that writes a shape does not apply where a size has no name",
        _queries("simplify", "fill", "stretch", "reshape", "shape"),
    ),
    Need(
        "broadcasts left to NumPy",
        "exact sizes, or operands that pass on one value's metadata",
        "any other stretch is a step of its own",
        _queries("lower", "broadcast"),
    ),
    Need(
        "sizes in steps",
        "any extents",
        "an exact size is a local of the plan, any other is read from the array when the step runs",
        _queries("lower", "params", "sources"),
    ),
    Need(
        "buffer reuse",
        "equal sizes and dtype",
        "a slot takes over a dead slot's buffer",
        _queries("buffer_reuse", "buffer", ""),
    ),
    Need(
        "collapsing views",
        "exact sizes",
        "one view of an operand in C order, whose window NumPy checks; of any other operand, the movement itself",
        _queries("collapse_views", "view"),
    ),
    Need("single elements", "sizes that are 1", "any other part is a view", _queries("single_elements", "element", "")),
    Need(
        "folding pads into sums",
        "equal shapes, proved",
        "any other sum stretches one of its operands, and the padded array is made",
        _queries("pad_add", ""),
    ),
    Need(
        "sinking",
        "sizes proved equal, or no name",
        "an operand whose size may differ from the size of the result counts as smaller",
        _queries("sink", "bytes", ""),
    ),
    Need(
        "hoisting",
        "exact sizes over variables that inputs bind",
        "steps with other sizes run at each call",
        _queries("hoist_shape_only", "results", ""),
    ),
    Need(
        "products of several operands",
        "exact sizes; without them the product is refused",
        "run-time sizes count as default sizes in the choice of a contraction path",
    ),
    Need(
        "fusion",
        "exact sizes, numbers of rows proved equal",
        "a step with other sizes, or sizes without a name, is in no group",
        _queries("fuse", "rows", ""),
    ),
    Need(
        "contraction kernels",
        "sizes of the actual inputs",
        "axes are merged at run time; one pair of summed axes may lack a proof, NumPy compares it",
    ),
    Need(
        "folding into contractions",
        "exact sizes of repeated arrays",
        "a transpose only moves labels; an axis that may or may not be 1 stays in a stack",
        _queries("fold_into_contractions", "contraction", ""),
    ),
    Need("signature of a program", "any extents", "a size that depends on data is shown by its bound over inputs"),
    Need("diagnostics", "nothing", "print metadata as they are"),
)


def contract_table() -> str:
    """Return the table as `docs/compilation.md` shows it."""
    return "\n".join(["| consumer | needs | rule |", "|---|---|---|", *map(str, CONTRACT)])
