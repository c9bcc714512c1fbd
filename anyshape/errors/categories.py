"""Categories of the warnings that anyshape gives, one for each kind: filters of Python take them by class."""


class AnyshapeWarning(UserWarning):
    """Base of every warning that anyshape gives of a program, as opposed to those that NumPy would give too."""

    def __init_subclass__(cls) -> None:
        cls.__module__ = "anyshape.errors"  # where users import it from


AnyshapeWarning.__module__ = "anyshape.errors"


class ApproximateDerivativeWarning(AnyshapeWarning):
    """Given where a function cannot be traced, and SciPy approximates its derivatives by differences."""


class CostlyProofWarning(AnyshapeWarning):
    """Given where proofs about sizes took more than a second of a trace."""


class FixedSizeWarning(AnyshapeWarning):
    """Given where Python needs the value of a size, so that each value is traced separately."""


class FrozenValueWarning(AnyshapeWarning):
    """Given where a traced function reads a clock, the environment, a file or the like: programs keep what it got."""


class ManyPathsWarning(AnyshapeWarning):
    """Given where Python decides on values many times: each sequence of answers is a program of its own."""


class RetraceWarning(AnyshapeWarning):
    """Given where what a function reads, or a function among its arguments, is another one again and again."""


class SettingWarning(AnyshapeWarning, RuntimeWarning):
    """Given where a variable of the environment has a value that anyshape does not know."""


class StateWarning(AnyshapeWarning):
    """Given where a function changes what outlives its call, which a program does not repeat."""


class UnrolledLoopWarning(AnyshapeWarning):
    """Given where a Python loop repeats a line many times in one trace."""


class UnusedCallWarning(AnyshapeWarning):
    """Given where nothing reads the result of a `pure_callback`, so that programs do not call the function."""


class UnwatchedStateWarning(AnyshapeWarning):
    """Given where a function reads more than can be watched."""
