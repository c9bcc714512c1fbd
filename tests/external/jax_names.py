"""Modules with the names of JAX and equinox that hold anyshape's functions, so tests written for them run on it.

As a plugin of pytest (`-p tests.external.jax_names`) it installs them before tests are collected. A name without a
counterpart gives an `Absent` object: a test that uses one is skipped, and the reason names it.
"""

import contextlib
import dataclasses
import functools
import importlib.abc
import importlib.machinery
import itertools
import operator
import random
import sys
import types
import unittest

import numpy as np
import pytest
from absl.testing import parameterized

import anyshape
import anyshape.numpy as anp
from anyshape.tracing import pytrees

ROOTS = ("jax", "equinox", "jaxtyping")
EXACT = 1e-5  # of values: JAX's tests expect numbers of single precision
_running = [False]


# -- names without a counterpart ---------------------------------------------------------------------------------


class Absent:
    """Name that anyshape does not have. It may be read anywhere; a test that uses it is skipped."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "dtype":  # NumPy takes it for a dtype
            self._use()
        return Absent(f"{self._name}.{name}")

    def _use(self, *args, **kwargs):
        if _running[0]:
            raise unittest.SkipTest(f"anyshape has no {self._name}")
        return Absent(self._name)

    __call__ = __getitem__ = __enter__ = __eq__ = __lt__ = __instancecheck__ = __contains__ = _use
    __hash__ = object.__hash__

    def __setitem__(self, key, value):
        self._use()

    def __exit__(self, *args):
        pass

    def __bool__(self):
        self._use()
        return False

    def __iter__(self):
        self._use()
        return iter(())

    def __mro_entries__(self, bases):
        self._use()
        return ()


class Names(types.ModuleType):
    """Module of names, some of them absent."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        return importlib.import_module(full) if full in MODULES else Absent(full)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import of these modules, and of any others below the same roots."""

    def find_spec(self, name, path=None, target=None):
        """Find every module below a root."""
        if name.partition(".")[0] not in ROOTS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        """Return an empty module."""
        return Names(spec.name)

    def exec_module(self, module):
        """Fill a module."""
        module.__dict__.update(MODULES.get(module.__name__, {}))


def absent(reason):
    """Skip a test, as it asks for what anyshape does not have."""
    raise unittest.SkipTest(f"anyshape has no {reason}")


def without(function, *names, ignored=()):
    """Return a function that takes options of JAX: those named are absent unless they are false, others are ignored."""

    @functools.wraps(function)
    def wrapped(*args, **options):
        for name in names:
            if options.pop(name, None):
                absent(f"option {name} of {function.__name__}")
        return function(*args, **{key: x for key, x in options.items() if key not in ignored})

    return wrapped


# -- jax ---------------------------------------------------------------------------------------------------------


def checkpoint(function, *, policy=None, prevent_cse=True, static_argnums=()):
    """Checkpoint everything, or nothing where a policy of JAX saves everything."""
    return function if policy == "everything" else anyshape.checkpoint(function, static_argnums=static_argnums)


class Nothing(contextlib.ContextDecorator):
    """Context, or decorator, that changes nothing."""

    def __init__(self, *args):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *args):
        pass


def reshape(x, shape):
    """Reshape to a sequence of sizes."""
    return anp.reshape(x, tuple(shape))


def dynamic_index_in_dim(x, index, axis=0, keepdims=True):
    """Take one position of an axis, the nearest one that there is."""
    row = anp.take(x, index, axis=axis, mode="clip")
    return anp.expand_dims(row, axis) if keepdims else row


def dynamic_update_slice(x, update, starts):
    """Replace a block of an array."""
    return anp.at(x)[tuple(s + np.arange(n) for s, n in zip(starts, np.shape(update), strict=True))].set(update)


def dynamic_update_index_in_dim(x, update, index, axis):
    """Replace one position of an axis."""
    return anp.at(x)[(slice(None),) * axis + (index,)].set(update)


def tree_structure(tree):
    """Return the structure of a tree."""
    return pytrees.flatten(tree)[1]


def tree_leaves(tree):
    """Return the leaves of a tree."""
    return pytrees.flatten(tree)[0]


def tree_map(function, tree, *others):
    """Call a function on the leaves of trees."""
    leaves, structure = pytrees.flatten(tree)
    others = [pytrees.flatten(other)[0] for other in others]
    return pytrees.unflatten(structure, [function(*parts) for parts in zip(leaves, *others, strict=True)])


