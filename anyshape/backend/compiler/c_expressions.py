"""Expressions in C of elementwise ops, for kernels that are compiled to machine code.

A rule gives the text of an op for the dtypes of its operands, with a field for each. None: there is no such text, so a
group with the op runs with NumPy. Texts keep the bits of NumPy for arithmetic, comparison and rounding. Elementary
functions are in `native/elementary.c`, with an error bound for each.

Comparisons are quiet, as NumPy's are: the signs of C set the flag of an invalid operation beside NaN.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from anyshape.ops.elementwise import STEEP
from anyshape.support.lazy_dataclass import NamedTuple, dataclass


class CSite(NamedTuple):
    """Elementwise step: the dtypes of its operands and of its result, and its params."""

    operands: tuple[np.dtype, ...]
    result: np.dtype
    params: dict[str, Any]


class CText(NamedTuple):
    """Text of an element, and of the condition under which the kernel declines the call; "" if it never does."""

    value: str
    declines: str = ""


CExpression: TypeAlias = "Callable[[CSite], CText | None]"

_TYPES = {"b": "int8_t", "h": "int16_t", "i": "int32_t", "l": "int64_t", "q": "int64_t", "f": "float", "d": "double"}
_TYPES |= {
    "F": "as_complexf",
    "D": "as_complex",
    "?": "uint8_t",
    "B": "uint8_t",
    "H": "uint16_t",
    "I": "uint32_t",
    "L": "uint64_t",
    "Q": "uint64_t",
}


def c_type(dtype: np.dtype) -> str | None:
    """Return the type in C of a dtype; None for those that no kernel computes with."""
    return _TYPES.get(dtype.char) if dtype.isnative else None


def suffix(dtype: np.dtype) -> str:
    """Return the suffix of functions of C for a dtype."""
    return "f" if dtype.char in "fF" else ""


def c_literal(value: Any, dtype: np.dtype) -> str:
    """Return a number as a constant of its dtype in C."""
    number = dtype.type(value)
    if dtype.kind == "c":
        parts = [c_literal(part, part.dtype) for part in (number.real, number.imag)]
        return f"as_pair{suffix(dtype)}({', '.join(parts)})"
    if dtype.kind != "f":
        return f"(({c_type(dtype)})({int(number)}{'ull' if dtype.kind == 'u' else 'll'}))"
    if np.isnan(number):
        text = '__builtin_nan("")'
    elif np.isinf(number):
        text = "__builtin_inf()" if number > 0 else "(-__builtin_inf())"
    else:
        text = float(number).hex()
    return f"(({c_type(dtype)})({text}))"


def by_kind(
    floats: str | None = None,
    integers: str | None = None,
    bools: str | None = None,
    complexes: str | None = None,
    declines: str = "",
) -> CExpression:
    """Return the rule of an op with a text for each kind of its last operand; None where there is none.

    In texts for floats and complex numbers, `{f}` is the suffix of the functions of C for single precision. Complex
    operands have a condition `declines`.
    """
    texts = {"f": floats, "i": integers, "u": integers, "b": bools, "c": complexes}

    def rule(site: CSite) -> CText | None:
        dtype = site.operands[-1]
        text = texts.get(dtype.kind)
        condition = declines if dtype.kind == "c" else ""
        return None if text is None else CText(*[part.replace("{f}", suffix(dtype)) for part in (text, condition)])

    return rule


@dataclass(frozen=True)
class Elementary:
    """Rule of an elementary function, which single precision has with the suffix f.

    - `ulp`: the largest error of a result, in units of its last place.
    - `largest`: a constant in C; kernels decline calls with a larger operand. "": there is none.
    - `complexes`: the rule for complex numbers.
    """

    name: str
    ulp: float
    largest: str = ""
    complexes: CExpression = lambda site: None

    def __call__(self, site: CSite) -> CText | None:
        """Return the text of a call."""
        if site.result.char not in "fd":
            return self.complexes(site)
        f, operands = suffix(site.result), ", ".join(f"{{{i}}}" for i in range(len(site.operands)))
        beyond = f"__builtin_isgreater(__builtin_fabs{f}({{0}}), {self.largest})" if self.largest else ""
        return CText(f"as_{self.name}{f}({operands})", beyond)


def masked(text: str) -> CExpression:
    """Return the rule of a choice by bits."""
    return lambda site: CText(text.replace("{char}", site.result.char)) if site.result.char in "fd" else None


def comparison(function: str, sign: str) -> CExpression:
    """Return the rule of a comparison. C would take negative integers for large ones beside an unsigned one."""

    def rule(site: CSite) -> CText | None:
        x, y = site.operands
        if x.kind == "c" and sign not in ("==", "!="):
            return None
        if x.kind == "f":
            return CText(f"{function}({{0}}, {{1}})")
        if x.kind == y.kind:
            return CText(f"({{0}} {sign} {{1}})")
        wide = 8 in [d.itemsize for d in (x, y) if d.kind == "u"]
        return None if wide else CText(f"((int64_t){{0}} {sign} (int64_t){{1}})")

    return rule


def convert(site: CSite) -> CText | None:
    """Give the text of a conversion: anything but 0 is True. Kernels decline floats that an integer cannot hold.

    A float is the real part of a complex number.
    """
    source, result = site.operands[0], site.result
    if source.kind not in "fiubc" or result.kind not in "fiubc" or (source.kind == "c" and result.kind in "iu"):
        return None
    if source.kind == "c" and result.kind == "f":
        return CText("__real__ {0}")
    if source.kind != "f" or result.kind not in "iu":
        return CText("({0} != 0)" if result.kind == "b" else "{0}")
    info = np.iinfo(result)
    above = f"__builtin_isless({{0}}, {float(2.0 ** (info.bits - (result.kind == 'i'))).hex()})"
    lower = "__builtin_isgreater({0}, -1.0)" if result.kind == "u" else f"__builtin_isgreaterequal({{0}}, {info.min}.0)"
    return CText("{0}", f"!({above} & {lower})")


def log_of_sum(exp: str, of_two: float, scale: float = 1.0) -> CExpression:
    """Return the rule of log(exp(x) + exp(y)): the larger, and what the smaller adds; equal infinities have one too."""

    def rule(site: CSite) -> CText | None:
        if site.result.char not in "fd":
            return None
        f, factor = suffix(site.result), c_literal(scale, site.result)
        apart = f"as_log1p{f}(as_{exp}{f}(-__builtin_fabs{f}({{0}} - {{1}})))"
        more = apart if scale == 1 else f"{factor} * {apart}"
        return CText(f"({{0}} == {{1}} ? {{0}} + {c_literal(of_two, site.result)} : AS_LARGER({{0}}, {{1}}) + {more})")

    return rule


def slope_by_share(share: str, elsewhere: str, scaled: str, factor: str = "") -> CExpression:
    """Return the rule of a slope from a function value {1}: from x = {0} where a share of it is close to 1."""

    def rule(site: CSite) -> CText | None:
        if site.result.char not in "fd":
            return None
        f, most = suffix(site.result), c_literal(STEEP[site.result.char], site.result)
        tail = f"{factor}as_logistic_tail{f}(as_exp{f}(-{scaled.replace('{f}', f)}))"
        return CText(f"(__builtin_isgreater({share}, {most}) ? {tail} : {elsewhere})")

    return rule


_PRODUCTS = {3: "({0} * {0} * {0})", 4: "(({0} * {0}) * ({0} * {0}))"}


def power_by(site: CSite) -> CText | None:
    """Give the text of a literal power: a product where NumPy's kernel is one too."""
    exponent, result = site.params["exponent"], site.result
    if exponent in _PRODUCTS and result.kind in "fiu":
        return CText(_PRODUCTS[exponent])
    if result.char not in "fd":
        return None
    if exponent == -2:
        return CText("((1 / {0}) * (1 / {0}))")
    if exponent == 0.5:  # newer versions of NumPy take the root, which differs from the power at -0 and -infinity
        return CText(f"__builtin_sqrt{suffix(result)}({{0}})", f"(as_bits{suffix(result)}({{0}}) < 0)")
    return CText(f"as_pow{suffix(result)}({{0}}, {c_literal(exponent, result)})")


