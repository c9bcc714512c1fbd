"""Exceptions of anyshape: each derives from `AnyshapeError` and from the error that NumPy or Python would raise.

Each is built from data, which it keeps as attributes. The first line of a message says what happened and where, the
second what to do. docs/errors.md shows a message of each class.
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
    RunLinAlgError,
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
    RaggedBatchError,
    ScopeMismatchError,
    ShapeError,
    SizeLimitError,
    SizeMismatchError,
    SizePathsError,
    SpecError,
    SpecializationError,
    UndeterminedSizeError,
    UnprovedClaimError,
    ViewError,
    ZeroDivisorError,
)
from anyshape.errors.tracing_errors import (
    ArgumentError,
    BranchMismatchError,
    CarryMismatchError,
    CheckError,
    ConcretizationError,
    CustomRuleError,
    DataDependentSizeError,
    DecisionError,
    DivisionCheckError,
    DTypeError,
    FrozenDrawError,
    LeakedTracerError,
    MutationError,
    NegativeSizeError,
    SymbolicIterationError,
    UnhashableError,
    UnsupportedFunctionError,
)

__all__ = [
    "AnyshapeError",
    "ArgumentError",
    "AxisError",
    "BranchMismatchError",
    "CarryMismatchError",
    "CheckError",
    "ConcretizationError",
    "ContradictionError",
    "CustomRuleError",
    "DTypeError",
    "DataDependentSizeError",
    "DecisionError",
    "DivisionCheckError",
    "FrozenDrawError",
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
    "NegativeSizeError",
    "ProgramFileError",
    "RaggedBatchError",
    "RunError",
    "RunFloatingPointError",
    "RunLinAlgError",
    "RunMemoryError",
    "RunOverflowError",
    "RunZeroDivisionError",
    "ScopeMismatchError",
    "ShapeError",
    "SizeLimitError",
    "SizeMismatchError",
    "SizePathsError",
    "SpecError",
    "SpecializationError",
    "SymbolicIterationError",
    "UndeterminedSizeError",
    "UnhashableError",
    "UnprovedClaimError",
    "UnsupportedDynamicShapeError",
    "UnsupportedFunctionError",
    "ViewError",
    "ZeroDivisorError",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