def register_pytree_node_class(kind):
    """Register a class with methods that take it apart."""
    return anyshape.register_pytree_node(kind, lambda x: x.tree_flatten(), kind.tree_unflatten)


def key(seed):
    """Return a key of random numbers."""
    if type(seed) not in (int, np.int32, np.int64, np.uint32):
        absent("jax.random inside a trace")
    return np.array([0, seed], np.uint32)


def split(rng, num=2):
    """Return new keys."""
    return np.random.default_rng(rng).integers(2**32, size=(num, 2), dtype=np.uint32)


def draws(method, dtype, *named):
    """Return a function that draws numbers by a method of a generator, with a key of its own."""

    def draw(key, shape=(), dtype=dtype, *numbers, **options):
        if type(key) is not np.ndarray or numbers:
            absent("jax.random inside a trace")
        options = {named[0][name]: x for name, x in options.items()} if named else options
        return np.asarray(getattr(np.random.default_rng(key), method)(size=shape, **options)).astype(dtype)

    return draw


def relu(x):
    """Return x where it is positive, else 0."""
    return anp.maximum(x, 0)


# -- jax._src.test_util ------------------------------------------------------------------------------------------


def tolerance(wanted, default):
    """Return a tolerance of one number: JAX has some by dtype."""
    return max([default, *wanted.values()]) if isinstance(wanted, dict) else max(wanted or 0, default)


def leaf_pairs(ours, expected):
    """Return pairs of arrays at the same positions of two trees."""
    if isinstance(expected, dict):
        assert set(ours) == set(expected)
        return [pair for name in expected for pair in leaf_pairs(ours[name], expected[name])]
    if isinstance(expected, (tuple, list)) and not np.isscalar(ours) and not isinstance(ours, np.ndarray):
        assert len(ours) == len(expected)
        return [pair for two in zip(ours, expected, strict=True) for pair in leaf_pairs(*two)]
    return [(np.asarray(ours), np.asarray(expected))]


def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Compare derivatives with finite differences, with tolerances of double precision."""
    anyshape.check_grads(f, args, order, modes, tolerance(atol, 1e-4), tolerance(rtol, 1e-4))


def sample_product(*groups, **lists):
    """Run a test for ten choices at random, as JAX does."""
    products = [
        {**dict(zip(lists, values, strict=True)), **functools.reduce(operator.or_, group, {})}
        for values in itertools.product(*lists.values())
        for group in itertools.product(*groups)
    ]
    return parameterized.parameters(*random.Random(0).sample(products, min(10, len(products))))


def plain(*args, **kwargs):
    """Return a decorator that changes nothing."""
    return lambda function: function


class JaxTestCase(parameterized.TestCase):
    """Test case with the comparisons of JAX, but for dtypes: 32 and 64 bits are one precision there."""

    def rng(self):
        """Return random numbers."""
        return np.random.RandomState(0)

    def assertAllClose(self, x, y, *, check_dtypes=True, atol=None, rtol=None, **_):
        """Compare trees of numbers."""
        for ours, expected in leaf_pairs(x, y):
            self.assertEqual(ours.shape, expected.shape)
            if check_dtypes:
                self.assertEqual(ours.dtype.kind, expected.dtype.kind)
            np.testing.assert_allclose(ours, expected, atol=tolerance(atol, EXACT), rtol=tolerance(rtol, EXACT))

    assertArraysAllClose = assertAllClose

    def assertArraysEqual(self, x, y, **_):
        """Compare arrays."""
        np.testing.assert_array_equal(x, y)

    def assertRaises(self, kind, *args, **kwargs):
        """Expect an error of this kind, or one of anyshape."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        known = [k for k in kinds if isinstance(k, type)]
        return super().assertRaises((*known, anyshape.AnyshapeError), *args, **kwargs)

    def assertRaisesRegex(self, kind, pattern, *args, **kwargs):
        """Expect an error: messages are in the words of each library."""
        return self.assertRaises(kind, *args, **kwargs)

    assertRaisesWithLiteralMatch = assertRaisesRegex

    def _CompileAndCheck(self, function, args_maker, **_):
        self.assertAllClose(anyshape.jit(function)(*args_maker()), function(*args_maker()))


