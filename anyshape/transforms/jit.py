"""`jit`: the public transform, and how other transforms are jitted."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.tracing.pytrees import (
    check_callable,
    function_name,
    is_array,
    is_registered,
)
from anyshape.transforms.arguments.dynamic_shapes import dynamic_shapes_of
from anyshape.transforms.arguments.options import Declared, Options
from anyshape.transforms.arguments.static_args import static_arguments
from anyshape.transforms.jitted import Jitted, bind


@short_traceback
def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
    on_decision: str = "guard",
    max_bytes: int | None = None,
    optimize: str | None = None,
    compile: str | None = None,
    name: str | None = None,
) -> Any:
    """Trace `function` once per structure, dtypes and ranks of its arguments, and run it at any size.

    Without a function, return a decorator.

    - Static arguments are hashable values. Each value has its own trace, and the function gets it as it is.
    - `dynamic_shapes` declares the axes by parameter. Equal names are equal sizes, ints are fixed, and a Dim has a
      range. AUTO declares nothing, STATIC makes a program for each size, and DYNAMIC is an error where the size is
      bound to one value. An integer argument that is given a name or a Dim is a size by its value.
    - `on_decision="guard"` guards a decision of Python on sizes, and another answer traces again. With "error" it is a
      SpecializationError, on all axes but AUTO and STATIC ones. A decision on a value is a ConcretizationError then.
    - `max_bytes` bounds the arrays of a call, beside its arguments. A call that might take more recomputes cheap values
      instead of keeping them. If that is not enough, it raises MemoryLimitError before it allocates. Where no bound of
      its bytes is known, the call counts them, and raises in the step that exceeds the limit.
    - `optimize` says when the optimised plan is made: "now" with the first, "auto" when the calls so far show that it
      pays, "off" never. Plans differ in how sums are added up. None takes `anyshape.config.optimize`, which is "auto".
    - `compile` says whether groups of steps of the optimised plan become machine code, by the C compiler of the system.
      "background" builds it while calls go on, "wait" before the plan runs, "off" never. One build serves all sizes.
      None takes `anyshape.config.compile`, which is "off".

    >>> import numpy as np
    >>> from anyshape import Dim
    >>> f = jit(lambda x, y: np.sum(np.sin(x) * y))
    >>> [round(float(f(np.ones(n), np.ones(n))), 3) for n in (0, 1, 5)]
    [0.0, 0.841, 4.207]
    >>> f.cache_info().traces
    1
    >>> head = jit(lambda x, k: x[:k].sum() / k, dynamic_shapes={"x": "n", "k": Dim("k", max=9)})
    >>> float(head(np.arange(5.0), 4)), head.cache_info().traces
    (1.5, 1)
    """
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "dynamic_shapes": dynamic_shapes,
        "on_decision": on_decision,
        "max_bytes": max_bytes,
        "optimize": optimize,
        "compile": compile,
        "name": name,
    }
    if function is None:
        return functools.partial(jit, **options)
    check_callable("jit", function)
    shown_name = name if name is not None else function_name(function)
    static = static_arguments(function, shown_name, static_argnums, static_argnames)
    shapes = dynamic_shapes_of(function, shown_name, dynamic_shapes, on_decision, static.names)
    checked = Options(static, shapes, max_bytes, optimize, compile).checked(shown_name)
    jitted = Jitted(function, shown_name, None, checked, (jit, (function,), options))
    jitted.may_rebind = True
    if on_decision == "guard" and all(x is None for name, x in options.items() if name != "on_decision"):
        jitted.made_of = function, jit
    return jitted


def jit_transform(
    function: Callable[..., Any],
    name: str,
    like: Callable[..., Any],
    recipe: tuple[Any, ...] = (),
    options: Options | None = None,
    without_object: Callable[[Any], Any] | None = None,
    keywords: Mapping[str, Any] = types.MappingProxyType({}),
) -> Jitted:
    """Return a transformed function: inside a trace `function` works on its values, outside it is jitted.

    - `recipe` is the transform and the arguments that this was made from, `keywords` its keyword arguments.
    - `options` hold for the result; without any, only when the plans of `like` are optimised holds for it too.
    - `without_object` serves methods of objects that are not trees of arrays. The first option in the recipe counts
      arguments; it returns that option for the arguments without the object, or None if there is none.
    """
    check_callable(name.partition("(")[0], like)
    if options is None:
        options = Declared().options(like, name, "")

    def method(instance: Any) -> Callable[..., Any] | None:
        transform, _, option, *rest = recipe
        shifted = None if without_object is None else without_object(option)
        if shifted is None or is_array(instance) or is_registered(instance):
            return None
        static = options.static.bound()
        others = {"static_argnums": sorted(static.positions), "static_argnames": sorted(static.names)}
        return transform(bind(like, instance), shifted, *rest, **others).function

    remake: tuple[Any, ...] = (recipe[0], recipe[1:], dict(keywords)) if recipe else ()
    return Jitted(function, name, like, options, remake, method if without_object is not None else None)
