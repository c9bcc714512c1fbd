"""Kernels of callbacks. They check the dtypes and shapes that functions of the user give."""

import contextlib

import numpy as np

from anyshape.backend.numpy.dynamic import stack_examples
from anyshape.errors import DTypeError, ShapeError
from anyshape.graph.ir.builder import active_builders
from anyshape.ops import callback as cb
from anyshape.ops.core.apply import kernel


def _callback(*arrays, function, results, loops, vectorized):
    outputs = _loop(arrays, function, results, loops)
    return outputs if len(outputs) > 1 else outputs[0]


def _loop(arrays, function, results, loops):
    """Call the function for each example along the first axis of some arrays, and stack the results."""
    if not loops:
        return _call(arrays, function, results)
    carried, inner = loops[0], [(dtype, entries[1:]) for dtype, entries in results]
    size = next(len(a) for a, carries in zip(arrays, carried) if carries)
    each = [
        _loop([a[i] if carries else a for a, carries in zip(arrays, carried)], function, inner, loops[1:])
        for i in range(size)
    ]
    if not each:
        return [np.empty((0, *[0 if cb.is_open(e) else e for e in entries]), dtype) for dtype, entries in inner]
    return stack_examples("callback", each, (size,))


def _call(arrays, function, results):
    """Call the function and copy its results, so that no later step writes to its operands or to its own arrays."""
    with _outside_of_traces():
        outputs = list(function.function(*map(_read_only, arrays)))
    for i, (x, (dtype, entries)) in enumerate(zip(outputs, results)):
        outputs[i] = x = np.array(x, dtype if isinstance(x, (bool, int, float, complex)) else None)
        _check(function.name, i if len(results) > 1 else None, x, dtype, entries)
    return outputs


@contextlib.contextmanager
def _outside_of_traces():
    """Let a function run on numbers while Python decides on its result in a trace: it may call jitted functions."""
    builders = active_builders()
    before = builders[:]
    builders.clear()
    try:
        yield
    finally:
        builders[:] = before


def _read_only(x):
    x = np.asarray(x).view()
    x.flags.writeable = False
    return x


def _check(name, position, x, dtype, entries):
    which = f"{name} gave" if position is None else f"{name} gave, as result {position},"
    promised = f"{dtype}[{', '.join(map(_text, entries))}]"
    if x.dtype != dtype:
        raise DTypeError("pure_callback", f"{which} {x.dtype}, not {promised}", "declare the dtype that it gives")
    if x.ndim != len(entries) or not all(map(_fits, x.shape, entries)):
        why = f"{which} the shape {x.shape}, not {promised} as was declared"
        raise ShapeError("pure_callback", why, advice="declare the shape that it gives")


def _fits(size, entry):
    if isinstance(entry, tuple):
        return size <= entry[1]
    return entry in (cb.UNKNOWN, size)


def _text(entry):
    return "".join(map(str, entry)) if isinstance(entry, tuple) else str(entry)


kernel(cb.callback_op, _callback)
kernel(cb.name_sizes_op, lambda x: x)