# -- equinox -----------------------------------------------------------------------------------------------------


def loop_of_equinox(
    cond_fun, body_fun, init_val, *, max_steps=None, buffers=None, kind="lax", checkpoints=None, base=16
):
    """Run `while_loop` with slots of checkpoints. A bound on its trips is a part of the condition."""
    policy = (checkpoints or 16) if kind == "checkpointed" else None
    if max_steps is None:
        return anyshape.while_loop(cond_fun, body_fun, init_val, checkpoint=policy)
    _, last = anyshape.while_loop(
        lambda c: anp.logical_and(c[0] < max_steps, cond_fun(c[1])),
        lambda c: (c[0] + 1, body_fun(c[1])),
        (0, init_val),
        checkpoint=policy,
    )
    return last


class Module:
    """Base of classes that are dataclasses and trees."""

    def __init_subclass__(cls):
        dataclasses.dataclass(cls)
        names = [field.name for field in dataclasses.fields(cls)]
        anyshape.register_pytree_node(
            cls, lambda x: ([getattr(x, n) for n in names], None), lambda _, parts: cls(*parts)
        )


class MLP(Module):
    """Perceptron with a rectifier between its layers."""

    layers: list

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = relu(layer(x))
        return self.layers[-1](x)


class Layer(Module):
    """Affine map."""

    weight: np.ndarray
    bias: np.ndarray

    def __call__(self, x):
        return self.weight @ x + self.bias


def perceptron(inputs, outputs, width, depth, *, key):
    """Return a perceptron with random weights."""
    rng, sizes = np.random.default_rng(key), [inputs, *[width] * depth, outputs]
    pairs = itertools.pairwise(sizes)
    draw = lambda m, *shape: rng.uniform(-1, 1, shape) / m**0.5
    return MLP([Layer(draw(m, n, m), draw(m, n)) for m, n in pairs])


def tree_allclose(x, y, *, rtol=1e-5, atol=1e-8):
    """Return whether two trees have near numbers."""
    return tree_structure(x) == tree_structure(y) and all(
        np.allclose(a, b, rtol=rtol, atol=atol) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True)
    )


def filter_jit(function):
    """Compile, with a bool named `true` as a static argument."""
    return anyshape.jit(function, static_argnames="true")


@pytest.fixture
def getkey():
    """Return a function that gives new keys."""
    seeds = itertools.count()
    return lambda: key(next(seeds))


# -- the table ---------------------------------------------------------------------------------------------------

