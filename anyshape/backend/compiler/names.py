"""Names of slots and of locals in generated functions. No other module of the compiler invents one.

A slot is named by how its value comes about: inputs `x0`, constants `c0`, results of steps `v0`, bit masks `m0`. Locals
of the function of a fusion group are derived from the slots that they stand for.
"""

from __future__ import annotations

from collections.abc import Collection

LIVE = "_live"  # the local of the count of bytes
INPUT_SHAPE, INPUT_VALUE = "x{}.shape", "int(x{})"  # formats of what a signature reads of input number {}


def input_slot(position: int) -> str:
    """Return the slot of an input of the plan."""
    return f"x{position}"


def constant_slot(position: int) -> str:
    """Return the slot of a captured array."""
    return f"c{position}"


def value_slot(position: int) -> str:
    """Return the slot of a result of a step."""
    return f"v{position}"


def mask_slot(position: int) -> str:
    """Return the slot of a hoisted bit mask."""
    return f"m{position}"


def is_input(slot: str) -> bool:
    """Return whether the caller holds the value of a slot; freeing it would free nothing."""
    return slot.startswith("x")


def is_constant(slot: str) -> bool:
    """Return whether the plan itself holds the value of a slot."""
    return slot.startswith("c")


# -- locals of the function of a plan


def variable_local(position: int) -> str:
    """Return the local of a dimension variable."""
    return f"n{position}"


def size_local(position: int) -> str:
    """Return the local of a computed size."""
    return f"s{position}"


def kernel_results(depth: int) -> str:
    """Return the local of the results of a compiled kernel, in the function of a plan or in a body at this depth."""
    return f"k{depth}_results"


def in_body(depth: int) -> str:
    """Return the prefix of slots and locals of a body at this depth. One branch runs, so branches share it."""
    return f"b{depth}_"


def branch_index(depth: int) -> str:
    """Return the local of the position of the branch that runs, of a conditional at this depth."""
    return f"i{depth}_"


def rows_local(depth: int) -> str:
    """Return the local of the rows of a batch whose examples choose between branches, at this depth."""
    return f"rows{depth}_"


def unused_name(prefix: str, names: Collection[str]) -> str:
    """Return a name for an object in the scope of generated code; scopes only grow, so their length is unused."""
    return f"{prefix}{len(names)}"


# -- locals of the function of a fusion group


def tile_of_operand(slot: str) -> str:
    """Return the local of the rows of one tile of an operand."""
    return f"t_{slot}"


def tile_of_result(slot: str) -> str:
    """Return the local of the rows of one tile of a result."""
    return f"r_{slot}"


def whole_result(slot: str) -> str:
    """Return the local of the array that all tiles of a result are written to."""
    return f"o_{slot}"


def partial_results(slot: str) -> str:
    """Return the local of the array of partial results of a carried reduction."""
    return f"p_{slot}"


def partial_result(slot: str) -> str:
    """Return the local of the partial result of one tile."""
    return f"q_{slot}"


def tile_buffer(position: int) -> str:
    """Return the local of a buffer, cut to the rows of the tile."""
    return f"b{position}"


def full_buffer(buffer: str) -> str:
    """Return the local of a buffer with the rows of the largest tile."""
    return f"f_{buffer}"


def uncollapsed(array: str) -> str:
    """Return the local of an array as it was before axes were collapsed."""
    return f"whole_{array}"


# -- helper functions of a long function


def chunk(function: str, position: int) -> str:
    """Return the name of a chunk of a function."""
    return f"{function}_{position}"
