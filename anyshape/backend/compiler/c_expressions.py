"""Expressions in C of elementwise ops, for kernels that are compiled to machine code.

A rule gives the text of an op for the dtypes of its operands, with a field for each. None: there is no such text, so a
group with the op runs with NumPy. Texts keep the bits of NumPy for arithmetic, comparison and rounding. Elementary
functions are in `native/elementary.c`, with an error bound for each.

Comparisons are quiet, as NumPy's are: the signs of C set the flag of an invalid operation beside NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from anyshape.support.lazy_namedtuple import NamedTuple


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
_TYPES |= {"?": "uint8_t", "B": "uint8_t", "H": "uint16_t", "I": "uint32_t", "L": "uint64_t", "Q": "uint64_t"}


def c_type(dtype: np.dtype) -> str | None:
    """Return the type in C of a dtype; None for those that no kernel computes with."""
    return _TYPES.get(dtype.char) if dtype.isnative else None


def suffix(dtype: np.dtype) -> str:
    """Return the suffix of functions of C for a dtype."""
    return "f" if dtype.char == "f" else ""


def c_literal(value: Any, dtype: np.dtype) -> str:
    """Return a number as a constant of its dtype in C."""
    number = dtype.type(value)
    if dtype.kind != "f":
        return f"(({c_type(dtype)})({int(number)}{'ull' if dtype.kind == 'u' else 'll'}))"
    if np.isnan(number):
        text = '__builtin_nan("")'
    elif np.isinf(number):
        text = "__builtin_inf()" if number > 0 else "(-__builtin_inf())"
    else:
        text = float(number).hex()
    return f"(({c_type(dtype)})({text}))"


def by_kind(floats: str | None = None, integers: str | None = None, bools: str | None = None) -> CExpression:
    """Return the rule of an op with a text for each kind of its last operand; None where there is none.

    In texts for floats, `{f}` is the suffix of the functions of C for single precision.
    """
    texts = {"f": floats, "i": integers, "u": integers, "b": bools}

    def rule(site: CSite) -> CText | None:
        dtype = site.operands[-1]
        text = texts.get(dtype.kind)
        return None if text is None else CText(text.replace("{f}", suffix(dtype)))

    return rule


def of_floats(name: str) -> CExpression:
    """Return the rule of an elementary function, which single precision has with the suffix f."""

    def rule(site: CSite) -> CText | None:
        if site.result.char not in "fd":
            return None
        operands = ", ".join(f"{{{i}}}" for i in range(len(site.operands)))
        return CText(f"as_{name}{suffix(site.result)}({operands})")

    return rule


def within(limit: str, rule: CExpression) -> CExpression:
    """Return a rule whose kernel declines calls with larger operands, such as angles beyond an exact reduction."""

    def limited(site: CSite) -> CText | None:
        text = rule(site)
        beyond = f"__builtin_isgreater(__builtin_fabs{suffix(site.result)}({{0}}), {limit})"
        return None if text is None else CText(text.value, beyond)

    return limited


def masked(text: str) -> CExpression:
    """Return the rule of a choice by bits."""
    return lambda site: CText(text.replace("{char}", site.result.char)) if site.result.char in "fd" else None


def convert(site: CSite) -> CText | None:
    """Give the text of a conversion: anything but 0 is True."""
    if site.operands[0].kind not in "fiub" or site.result.kind not in "fiub":
        return None
    return CText("({0} != 0)" if site.result.kind == "b" else "{0}")


_PRODUCTS = {3: "({0} * {0} * {0})", 4: "(({0} * {0}) * ({0} * {0}))"}


def power_by(site: CSite) -> CText | None:
    """Give the text of a literal power, where NumPy's kernel is a product too."""
    product = _PRODUCTS.get(site.params["exponent"])
    return CText(product) if product is not None and site.result.char in "fd" else None