def rounded(site: CSite) -> CText | None:
    """Give the text of a rounding to decimals: of a product or quotient with a power of ten, as NumPy computes it."""
    decimals, result = site.params["decimals"], site.result
    if result.kind in "iu":
        return CText("{0}") if decimals >= 0 else None
    if result.char not in "fd":
        return None
    nearest = f"__builtin_rint{suffix(result)}"
    ten = c_literal(10.0 ** abs(decimals), result)
    there, back = ("*", "/") if decimals > 0 else ("/", "*")
    return CText(f"({nearest}({{0}} {there} {ten}) {back} {ten})" if decimals else f"{nearest}({{0}})")


# of a division by 0, and of the least integer by -1, NumPy warns
_DIVISIONS = {
    "floor_divide": "({{0}} / {d} - (({{0}} % {d} != 0) & (({{0}} < 0) != ({d} < 0))))",
    "remainder": "({{0}} % {d} + ((({{0}} % {d}) != 0) & ((({{0}} % {d}) < 0) != ({d} < 0)) ? {d} : 0))",
    "fmod": "({{0}} % {d})",
}


def division(name: str) -> CExpression:
    """Return the rule of a division with an integer quotient. Kernels decline what NumPy warns of."""

    def rule(site: CSite) -> CText | None:
        dtype = site.result
        if dtype.char in "fd":
            f = suffix(dtype)
            return CText(f"as_{name}{f}({{0}}, {{1}})", f"!as_is_divisible{f}({{0}}, {{1}})")
        if dtype.kind not in "iu" or any(d != dtype for d in site.operands):
            return None
        if dtype.kind == "u":
            return CText(_DIVISIONS[name].format(d="({1} == 0 ? 1 : {1})"), "({1} == 0)")
        quotient = _DIVISIONS[name].format(d="(({1} == 0) | ({1} == -1) ? 1 : {1})")
        least = f"({{0}} == {c_literal(np.iinfo(dtype).min, dtype)})"
        text = f"({{1}} == -1 ? -{{0}} : {quotient})" if name == "floor_divide" else quotient
        return CText(text, f"(({{1}} == 0) | (({{1}} == -1) & {least}))")

    return rule


def shift(sign: str) -> CExpression:
    """Return the rule of a shift: counts beyond the bits, negative ones too, leave 0, or the sign to the right."""

    def rule(site: CSite) -> CText | None:
        dtype = site.result
        if dtype.kind not in "iu" or any(d != dtype for d in site.operands):
            return None
        beyond = "({0} < 0 ? -1 : 0)" if sign == ">>" and dtype.kind == "i" else "0"
        count = f"((uint64_t){{1}} < {8 * dtype.itemsize} ? {{1}} : 0)"
        return CText(f"((uint64_t){{1}} < {8 * dtype.itemsize} ? ({{0}} {sign} {count}) : {beyond})")

    return rule
