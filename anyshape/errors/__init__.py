"""The exceptions of anyshape. Each is built from data, which it keeps as attributes; the first line says what
happened and where, the second what to do.

    AnyshapeError
    ├── ShapeError (ValueError, IndexError)     sizes that cannot agree, as NumPy's AxisError is both
    │   ├── AxisError (numpy's AxisError)       an axis that the array does not have
    │   ├── IndexRangeError                     an index that was computed lies outside the axis
    │   ├── ViewError                           a reshape of a strided view that no strides express
    │   └── SizeMismatchError                   an assertion of a program failed at a call
    │       ├── InputSizeError                  an input has a size that its specification does not allow
    │       └── ZeroDivisorError (ZeroDivisionError) a size that Python divides by is 0
    ├── DTypeError (TypeError)                  a dtype an operation or a transform cannot take
    ├── ArgumentError (TypeError)               an argument or result that is no array, or that a transform refuses
    ├── SpecError (ValueError)                  a shape specification that cannot be read or solved
    │   ├── ContradictionError                  constraints that no sizes satisfy together
    │   └── UndeterminedSizeError               a size that no input of a program gives
    ├── ScopeMismatchError (ValueError)         sizes of two scopes met in one expression
    ├── SizeLimitError (OverflowError)          an expression over sizes grew beyond what is worked with
    ├── InconclusiveDimensionError (TypeError)  Python asked about a size that is not known
    │   └── SpecializationError                 a size declared dynamic was bound to some of its values
    ├── ConcretizationError (TypeError)         Python asked for the value of a traced array
    │   └── DataDependentSizeError              Python asked about a size that depends on data
    ├── CheckError (ValueError)                 what `check` demands of sizes or values does not hold
    ├── MutationError (TypeError)               in-place change of a traced array
    ├── SymbolicIterationError (TypeError)      iteration over an axis of unknown size
    ├── LeakedTracerError (RuntimeError)        a traced array used after its trace ended
    ├── UnsupportedFunctionError (TypeError)    a NumPy function that has no traced counterpart
    ├── UnsupportedDynamicShapeError (TypeError) a parameter that cannot hold a run-time size
    ├── RunError (RuntimeError)                 what NumPy raised while a program ran, with the op and the line
    │   ├── RunFloatingPointError (FloatingPointError)
    │   ├── RunZeroDivisionError (ZeroDivisionError)
    │   ├── RunOverflowError (OverflowError)
    │   └── RunMemoryError (MemoryError)
    │       └── MemoryLimitError                a run may need more memory than max_bytes allows
    ├── MissingRuleError (NotImplementedError)  an op has no entry in a rule table
    ├── MissingPackageError (ModuleNotFoundError) a package of an optional group is not installed
    ├── IllegalGraphError (ValueError)          a graph that breaks the rules of graphs
    ├── ProgramFileError (ValueError)           a file that is no program, is damaged, or is of a newer version
    ├── MetadataError (RuntimeError)            a value contradicts its metadata (ANYSHAPE_CHECK=1)
    └── GradientCheckError (AssertionError)     derivatives that disagree with finite differences
"""

from anyshape.errors.base import (
    AnyshapeError,
)
from anyshape.errors.program_errors import (
    IllegalGraphError,
    MissingPackageError,
    MissingRuleError,
    ProgramFileError,
    UnsupportedDynamicShapeError,
)
from anyshape.errors.run_errors import (
    GradientCheckError,
    MemoryLimitError,
    MetadataError,
    RunError,
    RunFloatingPointError,
    RunMemoryError,
    RunOverflowError,
    RunZeroDivisionError,
)
from anyshape.errors.size_errors import (
    AxisError,
    ContradictionError,
    InconclusiveDimensionError,
    IndexRangeError,
    InputSizeError,
    ScopeMismatchError,
    ShapeError,
    SizeLimitError,
    SizeMismatchError,
    SpecError,
    SpecializationError,
    UndeterminedSizeError,
    ViewError,
    ZeroDivisorError,
)
from anyshape.errors.tracing_errors import (
    ArgumentError,
    CheckError,
    ConcretizationError,
    DataDependentSizeError,
    DTypeError,
    LeakedTracerError,
    MutationError,
    SymbolicIterationError,
    UnsupportedFunctionError,
)

__all__ = [
    "AnyshapeError",
    "ArgumentError",
    "AxisError",
    "CheckError",
    "ConcretizationError",
    "ContradictionError",
    "DTypeError",
    "DataDependentSizeError",
    "GradientCheckError",
    "IllegalGraphError",
    "InconclusiveDimensionError",
    "IndexRangeError",
    "InputSizeError",
    "LeakedTracerError",
    "MemoryLimitError",
    "MetadataError",
    "MissingPackageError",
    "MissingRuleError",
    "MutationError",
    "ProgramFileError",
    "RunError",
    "RunFloatingPointError",
    "RunMemoryError",
    "RunOverflowError",
    "RunZeroDivisionError",
    "ScopeMismatchError",
    "ShapeError",
    "SizeLimitError",
    "SizeMismatchError",
    "SpecError",
    "SpecializationError",
    "SymbolicIterationError",
    "UndeterminedSizeError",
    "UnsupportedDynamicShapeError",
    "UnsupportedFunctionError",
    "ViewError",
    "ZeroDivisorError",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
