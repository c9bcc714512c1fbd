"""Answers to names of other libraries: what to write for their methods, functions, modules and options.

Errors of Python say what is missing. A note below them says what to write.
"""

import re
import sys
from collections.abc import Iterable
from opcode import opmap
from typing import Any

import numpy as np

from anyshape.support.packages import load

# by the name of an attribute of arrays; a function of NumPy of the name needs no row
ATTRIBUTES = {
    "addmm": "b + x @ y", "amax": "x.max(axis)", "amin": "x.min(axis)", "backward": "anyshape.grad(f)(x)",
    "bmm": "x @ y", "bool": "x.astype(bool)", "clamp": "np.clip(x, low, high)", "contiguous": "x itself",
    "cpu": "x itself", "cuda": "x itself", "detach": "anyshape.stop_gradient(x)", "device": "nothing: it is the CPU",
    "dim": "x.ndim", "double": "x.astype(np.float64)", "expand": "np.broadcast_to(x, shape)",
    "float": "x.astype(np.float32)", "gather": "np.take_along_axis(x, i, axis)", "grad": "anyshape.grad(f)(x)",
    "half": "x.astype(np.float16)", "index_select": "np.take(x, i, axis)", "inverse": "np.linalg.inv(x)",
    "int": "x.astype(np.int32)", "long": "x.astype(np.int64)", "masked_fill": "np.where(mask, value, x)", "mm": "x @ y",
    "mv": "x @ y", "norm": "np.linalg.norm(x)", "numel": "x.size", "numpy": "x itself", "permute": "x.transpose(axes)",
    "relu": "np.maximum(x, 0)", "requires_grad": "anyshape.grad(f)(x)", "requires_grad_": "anyshape.grad(f)(x)",
    "scatter_add_": "x.at[i].add(v)", "sigmoid": "anyshape.scipy.special.expit(x)", "t": "x.T", "to": "x.astype(dtype)",
    "topk": "anyshape.numpy.top_k(x, k)", "type_as": "x.astype(y.dtype)", "unsqueeze": "np.expand_dims(x, axis)",
    "values": "x itself", "iloc": "x[i]", "loc": "x[i]", "append": "np.append(x, v)", "extend": "np.append(x, v)",
    "block_until_ready": "x itself", "addressable_data": "x itself", "head": "x[:5]", "tail": "x[-5:]",
    "apply": "f(x)", "map": "f(x), or anyshape.vmap(f)(x)", "filter": "x[x > 0]", "length": "x.size", "len": "len(x)",
}  # fmt: skip
# by the name of a function that the module of NumPy is asked for
FUNCTIONS = {
    "bmm": "np.matmul", "cat": "np.concatenate", "clamp": "np.clip", "erf": "anyshape.scipy.special.erf",
    "erfc": "anyshape.scipy.special.erfc", "expit": "anyshape.scipy.special.expit",
    "gamma": "anyshape.scipy.special.gamma", "gammaln": "anyshape.scipy.special.gammaln", "gelu":
    "x * anyshape.scipy.special.ndtr(x)", "logsumexp": "anyshape.scipy.special.logsumexp",
    "log_softmax": "anyshape.scipy.special.log_softmax", "mm": "np.matmul", "mv": "np.matmul",
    "one_hot": "np.eye(k)[i]", "relu": "np.maximum(x, 0)", "scan": "anyshape.scan", "cond": "anyshape.cond",
    "sigmoid": "anyshape.scipy.special.expit", "silu": "x * anyshape.scipy.special.expit(x)",
    "softmax": "anyshape.scipy.special.softmax", "softplus": "np.logaddexp(x, 0)", "tensor": "np.array",
    "topk": "anyshape.numpy.top_k", "unsqueeze": "np.expand_dims", "vmap": "anyshape.vmap", "grad": "anyshape.grad",
    "norm": "np.linalg.norm", "inv": "np.linalg.inv", "det": "np.linalg.det", "solve": "np.linalg.solve",
    "eigh": "np.linalg.eigh", "cholesky": "np.linalg.cholesky", "trapz": "np.trapezoid", "product": "np.prod",
    "cumproduct": "np.cumprod", "in1d": "np.isin", "row_stack": "np.vstack", "alltrue": "np.all", "sometrue": "np.any",
    "round_": "np.round", "Inf": "np.inf", "NaN": "np.nan", "asfarray": "np.asarray(x, float)",
    "jit": "anyshape.jit", "top_k": "anyshape.numpy.top_k",
}  # fmt: skip
DRAWS = {  # methods of generators, by names of random and of numpy.random
    "gauss": "normal(m, s)", "normalvariate": "normal(m, s)", "randn": "normal(size=n)", "rand": "random(n)",
    "randint": "integers(low, high)", "randrange": "integers(low, high)", "sample": "choice(x, n, replace=False)",
    "seed": "bit_generator, or make one by np.random.default_rng(seed)", "random_sample": "random(n)",
}  # fmt: skip
OPTIONS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "unbiased": "ddof", "correction": "ddof", "other": "",
    "device": "", "requires_grad": "", "axes": "axis",
    "interpolation": "method", "reverse": "np.flip(np.sort(x), axis) for a falling order",
    "descending": "np.flip(np.sort(x), axis) for a falling order",
}  # fmt: skip
UNKNOWN_OPTION = re.compile(r"(?:(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) )?got an unexpected keyword argument '(\w+)'")
# by what Python and NumPy say of a value that was given
TEXTS = {
    re.compile(text): advice
    for text, advice in {
        "Cannot interpret 'torch": "write a dtype of NumPy, such as np.float32",
        "Cannot interpret '\\w+' as a data type": "give the shape as one tuple, as in np.zeros((3, 3))",
        "data type .* not understood": "give a dtype of NumPy, such as np.float64 or 'float64'",
        "only 0-dimensional arrays can be converted": "write np.sin(x) for math.sin(x), and x[0] for one number",
        "expected a sequence of integers or a single": "give ints as sizes: n // 2 is one, and n / 2 is a float",
        "could not convert string to float": "pass a number in place of the text",
        "unsupported format string passed to numpy.ndarray": "write {x}, or {x:.2f} of one number, as x[0] is",
        "negative dimensions": "give sizes that are at least 0",
        "tuple index out of range": "count from 0 to x.ndim - 1: a shape has one size for each axis",
        "tuple indices must be integers": "write x.shape[0]: sizes of a shape have no names",
        "'Array' object is not iterable": "write np.atleast_1d(x): a number has no parts",
        "object of type 'Array' has no len": "write np.size(x), which is 1 for a number",
        "'SymDim' object is not callable": "leave out the brackets: sizes are numbers, x.size and x.shape[0]",
        "'NDArray' object is not callable": "write x[i] for an element: brackets call a function",
        "did not contain a loop with signature matching types .*<U": "convert texts to numbers, as with float(text)",
        "invalid literal for int": "store numbers: convert texts before",
        "'<=?' not supported between instances of 'str'": "pass a number in place of the text",
    }.items()
}
# What to write, by names that anyshape or its module optimize is asked for.
NAMES = {
    name: row
    for row, names in {
        "numpy.array(x): arrays are NumPy's":
            "Tensor tensor Variable Parameter as_tensor from_numpy device_put device_get",
        "layers as functions of arrays, as the examples do": "nn linen layers Module Linear flax keras",
        "numpy.random.default_rng(seed), and pass the generator as an argument": "PRNGKey key seed manual_seed",
        "f(x): a call records nothing, and anyshape.grad(f)(x) differentiates":
            "no_grad no_gradient enable_grad set_grad_enabled inference_mode",
        "anyshape.jit(f): one program takes arrays of every size":
            "compile function njit script tf_function jit_compile",
        "anyshape.cluster.map_chunks": "pmap shard_map sharding distributed",
        "anyshape.grad(f)(x)":
            "GradientTape backward requires_grad deriv grad_named gradient derivative",
        "anyshape.tree_map and anyshape.tree_leaves": "tree tree_util tree_flatten",
        "anyshape.optimize": "optim optimizers optax",
        "anyshape.scipy.{name}": "special stats signal interpolate integrate sparse spatial ndimage",
        "program.save(file), with program = anyshape.export(f)(*specs)": "save dump serialize",
        "anyshape.custom_vjp(f)": "custom_gradient Function primitive defvjp",
        "anyshape.pure_callback or anyshape.debug.callback": "experimental io_callback host_callback",
        "optax.{name}(...), whose init and update take trees of NumPy's arrays":
            "rmsprop lion adagrad adadelta adamax nadam radam adabelief lamb lars",
        "anyshape.numpy.random, or numpy.random.default_rng(seed) as an argument": "random",
        "anyshape.scan, while_loop, fori_loop, cond, switch or map": "lax",
        "anyshape.grad, jvp, vjp, vmap or hessian": "func",
        "anyshape.grad(lambda x: np.sum(f(x)))": "elementwise_grad",
        "anyshape.vjp": "make_vjp value_and_jacrev",
        "anyshape.jvp": "make_jvp",
        "anyshape.hvp": "hessian_vector_product",
        "anyshape.jvp(f, (z,), (1.0,))": "holomorphic_grad",
        "f itself: a function without jit runs in NumPy": "disable_jit named_call",
        "anyshape.trace(f), which prints it": "make_jaxpr",
        "x itself: a call returns when its result is there": "block_until_ready",
        "range": "prange",
        "anyshape.vmap(f)": "vectorize",
        "anyshape.config.num_threads = n": "set_num_threads threads",
        "leave it out: arrays are NumPy's, in the memory of the CPU":
            "devices device default_device cuda local_devices",
        "anyshape.grad(f, argnums=(0, 1)), or one argument that is a dict": "multigrad multigrad_dict",
        "anyshape.checkpoint(f)": "remat",
        "anyshape.ravel_pytree": "ravel flatten flatten_util",
        "anyshape.optimize.sgd(rate, momentum=0.9)": "momentum",
    }.items()
    for name in names.split()
}  # fmt: skip
# by the name of what is called with too few or too many arguments
CALLS = {
    "Ragged": "Ragged.from_list(arrays), or Ragged(flat, lengths) for rows one after the other",
    "symbolic_shape": 'symbolic_shape("n, m"): one text has all axes, and constraints=["n > m"] what holds of them',
}
# by an option of a transform
KEYWORDS = {
    **dict.fromkeys(("argnum", "wrt", "argnames", "x_argnum"), "argnums, positions of arguments, in place of {name}"),
    "axis": "in_axes in place of {name}", "vectorize": "jacfwd for forward mode: each is mapped over all rows",
    **dict.fromkeys(("minimum", "min_value", "low", "lower"), "min in place of {name}"),
    **dict.fromkeys(("maximum", "max_value", "high", "upper"), "max in place of {name}"),
    "in_dims": "in_axes in place of {name}", "out_dims": "out_axes in place of {name}",
    "abstracted_axes": "dynamic_shapes in place of {name}", "excluded": "in_axes=None for these arguments",
    "holomorphic": "anyshape.jvp(f, (z,), (1.0,)) for the derivative of a holomorphic function",
    "allow_int": "x.astype(float) for an argument of ints",
    **dict.fromkeys(("lr", "rate", "step_size", "alpha"), "learning_rate in place of {name}"),
    **dict.fromkeys(("betas", "beta1", "beta2"), "b1=0.9, b2=0.999 in place of {name}"),
    "epsilon": "eps in place of {name}",
    **dict.fromkeys(("wd", "decay", "l2"), "weight_decay in place of {name}, with adamw"),
    "weight_decay": "chain(add_decayed_weights(w), sgd(rate)), or adamw, which has the option {name}",
}  # fmt: skip
# by the name of an attribute of optimisers and of jitted functions
METHODS = {
    **dict.fromkeys(
        ("step", "apply_gradients", "minimize", "apply"),
        "updates, state = o.update(grads, state, params), and params = apply_updates(params, updates)",
    ),
    "zero_grad": "leave it out: gradients are what anyshape.grad(f)(params) returns, and are not stored",
    **dict.fromkeys(("state_dict", "load_state_dict", "state"), "o.init(params): the state is a tree, beside it"),
    "update": "config.name = value for a setting",
    **dict.fromkeys(("graph", "jaxpr", "cost"), "anyshape.trace(f)(*specs): the program has it"),
    "cache_clear": "f.clear_cache()", "cache_parameters": "f.cache_info()",
    **dict.fromkeys(("Ragged.shape", "Ragged.size", "Ragged.reshape"), "r.flat, all its rows, or r.lengths"),
    "param_groups": "o.init(params): parameters are arguments",
    "export": "anyshape.export(f)(*specs)", "save": "anyshape.export(f)(*specs).save(file)",
    **dict.fromkeys(("lower", "eval_shape", "make_jaxpr"), "anyshape.trace(f)(*specs), which prints as its graph"),
}  # fmt: skip
_IN_PLACE = re.compile(r"(\w+).* in place of {name}$")  # advice for functions that have the other option
_COMPILES = "compile= chooses"
_LEFT_OUT = {
    **dict.fromkeys(("dynamic", "fullgraph"), "every program takes all sizes"),
    **dict.fromkeys(("donate_argnums", "donate_argnames"), "memory is used again where nothing reads it"),
    **dict.fromkeys(("create_graph", "retain_graph", "persistent"), "gradients nest as they are"),
    **dict.fromkeys(("device", "backend"), "it is the CPU"),
    **dict.fromkeys(("nopython", "parallel", "fastmath", "cache", "nogil", "mode", "inline"), _COMPILES),
    **dict.fromkeys(("axis_name", "spmd_axis_name", "reduce_axes"), "reduce the results of vmap outside of it"),
    **dict.fromkeys(("enable_x64", "jax_enable_x64"), "floats are float64, as NumPy's are"),
    **dict.fromkeys(("jax_platform_name", "jax_platforms"), "it is the CPU, or where the arrays are"),
    "jax_debug_nans": "write np.errstate(invalid='raise') around the call",
    "keep_unused": "unused arguments may change freely", "allow_unused": "they have a gradient of zeros",
    "randomness": "each example has the draws of its generator",
    **dict.fromkeys(("chunk_size", "batch_size"), "anyshape.map computes one by one"),
}  # fmt: skip


