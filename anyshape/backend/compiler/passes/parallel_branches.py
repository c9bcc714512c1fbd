"""Dear steps next to each other that do not depend on each other: a call may run them at once.

They stay where they are, so that nothing is kept longer than it takes to run them; only views, which cost nothing, go
before them. Steps of groups are not among them, as the tiles of a group keep all threads busy, nor are contractions so
large that threads share each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.compiler.plan import Group, Step
from anyshape.backend.compiler.plan_ops import contract_op
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.apply import find_kernel
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.reduction import sum_to_op

MOST = 4  # steps at once: what each of them makes on its way is alive together
PAYS = 250_000.0  # nanoseconds of work in a step that make up for waking a thread, which takes up to 40,000
_CUMULATIVE = (rd.cumsum_op, rd.cumprod_op, rd.cummax_op, rd.cummin_op, rd.cumlogsumexp_op)
_KINDS = {  # ops that let go of the interpreter for as long as they run, by what they have in common
    **dict.fromkeys((dot_general_op, contract_op), "contraction"),
    **dict.fromkeys((so.sort_op, so.argsort_op), "sort"),
    **dict.fromkeys(_CUMULATIVE, "cumulative"),
}


def side_by_side(parts: Sequence[Step | Group]) -> tuple[list[Step | Group], tuple[tuple[Step, ...], ...]]:
    """The parts of a plan, and those steps among them that may run at once, which are neighbours."""
    found: list[tuple[Step, ...]] = []
    order: list[Step | Group] = []
    wave: list[Step] = []

    def close() -> None:
        order.extend(wave)
        if len(wave) > 1:
            found.append(tuple(wave))
        wave.clear()

    for part in parts:
        if isinstance(part, Step) and _free(part, wave):
            if kind(part) is not None:
                if wave and (kind(part) != kind(wave[0]) or len(wave) == MOST):
                    close()
                wave.append(part)
                continue
            if find_kernel(part.op).view and part.op is not sum_to_op and not part.instead:
                order.append(part)
                continue
        close()
        if isinstance(part, Step) and kind(part) is not None:
            wave.append(part)
        else:
            order.append(part)
    close()
    return order, tuple(found)


def _free(step: Step, wave: Sequence[Step]) -> bool:
    """The step reads nothing that one of the others makes."""
    made = {slot for other in wave for slot in other.outputs}
    return made.isdisjoint(step.inputs) and made.isdisjoint(step.sources)


def kind(step: Step) -> str | None:
    """What sort of dear step it is: only alike ones are compared by what they have to do."""
    plain = not step.instead and not step.sources and all(isinstance(slot, str) for slot in step.inputs)
    return _KINDS.get(step.op) if plain and not find_kernel(step.op).out else None


def least(step: Step) -> int:
    """Products of a contraction, or else elements of the operand, from which on threads pay; as measured with NumPy."""
    size = step.results[0].dtype.itemsize
    each = {"contraction": 0.02 * size / 4, "sort": 25.0, "cumulative": 3.0}[kind(step) or "sort"]
    return int(PAYS / each)
