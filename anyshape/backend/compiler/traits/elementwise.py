"""Traits of elementwise ops. Times are measured with NumPy's loops, which for single precision are faster."""

import math

from anyshape.backend.compiler import c_expressions as c
from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import MEMORY_BOUND, NO_ALGEBRA, Alias, ElementTime, Tiling, Traits, declare
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
    c_expression=None,
)
SILENT = ELEMENTWISE._replace(algebra=NO_ALGEBRA._replace(silent=True))


def _timed(double: float, single: float) -> Traits:
    return ELEMENTWISE._replace(time=ElementTime(double, single))


def _in_c(expression: c.CExpression, traits: Traits = ELEMENTWISE) -> Traits:
    """Return a row with an expression in C."""
    return traits._replace(c_expression=expression)


def _arithmetic(text: str, bools: str | None = None, complexes: str | None = None) -> c.CExpression:
    """Return the rule of an operator of C that computes what NumPy does; overflows of integers wrap around."""
    return c.by_kind(text, text, bools, complexes)


def _simplified(*applied: identities.Identity, commutative: bool = False, silent: bool = False) -> Traits:
    algebra = NO_ALGEBRA._replace(identities=applied, commutative=commutative, silent=silent)
    return ELEMENTWISE._replace(algebra=algebra)


# -- arithmetic

declare(
    _in_c(_arithmetic("(-{0})", complexes="(-{0})"), _simplified(identities.twice(ew.neg_op), silent=True)), ew.neg_op
)
ADD = _arithmetic("({0} + {1})", "({0} | {1})", "({0} + {1})")
declare(_in_c(ADD, _simplified(identities.add_negated, commutative=True)), ew.add_op)
SUB = _arithmetic("({0} - {1})", complexes="({0} - {1})")
declare(_in_c(SUB, _simplified(identities.minus_zero, identities.sub_negated)), ew.sub_op)
MUL = _simplified(
    identities.times_one,
    identities.times_minus_one,
    identities.scaled_twice,
    identities.negation_outwards("iuf"),
    commutative=True,
)
declare(_in_c(_arithmetic("({0} * {1})", "({0} & {1})", "as_product{f}({0}, {1})"), MUL), ew.mul_op)
DIV = _simplified(identities.over_one, identities.negation_outwards("iuf"))
DIVISIBLE = c.by_kind("({0} / {1})", complexes="as_quotient{f}({0}, {1})", declines="({1} == 0)")
declare(_in_c(DIVISIBLE, DIV), ew.div_op)
# the same infinity twice, and 0 / 0, give 0 without the flag of an invalid operation
SAME = "(({0} == {1}) & (__builtin_fabs{f}({0}) == __builtin_inf{f}()))"
GAP = c.by_kind(f"(({SAME} ? 0 : {{0}}) - ({SAME} ? 0 : {{1}}))")
declare(_in_c(GAP, _simplified(identities.finite_gap)), ew.gap_op)
ZEROS = "(({0} == 0) & ({1} == 0))"
RATIO = f"(({ZEROS} ? 0 : {{0}}) / ({ZEROS} ? 1 : {{1}}))"
declare(_in_c(c.by_kind(RATIO)), ew.ratio_op)
declare(_in_c(c.by_kind(RATIO.replace("{1}", "{2}"))), ew.direction_op)
# A sum of independent choices: where others are made by the same comparisons, nested ones become branches.
SHARES = [f"(__builtin_isgreater{end}({{0}}, {{1}}) ? .5{{f}} : 0)" for end in ("equal", "")]
UNORDERED = '(__builtin_isunordered({0}, {1}) ? __builtin_nan{f}("") : 0)'
declare(_in_c(c.by_kind(f"({' + '.join([*SHARES, UNORDERED])})")), ew.share_op)
declare(_in_c(_arithmetic("({0} * {0})", complexes="as_product{f}({0}, {0})")), ew.square_op)
INVERSE = c.by_kind("(1 / {0})", complexes="as_inverse{f}({0})", declines="({0} == 0)")
declare(_in_c(INVERSE), ew.reciprocal_op)
declare(_in_c(c.by_kind("__builtin_sqrt{f}({0})")), ew.sqrt_op, ew.length_op)
declare(_in_c(c.Elementary("cbrt", 1)), ew.cbrt_op)
for _op in (ew.floor_divide_op, ew.remainder_op, ew.fmod_op):
    declare(_in_c(c.division(_op.name)), _op)
