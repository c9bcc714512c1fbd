"""Names of the elementary functions in C, and the forms in which kernels call them.

A kernel with few calls has them inline. One with many calls vector clones, which compile in a tenth of the time and
take a third more of it.
"""

from __future__ import annotations

_UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt", "erf", "erfc", "expit",
)  # fmt: skip
FILES = ("elementary.c", "elementary_further.c")
OPERANDS = dict.fromkeys(_UNARY, 1) | dict.fromkeys(("pow", "arctan2", "hypot"), 2)
ELEMENTARY = tuple([name + suffix for name in OPERANDS for suffix in ("", "f")])


def _declared(name: str, suffix: str, prefix: str) -> str:
    """Return the declaration of a function without its end."""
    kind = "float" if suffix else "double"
    operands = ", ".join([f"{kind} {operand}" for operand in "xy"[: OPERANDS[name]]])
    return f"{kind} {prefix}{name}{suffix}({operands})"


def inline_declarations() -> str:
    """Return declarations by which the functions are always inline: a loop with a call has no vectors."""
    declared = [_declared(name, suffix, "as_") for name in OPERANDS for suffix in ("", "f")]
    return "\n".join([f"static inline {text} __attribute__((always_inline));" for text in declared])


def clones() -> str:
    """Return functions that loops call with vectors."""
    lines: list[str] = []
    for name, count in OPERANDS.items():
        for suffix in ("", "f"):
            lines += [
                "#pragma omp declare simd notinbranch",
                f"static __attribute__((noinline, unused)) {_declared(name, suffix, 'as_call_')}",
                f"{{ return as_{name}{suffix}({', '.join('xy'[:count])}); }}",
            ]
    return "\n".join(lines)
