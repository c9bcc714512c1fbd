"""The differences from NumPy that are wanted, each with its reason."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A wanted difference: where the expression and the problem match, within the dtypes and shapes named by `case`."""

    expression: str
    problem: str
    reason: str
    case: str = ""

    def explains(self, expression, case, problem):
        """Return whether this row is the reason for a difference."""
        parts = ((self.expression, expression), (self.problem, problem), (self.case, case))
        return all(re.search(pattern, text) for pattern, text in parts)


D = Difference
REFUSED = "^refused|^error class|^object"
WANTED = (
    # -- what a program cannot hold or do
    D(
        r"object|'S3'|'a'|b'a'|None|\{\}",
        "^refused: (DTypeError|ArgumentError)|^error class|TypeError: (unsupp|'.*' not supp)|^structure",
        "programs hold numbers, no objects and no text",
    ),
    D("copyto|fill_diagonal|np.place|np.put", "MutationError", "programs leave their arguments as they are"),
    D(
        "strides|flags|base|data|ctypes|coords|flat.index|x.flat$",
        REFUSED,
        "values of a program have no memory",
    ),
    D("ravel|flatten|reshape|copy", "asks for the memory layout", "values of a program have no memory layout"),
    D(
        r"np.array\(|math.floor|sc.(log_)?softmax",
        "ConcretizationError",
        "Python or SciPy asks for values; the functions of anyshape.numpy do not",
    ),
    D(
        "hash|reversed|concat|__round__|round",
        "accepted",
        "Python's protocols take the array as a number or a sequence",
    ),
    D(".", "accepted: NumPy raises .*__round__", "a traced scalar can be rounded, so an array can be"),
    # -- documented limits
    D(
        "where=1|initial=x",
        "^error class|^refused: (DTypeError|ArgumentError)",
        "a mask is boolean, a start is a number",
    ),
    D(
        "linalg.pinv",
        "^dtype: float64|not inexact",
        "integers count as float64, also in empty matrices and for rtol=None",
    ),
    D(r"linalg.eig(vals)?\(", "^dtype", "eigenvalues are complex: whether an imaginary part is left depends on values"),
    D("linalg.lstsq", "sign of zero", "the solution is a product with the pseudo-inverse"),
    D("trim_zeros", "UnsupportedFunctionError", "zeros are trimmed from vectors"),
    D("searchsorted", "option 'sorter'", "sort the array before"),
    D("vecdot|matvec|vecmat|matmul", "option '(keepdims|axes)'", "products take no further options"),
    D("clip", "out and ufunc options", "clip takes no ufunc options"),
    D("np.pad", "UnsupportedFunctionError", "modes that compute statistics are not padded"),
    D(r"x\.(var|std).*(correction|mean)=", "^accepted", "methods take what functions take"),
    D("np.ix_", "a mask", "ix_ takes positions"),
    D(
        "np.average",
        "weights sum to zero|must be at least 1",
        "a condition on values or sizes is a check of the program",
    ),
    D("multi_dot", "only the first and the last|fewer than", "a product of matrices takes no scalars"),
    D("take", "^error class: DTypeError|^refused: DTypeError", "positions are integers; booleans would be a mask"),
    D(r"power|pow|\\*\\*", "integers to negative integer powers", "the exponent is refused before elements are known"),
    D(
        r"sc\.[jyik][vn]e?(\.outer)?\(",
        "the order is|no derivative for complex",
        "orders of Bessel functions are literal integers",
    ),
    D(r"norm\(", "of a traced matrix|^error class", "these norms need a decomposition"),
    D(
        r"cov\(.*weights",
        "^error class: SizeMismatchError",
        "NumPy raises RuntimeError for these sizes, and ValueError elsewhere",
    ),
    D("matrix_power", "a negative power|^error class", "an inverse needs a decomposition"),
    D("cross", "must equal 3|not 3", "NumPy deprecates vectors of two elements"),
    D("union1d", "^value|^special", "which NaN stands for all of them is not specified", case="complex"),
    D("sorted=(False|None)|unique_", "^value|^special|^sign of zero|^shape", "distinct elements are always sorted"),
    D("piecewise", "^accepted", "functions get the whole array, where NumPy indexes it by the mask"),
    # -- arguments that a program takes more strictly, or in another order
    D(
        r"split\(|repeat\(|roll\(|tile\(|axis=1\.0|axis=\(|, \(-1,\)|1\.0\)",
        "is not an int|cannot be negative|UnsupportedF|^error class|Cannot cast array data",
        "a count or an axis is one int",
    ),
    D("np.pad", "^accepted", "a scalar has no axis to extend, so its widths are not read", case=r"\(\)"),
    D("tensordot", "are not axes of operands|^error class", "a number of axes is not negative"),
    D("tri[lu]", "^error class", "NumPy's own message is an accident of its code"),
    D("(std|var).*axis=.*correction", "^error class", "two things are wrong, and the axis is found first"),
    D("mean=x", "^accepted", "booleans are averaged as numbers, with a given mean too", case="bool"),
    D(
        "std.*dtype=(int|bool)",
        "^accepted|^refused|^value|^error class",
        "NumPy refuses to cast the root of an array, not of a scalar",
    ),
    D("mean.*dtype=bool|var.*dtype=bool", "^value|^accepted", "NumPy casts averages of booleans in two ways"),
    D("where", "OverflowError", "a Python int must fit the dtype, where NumPy wraps it"),
    D("where.*None", "a scalar has no positions", "None is as if it were left out"),
    D(
        "[<>]=?|[-+*/%@&|^]",
        "^error not ours: TypeError.*(not supported between|unsupported operand)",
        "Python itself refuses the operator",
    ),
    D(
        r"percentile.*axis=\(\)|quantile.*axis=\(\)",
        "^accepted",
        "NumPy's reshape fails for an empty array",
        case="0",
    ),
    D("nan(var|std).*dtype=", "^value", "NumPy subtracts the mean in the dtype of the data"),
    D("clip", "^sign of zero", "NumPy clips complex numbers by another rule", case="complex"),
    D("to_device", "^error class", "a device is an option without a counterpart"),
    D(r"\[\[?1\.0\]|^x\[x\]$", "^error class|^refused", "an index of floats is an error of dtypes"),
    D(r"np.zeros\(\(0, 3\), bool\)", "must equal 0", "NumPy lets a mask without elements have any length"),
    D("quantile|percentile", "zero-size array", "NumPy's check fails for several axes of no levels", case="0"),
    D(
        "quantile|percentile",
        "must be at least 1",
        "a quantile needs an element, where NumPy answers for no levels of integers",
        case="0",
    ),
    D("argwhere|nonzero", "a scalar has no positions", "a scalar has no axes to give positions along", case=r"\(\)"),
    D("interp", "^error class|^refused", "positions are real numbers", case="complex"),
    D(r"median.*axis=\(\)", "^accepted", "NumPy's reshape fails for an empty array", case="0"),
    # -- rounding, the sign of zero and NaN
    D("median|quantile", "^value|^special", "NaN has no second part", case="complex"),
    D("quantile|percentile", "^value", "NumPy's differences of integers overflow", case="int"),
    D("corrcoef", "^dtype", "NumPy leaves an empty matrix real", case="complex.*0"),
    D("'a'", "^error not ours: TypeError", "Python's text refuses the operator"),
    D("sc.round", "^sign of zero", "SciPy rounds to a positive zero"),
    D("sum.*initial=-0.0", "^sign of zero", "an empty sum is 0"),
    D(
        "initial=None|matmul|dot|inner|einsum|x @|x.dot|outer",
        "^sign of zero",
        "BLAS and NumPy's loops start from 0 or from the first product",
    ),
    D(
        "tensordot|dot|inner|matmul|einsum|x @|norm|kron",
        "^special",
        "BLAS multiplies complex infinities by its scale",
        case="complex",
    ),
    D(
        "prod|reduce",
        "^special|^sign",
        "NumPy multiplies a complex number by 1, which changes parts of it",
        case="complex",
    ),
    D("prod.*dtype=complex", "^special|^sign", "NumPy multiplies a complex number by 1, which changes parts of it"),
    D(
        "sc.(expm1|log1p)",
        "^special|^sign of zero",
        "SciPy's complex functions round otherwise than NumPy's",
        case="complex",
    ),
    D("sc.pseudo_huber", "^special|^sign", "the limit is given where SciPy multiplies infinity by 0"),
    D(
        r"sc\.(jv|jn|yv|yn|iv|ive|kv|kve|kn)",
        "^special|^sign|^value",
        "integer orders are computed by recurrence",
        case="",
    ),
    D(r"sc\.(hyp|expn|loggamma|ellipr)", "DTypeError: .*complex", "functions of parameters take real numbers"),
    D(r"sc\.expn", "^special", "SciPy takes orders beyond 32 bits modulo 2**32"),
    D(r"sc\.n?bdtr", "^special|^value", "SciPy truncates a number of trials with a fraction, and converts NaN to one"),
    D("(var|std).*dtype=complex", "^value|^special", "real data are squared before they are cast"),
    D("percentile.*np.float32", "^dtype", "NumPy's scalar levels promote by value", case="float16"),
    D("percentile.*np.int64", "^dtype", "NumPy gives NaN in the dtype of the data, and numbers in another one"),
    D("quantile|percentile", "^sign of zero", "NumPy's partition puts equal zeros in any order"),
    D("linspace|interp", "^special", "the order of operations decides on inf - inf"),
    D(
        r"power.*0\.5|\*\* .*0\.5",
        "^sign of zero|^special|^value",
        "an exponent of 0.5 takes the root, as NumPy's own `x ** 0.5` of an array does",
    ),
    D("concatenate.*axis=None|union1d", "^dtype", "NumPy keeps the dtype where one operand is a Python scalar"),
    D("empty_like", "", "NumPy gives what is in memory"),
    D(
        "fmax|fmin|maximum|minimum|nanmax|nanmin",
        "^sign of zero",
        "NumPy's loops give either of two zeros, by the size",
    ),
    D(r"clip\(x, \[", "^sign of zero", "at a limit of 0 in an array NumPy gives either of two zeros"),
    D(r"initial=-0\.0", "^sign of zero", "a start of -0 is added to a sum, which is never -0"),
    D("average.*weights=np.ones", "^error class: SizeMismatchError", "that sizes differ is known at a call"),
    D("bincount", "array is too big", "NumPy overflows, gives nothing, and writes to memory that is not its own"),
    D("cov.*rowvar=False", "^dtype", "NumPy gives floats where there are no variables", case="complex"),
    D(
        "bincount|concatenate|einsum|logaddexp.reduce",
        "^error class: DTypeError",
        "two things are wrong, and the dtype is found first",
    ),
)


def reason_for(expression, case, problem):
    """The reason of a wanted difference, or None."""
    return next((row.reason for row in WANTED if row.explains(expression, case, problem)), None)