declare(ELEMENTWISE, ew.gcd_op, ew.lcm_op, ew.python_int_op, ew.float_of_ints_op)
declare(_in_c(c.Elementary("pow", 2), _timed(2.5, 0.7)), ew.pow_op)
declare(_in_c(c.power_by, _timed(2.5, 0.7)), ew.power_by_op)
declare(_in_c(c.Elementary("hypot", 1), _timed(9.0, 0.7)), ew.hypot_op)

# -- larger and smaller

# the first operand where it is NaN, and else the second unless the first is larger
LARGER = c.by_kind(
    "((__builtin_isgreaterequal({0}, {1}) | ({0} != {0})) ? {0} : {1})", "({0} > {1} ? {0} : {1})", "({0} | {1})"
)
SMALLER = c.by_kind(
    "((__builtin_islessequal({0}, {1}) | ({0} != {0})) ? {0} : {1})", "({0} < {1} ? {0} : {1})", "({0} & {1})"
)
declare(_in_c(LARGER), ew.max_op)
declare(_in_c(SMALLER), ew.min_op)
declare(_in_c(c.by_kind("__builtin_copysign{f}({0}, {1})")), ew.copysign_op)
STEP = "({0} != {0} ? {0} : __builtin_isless({0}, 0) ? 0 : {0} == 0 ? {1} : 1)"
declare(_in_c(c.by_kind(STEP)), ew.heaviside_op)
# of 0 and -0, NumPy takes the one or the other by their positions in the array, so tiles would differ
declare(ELEMENTWISE._replace(tiling=None), ew.fmax_op, ew.fmin_op)

# -- exponentials, logarithms, trigonometry

for _op, _ulp in (
    (ew.exp2_op, 2),
    (ew.expm1_op, 1),
    (ew.log_op, 1),
    (ew.log2_op, 2),
    (ew.log10_op, 2),
    (ew.log1p_op, 1),
):
    declare(_in_c(c.Elementary(_op.name, _ulp), _timed(1.2, 0.6)), _op)
COMPLEX_EXP = c.by_kind(complexes="as_exp_complex{f}({0})", declines="!as_has_exp{f}({0})")
declare(_in_c(c.Elementary("exp", 1, complexes=COMPLEX_EXP), _timed(1.2, 0.6)), ew.exp_op)
declare(_in_c(c.log_of_sum("exp", math.log(2)), _timed(20.0, 0.7)), ew.logaddexp_op)
declare(_in_c(c.log_of_sum("exp2", 1.0, math.log2(math.e)), ELEMENTWISE), ew.logaddexp2_op)
for _op in (ew.sin_op, ew.cos_op):
    declare(_in_c(c.Elementary(_op.name, 1, largest="AS_TRIG_MAX"), _timed(9.0, 0.7)), _op)
declare(_in_c(c.Elementary("tan", 2, largest="AS_TRIG_MAX"), _timed(1.8, 0.7)), ew.tan_op)
for _op, _ulp in (
    (ew.arcsin_op, 1),
    (ew.arccos_op, 1),
    (ew.arctan_op, 1),
    (ew.sinh_op, 2),
    (ew.cosh_op, 2),
    (ew.tanh_op, 1),
):
    declare(_in_c(c.Elementary(_op.name, _ulp), _timed(1.8, 0.7)), _op)
TANH_SLOPE = c.slope_by_share("{1} * {1}", "1 - {1} * {1}", "2 * __builtin_fabs{f}({0})", "4 * ")
declare(_in_c(TANH_SLOPE, _timed(0.8, 0.6)), ew.tanh_slope_op)
for _op in (ew.arctan2_op, ew.arcsinh_op, ew.arccosh_op, ew.arctanh_op):
    declare(_in_c(c.Elementary(_op.name, 1), _timed(2.5, 0.7)), _op)

# -- rounding and the parts of a float

ABS = c.by_kind("__builtin_fabs{f}({0})", "({0} < 0 ? -{0} : {0})", "{0}", "as_modulus{f}(__real__ {0}, __imag__ {0})")
declare(_in_c(ABS, SILENT), ew.abs_op)
SIGN = "(__builtin_isgreater({0}, 0) ? 1 : __builtin_isless({0}, 0) ? -1 : {0} == 0 ? 0 : {0})"
declare(_in_c(c.by_kind(SIGN, "(({0} > 0) - ({0} < 0))"), SILENT), ew.sign_op)
for _op, _name in ((ew.floor_op, "floor"), (ew.ceil_op, "ceil"), (ew.trunc_op, "trunc"), (ew.rint_op, "rint")):
    declare(_in_c(c.by_kind(f"__builtin_{_name}{{f}}({{0}})"), SILENT), _op)
