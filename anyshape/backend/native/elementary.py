"""Names of the elementary functions in C, and the functions that run them on strips.

A loop with few calls has them inline. One with many runs in strips, where a function is compiled once for all calls.
"""

_UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "cbrt", "erf", "erfc", "expit",
)  # fmt: skip
FILES = ("elementary.c", "elementary_further.c")
OPERANDS = dict.fromkeys(_UNARY, 1) | dict.fromkeys(("pow", "arctan2", "hypot"), 2)
UNDERFLOWS = ("as_exp(", "as_expf(", "as_exp2(", "as_expit(", "as_erfc(", "as_pow(")  # without raising the flag
LANES = 16  # the most elements of a vector
GIVEN = {"erf_given": 2}  # functions that take a part of their computation from another function
ELEMENTARY = tuple([name + suffix for name in (*OPERANDS, *GIVEN) for suffix in ("", "f")])


def strip_functions() -> str:
    """Return functions that compute a strip of elements from other strips, which they pad to whole vectors."""
    counts = OPERANDS | GIVEN
    return "\n".join([_strip_function(name, suffix, "xy"[:n]) for name, n in counts.items() for suffix in ("", "f")])


def _strip_function(name: str, suffix: str, operands: str) -> str:
    kind = "float" if suffix else "double"
    read = "".join([f", char *{x}_" for x in operands])
    pointers = " ".join([f"{kind} *restrict {x} = ({kind} *){x}_;" for x in operands])
    padding = " ".join([f"{x}[k] = {x}[length - 1];" for x in operands])
    elements = ", ".join([f"{x}[k]" for x in operands])
    return f"""static __attribute__((noinline, unused))
void as_strip_{name}{suffix}(int64_t length, char *result_{read}) {{
    {kind} *restrict result = ({kind} *)result_;
    {pointers}
    const int64_t whole = (length + {LANES - 1}) / {LANES} * {LANES};
    for (int64_t k = length; k < whole; k++) {{ {padding} }}
    #pragma omp simd
    for (int64_t k = 0; k < whole; k++) result[k] = as_{name}{suffix}({elements});
}}"""
