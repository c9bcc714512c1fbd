"""The functions that the pages of this folder show: `loss` in how_a_call_flows.md, the mistakes in errors.md."""

import queue
import random

import numpy as np

import anyshape
from anyshape import ShapeDtypeStruct, cluster, errors, scipy
from anyshape.backend.compiler.codegen.user_lines import UserLines, error_translator
from anyshape.backend.compiler.plan import Step
from anyshape.graph.prover.constraints import SourceLine
from anyshape.ops.elementwise import add_op


def loss(x, w, b, y):
    return np.mean((np.tanh(x @ w + b) - y) ** 2)


SPECS = [ShapeDtypeStruct(s) for s in ("n, d", "d, m", "m", "n, m")]


def forward_program():
    return anyshape.trace(loss)(*SPECS)


def gradient_program():
    return anyshape.trace(anyshape.value_and_grad(loss, argnums=(1, 2)))(*SPECS)


def cautious(x, w, b, y):
    return loss(x, w, b, y) if x.shape[0] > 3 else np.sum(w * w)


@anyshape.as_written
def halved_to_one(x):
    """Return twice the first half of x, as often as its size allows."""
    while x.shape[0] > 1:
        x = x[: x.shape[0] // 2] * 2
    return x


def noisy(x):
    return x + random.random()


def changes(x, y):
    x[0] = 1.0
    return x + y


KEPT: queue.SimpleQueue = queue.SimpleQueue()


def keeps(x):
    KEPT.put(x * 2)
    return x


def use_after_trace():
    anyshape.jit(keeps)(X)
    y = KEPT.get(timeout=5)
    return y + 1


def raising(function, *args):
    with np.errstate(all="raise"):
        return function(*args)


def raised(error):
    """Raise an error as a step of a plan would; no op on record raises this one by itself."""
    step = Step(add_op, (), (), (), (), (), where=SourceLine("user.py", 7))
    error.__traceback__ = None
    raise error_translator(UserLines([(0, step)], None), "", {})(error)


X, W = np.ones(3), np.ones((2, 4))

# How each error comes about in a call, by its class; DEFECTS are those that no call should meet.
MISTAKES = {
    "ShapeError": lambda: anyshape.trace(lambda x, w: x @ w)(ShapeDtypeStruct("n, 4"), ShapeDtypeStruct("5, 3")),
    "AxisError": lambda: anyshape.jit(lambda x: x.sum(axis=2))(W),
    "SizeMismatchError": lambda: anyshape.jit(lambda x, y: x + y)(X, np.ones(4)),
    "InputSizeError": lambda: anyshape.trace(np.outer)(ShapeDtypeStruct("n"), ShapeDtypeStruct("n+2*d"))(X, np.ones(8)),
    "DTypeError": lambda: anyshape.grad(lambda x: np.sum(x).astype(int))(X),
    "ArgumentError": lambda: anyshape.grad(lambda p: np.sum(p["w"]))({"w": np.arange(3)}),
    "SpecError": lambda: anyshape.trace(np.sin)(ShapeDtypeStruct("n, , 3")),
    "UnprovedClaimError": lambda: anyshape.symbolic_shape("n, 3").resolve_reshape((2, -1)),
    "ContradictionError": lambda: anyshape.symbolic_shape("n, m", constraints=["n >= m + 8", "m >= n"]),
    "ScopeMismatchError": lambda: anyshape.symbolic_shape("n")[0] + anyshape.symbolic_shape("m")[0],
    "SizeLimitError": lambda: anyshape.symbolic_shape("n**100"),
    "UndeterminedSizeError": lambda: anyshape.trace(np.outer)(ShapeDtypeStruct("a + b"), ShapeDtypeStruct("2*a + 2*b")),
    "InconclusiveDimensionError": lambda: anyshape.trace(lambda x: x if x.shape[0] > 3 else -x)(ShapeDtypeStruct("n")),
    "SpecializationError": lambda: anyshape.jit(
        lambda x: x * {3: 0.5}.get(len(x), 1.0), dynamic_shapes={"x": (anyshape.DYNAMIC,)}
    )(X),
    "SizePathsError": lambda: anyshape.export(halved_to_one)(ShapeDtypeStruct("n")),
    "MemoryLimitError": lambda: anyshape.jit(lambda x: np.sum(np.outer(x, x)), max_bytes=1000)(np.ones(50)),
    "ConcretizationError": lambda: anyshape.trace(lambda x: x if np.sum(x) > 0 else -x)(ShapeDtypeStruct("n")),
    "DecisionError": lambda: anyshape.vmap(lambda x: "up" if np.sum(x) > 0 else x)(np.array([1.0, -1.0])),
    "DataDependentSizeError": lambda: anyshape.trace(lambda x: x if len(x[x > 0]) > 2 else -x)(ShapeDtypeStruct("n")),
    "CheckError": lambda: anyshape.jit(lambda x: anyshape.check(x > 0, "x must be positive"))(-X),
    "FrozenDrawError": lambda: anyshape.jit(noisy)(X),
    "MutationError": lambda: anyshape.jit(lambda x: anyshape.associative_scan(changes, x))(np.ones((3, 2))),
    "SymbolicIterationError": lambda: anyshape.jit(lambda x: list(x[x > 0]))(X),
    "LeakedTracerError": use_after_trace,
    "UnsupportedFunctionError": lambda: anyshape.jit(np.array_str)(X),
    "RunFloatingPointError": lambda: raising(anyshape.jit(lambda x: x / (x - 1)), X),
    "RunZeroDivisionError": lambda: raised(ZeroDivisionError("division by zero")),
    "RunOverflowError": lambda: raised(OverflowError("Python integer 300 out of bounds for uint8")),
    "RunMemoryError": lambda: anyshape.jit(lambda x: anyshape.numpy.arange(x.shape[0] * 10**14) * x[0])(X),
    "GradientCheckError": lambda: anyshape.check_grads(lambda x: x * anyshape.stop_gradient(x), (X,)),
    "ZeroDivisorError": lambda: anyshape.trace(lambda x: x * (6 // x.shape[0]))(ShapeDtypeStruct("n"))(np.ones(0)),
    "MatrixSizeError": lambda: anyshape.jit(np.linalg.inv)(np.zeros((2, 3))),
    "TransformSizeError": lambda: anyshape.jit(lambda x: scipy.fft.dct(x, 1))(np.zeros(1)),
    "UnhashableError": lambda: anyshape.jit(lambda x: {x: 1})(X),
    "RunLinAlgError": lambda: anyshape.jit(np.linalg.inv)(np.zeros((2, 2))),
    "CustomRuleError": lambda: anyshape.grad(lambda x: np.sum(with_wrong_rule()(x)))(X),
    "DivisionCheckError": lambda: anyshape.jit(lambda x, w: np.average(x, weights=w))(X, 0 * X),
    "NegativeSizeError": lambda: anyshape.jit(lambda x, n: np.repeat(x * 2, n))(X, -2),
    "BranchMismatchError": lambda: anyshape.jit(lambda x: anyshape.cond(np.sum(x) > 0, np.sin, np.sum, x))(X),
    "CarryMismatchError": lambda: anyshape.jit(lambda x: anyshape.fori_loop(0, 3, lambda i, c: c > x, x))(X),
    "ChunkError": lambda: cluster.chunked_sum(np.linalg.inv, over=0)([np.eye(2), np.zeros((2, 2))]),
}
CONTIGUITY = "axes 0 and 1 are not proved contiguous, which needs 1 == m*n"
DEFECTS = {
    "OverflowCheckError": errors.OverflowCheckError("math range error", "False", "user.py:7"),
    "UnsupportedDynamicShapeError": errors.UnsupportedDynamicShapeError(
        "reshape", "shape", 0, "upper bound", "<=n", "user.py:7"
    ),
    "RunError": errors.RunError("take", "something went wrong", "report it", "user.py:7"),
    "MissingRuleError": errors.MissingRuleError("erfinv", "jvp", "autodiff/rules/special.py"),
    "ClusterError": errors.ClusterError("workers", "workers ended 3 times in one pass", "look at their memory"),
    "MissingPackageError": errors.MissingPackageError("rich", "demo"),
    "IllegalGraphError": errors.IllegalGraphError("%3: f64[n] = add(%0, %2)", "reads %2 before it is made"),
    "RaggedBatchError": errors.RaggedBatchError("nonzero_each", {(0,): (2,), (1,): (3,)}, "user.py:7"),
    "IndexRangeError": errors.IndexRangeError("scatter_add", 7, 0, 5, 1, "user.py:7"),
    "ViewError": errors.ViewError(["m", "n"], [1, "m"], ["m*n"], "contiguity", (0, 1), CONTIGUITY),
    "ProgramFileError": errors.ProgramFileError("loss.anyshape", "is not a saved program, or is truncated"),
    "MetadataError": errors.MetadataError("v4", "f64[n, 3] with sizes (5, 3)", "f64[3, 5]", "user.py:7"),
}


def with_wrong_rule():
    sine = anyshape.custom_jvp(np.sin)
    sine.defjvps(lambda t, y, x: np.sum(np.cos(x) * t))
    return sine