declare(_in_c(c.rounded), ew.round_op)
declare(ELEMENTWISE, ew.nextafter_op, ew.spacing_op, ew.ldexp_op, ew.frexp_op)

# -- comparison and logic

declare(_in_c(c.comparison("AS_EQUAL", "=="), _simplified(commutative=True)), ew.eq_op)
declare(_in_c(c.comparison("AS_UNEQUAL", "!=")), ew.ne_op)
declare(_in_c(c.comparison("__builtin_isless", "<")), ew.lt_op)
declare(_in_c(c.comparison("__builtin_islessequal", "<=")), ew.le_op)
declare(_in_c(c.comparison("__builtin_isgreater", ">")), ew.gt_op)
declare(_in_c(c.comparison("__builtin_isgreaterequal", ">=")), ew.ge_op)
declare(_in_c(c.by_kind("({0} != {0})", complexes="({0} != {0})"), SILENT), ew.isnan_op)
declare(_in_c(c.by_kind("(__builtin_fabs{f}({0}) == __builtin_inf{f}())"), SILENT), ew.isinf_op)
declare(_in_c(c.by_kind("__builtin_isless(__builtin_fabs{f}({0}), __builtin_inf{f}())"), SILENT), ew.isfinite_op)
declare(_in_c(c.by_kind("({0} == 0)", "({0} == 0)", "({0} == 0)"), SILENT), ew.logical_not_op)
declare(_in_c(c.by_kind(None, "(~{0})", "(!{0})"), SILENT), ew.invert_op)
declare(_in_c(c.by_kind("(as_bits{f}({0}) < 0)"), SILENT), ew.signbit_op)
# Of two bools, the less and the larger: GCC makes branches of "&" and "|" between comparisons, and no vectors.
AND, OR = "({0} < {1} ? {0} : {1})", "({0} > {1} ? {0} : {1})"
for _op, _sign, _text in ((ew.logical_and_op, "&", AND), (ew.logical_or_op, "|", OR), (ew.logical_xor_op, "^", "")):
    _numbers = f"(({{0}} != 0) {_sign} ({{1}} != 0))"
    declare(_in_c(c.by_kind(_numbers, _numbers, _text or _numbers)), _op)
for _op, _sign, _text in ((ew.bitwise_and_op, "&", AND), (ew.bitwise_or_op, "|", OR), (ew.bitwise_xor_op, "^", "")):
    _numbers = f"({{0}} {_sign} {{1}})"
    declare(_in_c(c.by_kind(None, _numbers, _text or _numbers)), _op)
declare(_in_c(c.shift("<<")), ew.left_shift_op)
declare(_in_c(c.shift(">>")), ew.right_shift_op)
declare(ELEMENTWISE, ew.bitwise_count_op)

# -- complex parts, choice and conversion

for _op, _part in ((ew.real_op, "__real__ {0}"), (ew.imag_op, "__imag__ {0}")):
    declare(_in_c(c.by_kind(complexes=_part), SILENT._replace(alias=Alias.VIEW)), _op)
declare(_in_c(c.by_kind(complexes="(~{0})"), SILENT), ew.conj_op)
declare(_in_c(c.by_kind("as_pair{f}({0}, {1})")), ew.complex_op)
declare(ELEMENTWISE, ew.narrow_op)
declare(_in_c(c.convert, _simplified(identities.same_dtype)), ew.convert_op)
CHOICE = "({0} ? {1} : {2})"
SELECT = _simplified(identities.equal_choices, identities.known_choice, identities.nested_choice)
SELECT = SELECT._replace(scratch=op_traits.bit_masks)
PARTS = [f"as_choice{{f}}({{0}}, {part} {{1}}, {part} {{2}})" for part in ("__real__", "__imag__")]
CHOICES = c.by_kind("as_choice{f}({0}, {1}, {2})", CHOICE, CHOICE, f"as_pair{{f}}({PARTS[0]}, {PARTS[1]})")
declare(_in_c(CHOICES, SELECT), ew.select_op)

# -- ops of plans

declare(_in_c(c.masked("as_masked_{char}({0}, {1}, 0)")), po.masked_op)
declare(_in_c(c.masked("as_masked_{char}({0}, {1}, {2})")), po.masked_else_op)
declare(ELEMENTWISE, po.bits_op, po.rest_op)