def instead_of_name(name: str) -> str:
    """Return what to write instead of a name that anyshape does not have, "" where nothing is known of it."""
    row = (
        NAMES.get(name)
        or NAMES.get(name.lower())
        or FUNCTIONS.get(name)
        or (f"numpy.{name}" if name in np.__all__ else "")
    )
    return _written(row.format(name=name.lower())) if row else ""


def missing(module: Any, name: str) -> Exception:
    """Return the error for a name that a module does not have, with what to write instead if that is known.

    ``from module import name`` shows an ImportError as it is, and hides an AttributeError behind one without advice.
    """
    error: Exception = AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)
    if not name.startswith("_") and _is_imported():
        error = ImportError(f"cannot import name {name!r} from {module.__name__!r}", name=module.__name__)
    if name.startswith("_"):
        return error
    if not (advice := instead_of_name(name)):
        near = alike(name, getattr(module, "__all__", None) or dir(module))
        advice = f"write {module.__name__}.{near}" if near else ""
    if advice:
        error.add_note(f"  {advice}")
    return error


def _is_imported() -> bool:
    """Return whether code outside of the library asks a module, which asks no further one, ``from`` it ``import``."""
    frame, modules = sys._getframe(2), 0
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "anyshape":
        modules += frame.f_code.co_name == "__getattr__"
        frame = frame.f_back
    return modules <= 1 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def alike(name: str, names: Iterable[str]) -> str:
    """Return the name that another one is likely to mean, in any case of letters, "" if there is none."""
    by_lower = {n.lower(): n for n in names if not n.startswith("_")}
    near = load("difflib").get_close_matches(name.lower(), by_lower, 1, 0.7)
    return by_lower[near[0]] if near else ""


