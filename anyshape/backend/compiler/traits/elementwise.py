"""Traits of elementwise ops. Times are measured with NumPy's loops, which for single precision are faster."""

from anyshape.backend.compiler import plan_ops as po
from anyshape.backend.compiler import scratch
from anyshape.backend.compiler.op_traits import (
    MEMORY_BOUND,
    NO_ALGEBRA,
    Alias,
    ElementTime,
    Tiling,
    Traits,
    declare,
)
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.ops import elementwise as ew

ELEMENTWISE = Traits(
    elementwise=True,
    alias=Alias.FRESH,
    time=MEMORY_BOUND,
    tiling=Tiling(rows.elementwise, collapse.elementwise, combine=None),
    scratch=None,
    movement=None,
    algebra=NO_ALGEBRA,
    recomputable=True,
    runs_user_code=False,
    updates=False,
    inlines="",
)
SILENT = ELEMENTWISE._replace(algebra=NO_ALGEBRA._replace(silent=True))


def _timed(double: float, single: float) -> Traits:
    return ELEMENTWISE._replace(time=ElementTime(double, single))


def _simplified(*applied: identities.Identity, commutative: bool = False, silent: bool = False) -> Traits:
    algebra = NO_ALGEBRA._replace(identities=applied, commutative=commutative, silent=silent)
    return ELEMENTWISE._replace(algebra=algebra)


# -- arithmetic

declare(_simplified(identities.twice(ew.neg_op), silent=True), ew.neg_op)
declare(_simplified(identities.add_negated, commutative=True), ew.add_op)
declare(_simplified(identities.minus_zero, identities.sub_negated), ew.sub_op)
declare(
    _simplified(
        identities.times_one,
        identities.times_minus_one,
        identities.scaled_twice,
        identities.negation_outwards("iuf"),
        commutative=True,
    ),
    ew.mul_op,
)
declare(_simplified(identities.over_one, identities.negation_outwards("iuf")), ew.div_op)
declare(_simplified(identities.finite_gap), ew.gap_op)
declare(ELEMENTWISE, ew.square_op, ew.reciprocal_op, ew.sqrt_op, ew.cbrt_op, ew.length_op)
declare(ELEMENTWISE, ew.share_op, ew.ratio_op)
declare(ELEMENTWISE, ew.floor_divide_op, ew.remainder_op, ew.fmod_op, ew.gcd_op, ew.lcm_op, ew.python_int_op)
declare(_timed(2.5, 0.7), ew.pow_op, ew.power_by_op)
declare(_timed(9.0, 0.7), ew.hypot_op)

# -- larger and smaller

declare(ELEMENTWISE, ew.max_op, ew.min_op, ew.heaviside_op, ew.copysign_op)
# of 0 and -0, NumPy takes the one or the other by their positions in the array, so tiles would differ
declare(ELEMENTWISE._replace(tiling=None), ew.fmax_op, ew.fmin_op)

# -- exponentials, logarithms, trigonometry

declare(_timed(1.2, 0.6), ew.exp_op, ew.exp2_op, ew.expm1_op, ew.log_op, ew.log2_op, ew.log10_op, ew.log1p_op)
declare(_timed(20.0, 0.7), ew.logaddexp_op)
declare(ELEMENTWISE, ew.logaddexp2_op)
declare(_timed(9.0, 0.7), ew.sin_op, ew.cos_op)
declare(_timed(1.8, 0.7), ew.tan_op, ew.arcsin_op, ew.arccos_op, ew.arctan_op, ew.sinh_op, ew.cosh_op, ew.tanh_op)
declare(_timed(2.5, 0.7), ew.arctan2_op, ew.arcsinh_op, ew.arccosh_op, ew.arctanh_op)

# -- rounding and the parts of a float

declare(SILENT, ew.abs_op, ew.sign_op, ew.floor_op, ew.ceil_op, ew.trunc_op, ew.rint_op)
declare(ELEMENTWISE, ew.round_op, ew.nextafter_op, ew.spacing_op, ew.ldexp_op, ew.frexp_op)

# -- comparison and logic

declare(_simplified(commutative=True), ew.eq_op)
declare(ELEMENTWISE, ew.ne_op, ew.lt_op, ew.le_op, ew.gt_op, ew.ge_op)
declare(SILENT, ew.isnan_op, ew.isinf_op, ew.isfinite_op, ew.signbit_op, ew.logical_not_op, ew.invert_op)
declare(ELEMENTWISE, ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op)
declare(ELEMENTWISE, ew.bitwise_and_op, ew.bitwise_or_op, ew.bitwise_xor_op)
declare(ELEMENTWISE, ew.left_shift_op, ew.right_shift_op, ew.bitwise_count_op)

# -- complex parts, choice and conversion

declare(SILENT._replace(alias=Alias.VIEW), ew.real_op, ew.imag_op)
declare(SILENT, ew.conj_op)
declare(ELEMENTWISE, ew.complex_op, ew.narrow_op)
declare(_simplified(identities.same_dtype), ew.convert_op)
declare(
    _simplified(identities.equal_choices, identities.known_choice)._replace(scratch=scratch.bit_masks), ew.select_op
)

# -- ops of plans

declare(ELEMENTWISE, po.bits_op, po.rest_op, po.masked_op, po.masked_else_op)
