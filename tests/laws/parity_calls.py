"""Write calls of NumPy's functions, methods and operators as expressions, from their signatures.

Expressions read `x`, `y` (arrays of one dtype and shape), `m` (a mask), `i` (positions) and constants.
"""

import inspect
import itertools
from functools import cache

import numpy as np
import scipy.special

from anyshape.numpy import serve, special
from anyshape.numpy.arrays.ufunc_methods import METHODS
from tests.laws.parity_rows import ATTRIBUTES, CALLS, MORE, OPERATORS, OPTIONAL, OWN_VALUES, REQUIRED, SCALARS, SKIPPED

_UNTRIED = ("out", "like", "device", "subok", "overwrite_input", "copy")  # rows try them where they mean something
_LOOPS = ("dtype=float", "dtype=np.float32", "dtype=int", "dtype=bool", "dtype=object", "casting='unsafe'")
_LAYOUTS = ("order='F'", "order='B'", "subok=False")


def _home(function):
    """The name by which a user writes a function."""
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg"), (scipy.special, "sc")):
        if getattr(module, function.__name__, None) is function:
            return f"{prefix}.{function.__name__}"
    return None


def _values(name, parameter, defaults, otherwise=()):
    """The values to try for a parameter of a function."""
    return OWN_VALUES.get(f"{name} {parameter}", defaults.get(parameter, otherwise))


def _from_signature(name, function):
    """All required arguments, then each keyword at its values, also along an axis."""
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [_values(name, p.name, REQUIRED, ("x",)) for p in named if p.default is p.empty]
    calls = [", ".join(arguments) for arguments in itertools.product(*required)]
    options = list(_options(name, [p.name for p in named if p.default is not p.empty]))
    calls += [f"{calls[0]}, {option}" for option in (*options, *_along_axes(options))]
    return [f"{name}({call})" for call in (*calls, *MORE.get(name, ()))]


def _along_axes(options):
    """Each option that is not an axis beside each axis that most arrays have."""
    axes = [o for o in options if o in ("axis=0", "axis=-1", "axis=1")]
    return [f"{axis}, {o}" for axis in axes for o in options if not o.startswith("axis=")]


def _options(name, keywords):
    """Each keyword at each of its values."""
    for keyword in keywords:
        if keyword not in _UNTRIED:
            yield from [f"{keyword}={value}" for value in _values(name, keyword, OPTIONAL)]


def _of_ufunc(name, ufunc):
    """Calls of one ufunc on arrays, Python scalars and constants."""
    first = ", ".join(("x", "y", "x")[: ufunc.nin])
    calls = [first]
    if ufunc.nin == 2:
        calls += [f"x, {s}" for s in SCALARS] + [f"{s}, x" for s in SCALARS] + ["x, y[..., None]"]
    calls += [f"{first}, {option}" for option in (*_LOOPS, *_LAYOUTS)]
    return [f"{name}({call})" for call in calls]


def _named(name, calls):
    """The calls of a row, with the name of the function in place of F."""
    return [call.replace("F(", f"{name}(") for call in calls]


def _of_method(name):
    """Calls of a method of ndarray, made from calls of the function with this name."""
    function = getattr(np, name, None)
    calls = _from_signature(f"np.{name}", function) if function is not None else []
    calls = [c.replace(f"np.{name}(x, ", f"x.{name}(", 1).replace(f"np.{name}(x)", f"x.{name}()", 1) for c in calls]
    return [c for c in calls if c.startswith("x.")]


def _of_ufunc_method(ufunc, method):
    """Calls of `reduce`, `accumulate` or `outer`."""
    name = f"{_home(ufunc)}.{method}"
    if method == "outer":
        return [f"{name}(x, y)", f"{name}(x, 2)", f"{name}(2, x)"]
    return [f"{name}(x)", *[f"{name}(x, {o})" for o in OWN_VALUES[f"{method} options"]]]


@cache
def all_calls():
    """Every name with its expressions, by what is called."""
    calls = dict(_function_calls())
    pairs = [(u, "outer") for u in (*_of_numpy(), *_ufuncs_of_scipy()) if getattr(u, "nin", 0) == 2 and not u.signature]
    calls.update({f"{_home(u)}.{method}": _of_ufunc_method(u, method) for u, method in (*METHODS, *pairs)})
    calls.update(_method_calls())
    calls["attributes"] = [f"x.{attribute}" for attribute in ATTRIBUTES]
    calls.update(OPERATORS)
    return {name: list(dict.fromkeys(expressions)) for name, expressions in sorted(calls.items()) if expressions}


def _of_numpy():
    """The functions and ufuncs of NumPy that programs have."""
    listed = [name for name in serve.LISTED if serve.HOMES["numpy"][name][0]]
    named = ((np, listed), (np.linalg, serve.HOMES["numpy.linalg"]))
    return dict.fromkeys(getattr(module, name) for module, names in named for name in names if hasattr(module, name))


def _ufuncs_of_scipy():
    members = [getattr(scipy.special, name) for name in special.__all__]
    return dict.fromkeys([*special.UFUNCS, *[f for f in members if isinstance(f, np.ufunc)]])


def _function_calls():
    """The functions and ufuncs that programs have, with their calls."""
    for function in (*_of_numpy(), *_ufuncs_of_scipy()):
        name = _home(function)
        if name and name not in SKIPPED:
            make = _of_ufunc if isinstance(function, np.ufunc) else _from_signature
            yield name, _named(name, CALLS[name]) if name in CALLS else make(name, function)


def _method_calls():
    """The methods of ndarray with their calls."""
    for name in [n for n, member in vars(np.ndarray).items() if not n.startswith("_") and callable(member)]:
        if f"x.{name}" not in SKIPPED:
            row = CALLS.get(f"x.{name}")
            yield f"x.{name}", _of_method(name) if row is None else _named(f"x.{name}", row)
