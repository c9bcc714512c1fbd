"""Exceptions of anyshape: each derives from `AnyshapeError` and from the error that NumPy or Python would raise.

Each is built from data, which it keeps as attributes. The first line of a message says what happened and where, the
second what to do. docs/errors.md shows a message of each class.
"""

from anyshape.errors.categories import (
    AnyshapeWarning, ApproximateDerivativeWarning, CostlyProofWarning, FixedSizeWarning, FrozenValueWarning,
    ManyPathsWarning, RetraceWarning, SettingWarning, StateWarning, UnrolledLoopWarning, UnusedCallWarning,
    UnwatchedStateWarning,
)  # fmt: skip
from anyshape.errors.messages import AnyshapeError
from anyshape.errors.run_errors import (
    ChunkError, ClusterError, GradientCheckError, IllegalGraphError, MemoryLimitError, MetadataError,
    MissingPackageError, MissingRuleError, ProgramFileError, RunError, RunFloatingPointError, RunLinAlgError,
    RunMemoryError, RunOverflowError, RunZeroDivisionError, UnsupportedDynamicShapeError,
)  # fmt: skip
from anyshape.errors.size_errors import (
    AxisError, ContradictionError, InconclusiveDimensionError, IndexRangeError, InputSizeError, MatrixSizeError,
    RaggedBatchError, ScopeMismatchError, ShapeError, SizeLimitError, SizeMismatchError, SizePathsError, SpecError,
    SpecializationError, TransformSizeError, UndeterminedSizeError, UnprovedClaimError, ViewError, ZeroDivisorError,
)  # fmt: skip
from anyshape.errors.tracing_errors import (
    ArgumentError, BranchMismatchError, CarryMismatchError, CheckError, ConcretizationError, CustomRuleError,
    DataDependentSizeError, DecisionError, DivisionCheckError, DTypeError, FrozenDrawError, LeakedTracerError,
    MutationError, NegativeSizeError, OverflowCheckError, SymbolicIterationError, UnhashableError,
    UnsupportedFunctionError,
)  # fmt: skip

__all__ = [
    "AnyshapeError", "AnyshapeWarning", "ApproximateDerivativeWarning", "ArgumentError", "AxisError",
    "BranchMismatchError", "CarryMismatchError", "CheckError", "ChunkError", "ClusterError", "ConcretizationError",
    "ContradictionError", "CostlyProofWarning", "CustomRuleError", "DTypeError", "DataDependentSizeError",
    "DecisionError", "DivisionCheckError", "FixedSizeWarning", "FrozenDrawError", "FrozenValueWarning",
    "GradientCheckError", "IllegalGraphError", "InconclusiveDimensionError", "IndexRangeError", "InputSizeError",
    "LeakedTracerError", "ManyPathsWarning", "MatrixSizeError", "MemoryLimitError", "MetadataError",
    "MissingPackageError", "MissingRuleError", "MutationError", "NegativeSizeError", "OverflowCheckError",
    "ProgramFileError", "RaggedBatchError", "RetraceWarning", "RunError", "RunFloatingPointError", "RunLinAlgError",
    "RunMemoryError", "RunOverflowError", "RunZeroDivisionError", "ScopeMismatchError", "SettingWarning",
    "ShapeError", "SizeLimitError", "SizeMismatchError", "SizePathsError", "SpecError", "SpecializationError",
    "StateWarning", "SymbolicIterationError", "TransformSizeError", "UndeterminedSizeError", "UnhashableError",
    "UnprovedClaimError", "UnrolledLoopWarning", "UnsupportedDynamicShapeError", "UnsupportedFunctionError",
    "UnusedCallWarning", "UnwatchedStateWarning", "ViewError", "ZeroDivisorError",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
