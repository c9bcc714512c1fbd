"""Samples of control ops."""

from anyshape import debug
from anyshape.ops.control import decide, raise_unless
from anyshape.transforms.control import check, checkpoint, stop_gradient
from tests.samples.sample import Sample


def checked(np, x):
    check(lambda: x.shape[0] >= 0, "no axis is negative")
    check(np.abs(x) < 3, "values of the domain are small")
    return x * x


def decided(np, x):
    small = np.abs(x) < 3
    decide(np.all(small | ~small), True, 0)  # of NaN too
    return x * x


def shown(np, x):
    debug.print("{:.0}", np.where(x.sum() > np.inf, 1.0, 0.0))
    return x * x


def raising(np, x):
    args = "tuple", ("text", "large: ", (1, "", ".0f")), ("operand", 1)
    error = "builtins:ValueError", "", True, args, ("dict",), None, False
    raise_unless(np.max(np.abs(x), initial=0) < 3, np.sum(x), error=error, forms=["number", "scalar"])
    return x * x


SAMPLES = [
    Sample("stop_gradient", lambda np, x: stop_gradient(np.sin(x)) * 2, ("n, 3",), ops=("stop_gradient",), grad=False),
    Sample("check", checked, ("n, 3",), ops=("check",)),
    Sample("decide", decided, ("n, 3",), ops=("decide",)),
    Sample("raise", raising, ("n, 3",), ops=("raise",)),
    Sample("effect", shown, ("n, 3",), ops=("effect",)),
    Sample("warn", lambda np, x: np.nanmean(x, axis=0), ("n, 3",), ops=("warn",), smallest=1),
    Sample("warn_below", lambda np, x: np.mean(np.sin(x)) * x, ("n, 3",), ops=("warn_below",), smallest=1),
    Sample(
        "checkpoint",
        lambda np, x, y: checkpoint(lambda x: np.sin(x) * np.exp(y))(x) * 2,
        ("n, 3", "3"),
        ops=("enter_checkpoint", "leave_checkpoint"),
    ),
]