NUMPY = {name: getattr(anp, name) for name in dir(anp) if not name.startswith("_")}
NUMPY["complex64"] = np.complex128  # what goes with numbers without a dtype, which are single in JAX and double here
TREES = {
    "tree_map": tree_map,
    "tree_leaves": tree_leaves,
    "tree_structure": tree_structure,
    "tree_flatten": pytrees.flatten,
    "tree_unflatten": pytrees.unflatten,
    "register_pytree_node": anyshape.register_pytree_node,
    "register_pytree_node_class": register_pytree_node_class,
}
OURS = (
    "grad", "value_and_grad", "jvp", "vjp", "linearize", "linear_transpose", "jacfwd", "jacrev", "hessian",
    "eval_shape", "custom_jvp", "custom_vjp", "pure_callback", "ShapeDtypeStruct",
)  # fmt: skip
LOOPS = (
    "while_loop", "cond", "switch", "associative_scan", "stop_gradient", "custom_root", "custom_linear_solve",
)  # fmt: skip
TRANSFORMS = {
    "jit": without(anyshape.jit, ignored=("inline", "donate_argnums", "keep_unused")),
    "vmap": without(anyshape.vmap, "axis_name", "spmd_axis_name", ignored=("axis_size",)),
    "checkpoint": checkpoint,
    "remat": checkpoint,
    **{name: getattr(anyshape, name) for name in OURS},
}
LAX = {
    "scan": without(anyshape.scan, "_split_transpose"),
    "fori_loop": without(anyshape.fori_loop, "unroll"),
    "reshape": reshape,
    "dynamic_index_in_dim": dynamic_index_in_dim,
    "dynamic_update_slice": dynamic_update_slice,
    "dynamic_update_index_in_dim": dynamic_update_index_in_dim,
    "convert_element_type": lambda x, dtype: anp.asarray(x).astype(dtype),
    "map": without(anyshape.map, "batch_size"),
    **{name: getattr(anyshape, name) for name in LOOPS},
    **{
        ours: NUMPY[theirs]
        for ours, theirs in {
            "add": "add", "mul": "multiply", "lt": "less", "le": "less_equal", "neg": "negative", "sign": "sign",
            "min": "minimum", "dot": "dot", "concatenate": "concatenate", "bitwise_and": "bitwise_and",
            "bitwise_xor": "bitwise_xor", "exp": "exp", "full_like": "full_like",
        }.items()
    },
}  # fmt: skip
TEST_UTIL = {
    "JaxTestCase": JaxTestCase,
    "check_grads": check_grads,
    "sample_product": sample_product,
    "device_under_test": lambda: "cpu",
    "test_device_matches": lambda kinds: "cpu" in kinds,
    "dtypes": types.SimpleNamespace(
        all_integer=[getattr(np, f"{s}int{n}") for s in ("", "u") for n in (8, 16, 32, 64)]
    ),
    **dict.fromkeys(
        ("run_on_devices", "skip_on_devices", "skip_on_flag", "thread_unsafe_test", "ignore_warning", "with_config"),
        plain,
    ),
}
CONFIG = {"parse_flags_with_absl": lambda: None, "update": lambda *args: None}
CACHE = types.SimpleNamespace(cache_clear=lambda: None)
MODULES = {
    "jax": {
        **TRANSFORMS,
        "Array": np.ndarray,
        "disable_jit": Nothing,
        "enable_checks": Nothing,
        "numpy_dtype_promotion": Nothing,
        "block_until_ready": lambda x: x,
        "default_backend": lambda: "cpu",
        "checkpoint_policies": types.SimpleNamespace(nothing_saveable="nothing", everything_saveable="everything"),
    },
    "jax.numpy": NUMPY,
    "jax.lax": LAX,
    "jax.tree": {"map": tree_map, "leaves": tree_leaves, "structure": tree_structure},
    "jax.tree_util": TREES,
    "jax.nn": {"relu": relu},
    "jax.config": CONFIG,
    "jax.random": {
        "key": key, "PRNGKey": key, "split": split, "normal": draws("normal", float),
        "uniform": draws("uniform", float, {"minval": "low", "maxval": "high"}),
        "randint": draws("integers", int, {"minval": "low", "maxval": "high"}),
    },
    "jax.scipy": {},
    "jax.scipy.linalg": {"solve": anp.linalg.solve},
    "jax.lib": {"__version__": "0.4"},
    "jax.debug": {"print": lambda *args, **kwargs: None},
    "jax.errors": {"UnexpectedTracerError": anyshape.errors.LeakedTracerError},
    "jax._src": {},
    "jax._src.api": TRANSFORMS,
    "jax._src.lax": {},
    "jax._src.lax.control_flow": {"common": types.SimpleNamespace(_dedup_consts=CACHE, _pad_constvars=CACHE)},
    "jax._src.config": CONFIG,
    "jax._src.test_util": TEST_UTIL,
    "jax._src.dtypes": {"default_float_dtype": lambda: np.dtype(float)},
    "jax._src.util": {
        "unzip2": lambda pairs: tuple(zip(*pairs, strict=True)),
        "split_list": lambda xs, ns: [xs[i:j] for i, j in itertools.pairwise([0, *np.cumsum(ns), len(xs)])],
    },
    "equinox": {
        "Module": Module,
        "is_array": pytrees.is_array,
        "partition": lambda tree, test: (tree, None),
        "combine": lambda tree, rest: tree,
        "filter_jit": filter_jit,
        "filter_grad": anyshape.grad,
        "tree_equal": lambda x, y: tree_allclose(x, y, rtol=0, atol=0),
    },
    "equinox.nn": {"MLP": perceptron},
    "equinox.internal": {"while_loop": loop_of_equinox},
    "jaxtyping": {"Array": np.ndarray},
}  # fmt: skip


# -- the plugin --------------------------------------------------------------------------------------------------


def pytest_configure(config):
    """Install the modules."""
    sys.meta_path.insert(0, Finder())
    helpers = types.ModuleType("suites.helpers")
    helpers.tree_allclose = tree_allclose
    sys.modules["suites.helpers"] = helpers


def pytest_runtest_setup(item):
    """Let absent names skip from here on."""
    _running[0] = True
