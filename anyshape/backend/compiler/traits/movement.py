"""Traits of movement: ops that are arithmetic on strides, pads, concatenation, and the views of plans."""

from typing import Any

from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, Movement, Tiling, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.graph.shapes.shape_context import Sizes
from anyshape.graph.shapes.strided_view import View
from anyshape.ops import movement as mv

MOVEMENT = OPAQUE._replace(recomputable=True)


def _always(params: dict[str, Any]) -> bool:
    return True


def _stretch(view: View, new: Sizes, *, shape: Sizes, axes: tuple[int, ...]) -> View:
    sizes = dict(zip(axes, view.shape, strict=True))
    return view.reshaped(tuple([sizes.get(axis, 1) for axis in range(len(new))])).expanded(new)


declare(
    MOVEMENT._replace(
        alias=Alias.STRETCHED_VIEW,
        tiling=Tiling(rows.broadcast_in_dim, collapse.broadcast_in_dim, combine=None),
        movement=Movement(
            weight=3,
            apply=_stretch,
            follows_pad=False,  # it would copy what is padded once per repetition
            admits=lambda params: list(params["axes"]) == sorted(params["axes"]),
        ),
        algebra=NO_ALGEBRA._replace(
            identities=(identities.of_literal, identities.same_shape, identities.of_number, identities.aligned_stretch)
        ),
    ),
    mv.broadcast_in_dim_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW_OR_COPY,
        tiling=Tiling(rows.reshape, collapse.unmixed, combine=None),
        movement=Movement(
            weight=1, apply=lambda view, new, *, shape: view.reshaped(new), follows_pad=False, admits=_always
        ),
        algebra=NO_ALGEBRA._replace(
            identities=(
                identities.of_literal,
                identities.same_shape,
                identities.of_number,
                identities.reshape_twice,
                identities.negation_outwards("iufc"),
            )
        ),
    ),
    mv.reshape_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW,
        tiling=Tiling(rows.transpose, collapse.transpose, combine=None),
        movement=Movement(
            weight=1, apply=lambda view, new, *, axes: view.permute(axes), follows_pad=False, admits=_always
        ),
        algebra=NO_ALGEBRA._replace(
            identities=(identities.of_literal, identities.of_number, identities.transpose_twice)
        ),
    ),
    mv.transpose_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW,
        movement=Movement(
            weight=2,
            apply=lambda view, new, *, starts, sizes, steps: view.sliced(starts, sizes, steps),
            follows_pad=True,
            admits=_always,
        ),
    ),
    mv.slice_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW,
        movement=Movement(weight=1, apply=lambda view, new, *, axes: view.flip(axes), follows_pad=True, admits=_always),
    ),
    mv.rev_op,
)
declare(
    MOVEMENT._replace(
        tiling=Tiling(rows.pad, collapse.unmixed, combine=None),
        movement=Movement(
            weight=1,
            apply=lambda view, new, *, low, high, interior, value: view.padded(list(zip(low, high, strict=True))),
            follows_pad=True,
            admits=lambda params: all(isinstance(size, int) and size == 0 for size in params["interior"]),
        ),
    ),
    mv.pad_op,
)
declare(MOVEMENT._replace(tiling=Tiling(rows.behind("axis"), collapse.axis, combine=None)), mv.concatenate_op)

declare(MOVEMENT._replace(alias=Alias.VIEW), po.view_op)
declare(MOVEMENT._replace(alias=Alias.STRETCHED_VIEW), po.stretched_view_op)
declare(MOVEMENT, po.padded_view_op, po.add_part_op, po.read_element_op)
declare(
    MOVEMENT._replace(updates=True, algebra=NO_ALGEBRA._replace(identities=(identities.increased_part,))),
    mv.slice_update_op,
)
declare(MOVEMENT._replace(updates=True), mv.slice_add_op, po.write_element_op, po.add_to_element_op)