def no_method(owner: Any, name: str) -> Any:
    """Raise the error for an attribute that an optimiser or a jitted function does not have."""
    error = AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner)
    advice = (
        METHODS.get(f"{type(owner).__name__}.{name}")
        or METHODS.get(name)
        or ("" if name.startswith("_") else alike(name, dir(type(owner))))
    )
    if advice:
        error.add_note(f"  {_written(advice)}")
    raise error


def _written(advice: str) -> str:
    return advice if advice.startswith("leave") else f"write {advice}"


def instead_of_keyword(name: str, parameters: tuple[str, ...]) -> str:
    """Return what to write instead of an option that a transform with these parameters does not have."""
    if name in _LEFT_OUT and (_LEFT_OUT[name] != _COMPILES or "compile" in parameters):
        return f"leave {name} out: {_LEFT_OUT[name]}"
    if name in KEYWORDS and (not (row := _IN_PLACE.match(KEYWORDS[name])) or row[1] in parameters):
        return f"write {KEYWORDS[name].format(name=name)}"
    near = OPTIONS.get(name, "") if OPTIONS.get(name) in parameters else ""
    near = near or next(iter(load("difflib").get_close_matches(name, parameters, 1, 0.7)), "")
    return f"write {near} in place of {name}" if near else f"it takes {', '.join(parameters)}" if parameters else ""


def instead_of_value(error: Exception) -> str:
    """Return what to write where Python or NumPy refuse a value, "" where nothing is known of their text."""
    return next((advice for text, advice in TEXTS.items() if text.search(str(error))), "")
