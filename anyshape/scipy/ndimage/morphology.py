"""Define filters of `scipy.ndimage` by ranks, and morphology of grey and binary images.

For traced images the origin is the middle of a window, but for binary images. Structures with heights and
`generic_filter` take the memory of all windows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import as_traced, is_traced, static_int
from anyshape.ops import elementwise as ew
from anyshape.ops.external import binary_steps
from anyshape.scipy.ndimage import filtering as ext
from anyshape.scipy.ndimage.filtering import extreme_of_box, of_rank
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_ndimage
from anyshape.support.true_types import has_type
from anyshape.transforms.vmap import vmap


def _mask(name: str, rank: int, size, footprint) -> np.ndarray:
    """Return the positions of a window, by its sides or by a concrete mask."""
    if is_traced(size, footprint):
        raise ArgumentError(name, "size or footprint", "is traced", "pass Python numbers, or a concrete mask")
    if footprint is None and size is None:
        raise ArgumentError(name, "size and footprint", "are missing", "pass one of them")
    mask = np.ones(ext.for_each(name, "size", size, rank)) if footprint is None else np.asarray(footprint)
    if mask.ndim != rank:
        raise ArgumentError(name, "footprint", f"has {mask.ndim} axes", f"pass one with the {rank} of the image")
    if not mask.any():
        raise ArgumentError(name, "footprint", "has no elements", "pass one that has some")
    return mask != 0


def _in_the_middle(name: str, origin, axes=None) -> None:
    """Refuse what moves windows, or leaves axes out."""
    if axes is not None or is_traced(origin) or np.any(np.asarray(origin) != 0):
        raise ArgumentError(name, "origin or axes", "is not available for traced arrays", "leave it out")


def _around(name: str, x, mask: np.ndarray, mode, cval, *, mirrored: bool = False):
    """Return an image that is extended by what windows reach beyond it."""
    modes = ext.for_each(name, "mode", mode, x.ndim)
    for axis, (count, kind) in enumerate(zip(mask.shape, modes, strict=True)):
        before = (count - 1) // 2 if mirrored else count // 2
        x = ext.extended(x, axis, before, count - 1 - before, ext.filter_mode(name, kind), cval)
    return x


# -- ranks


def _by_rank(name: str, input, mask: np.ndarray, rank: int, output, mode, cval):
    dtype, x = ext.output_dtype(name, input, output), as_traced(input)
    count = int(mask.sum())
    if not -count <= rank < count:
        raise ArgumentError(name, f"rank={rank}", f"is not one of {count} elements", "pass one below their number")
    kind = _one_mode(name, ext.for_each(name, "mode", mode, x.ndim))
    low = [k // 2 for k in mask.shape]
    return ew.convert(as_traced(of_rank(name, x, as_traced(mask), range(x.ndim), low, kind, cval, rank)), dtype)


@signed_as_in(scipy_ndimage)
def rank_filter(input, rank, size, footprint, output, mode, cval, origin, axes) -> Any:
    """Return the element of a rank of the window around each element; negative ranks count from the greatest."""
    _in_the_middle("rank_filter", origin, axes)
    mask = _mask("rank_filter", np.ndim(input), size, footprint)
    return _by_rank("rank_filter", input, mask, static_int(rank, "rank_filter", "rank"), output, mode, cval)


@signed_as_in(scipy_ndimage)
def median_filter(input, size, footprint, output, mode, cval, origin, axes) -> Any:
    """Return the median of the window around each element: of an even number the greater one in the middle."""
    _in_the_middle("median_filter", origin, axes)
    mask = _mask("median_filter", np.ndim(input), size, footprint)
    return _by_rank("median_filter", input, mask, int(mask.sum()) // 2, output, mode, cval)


@signed_as_in(scipy_ndimage)
def percentile_filter(input, percentile, size, footprint, output, mode, cval, origin, axes) -> Any:
    """Return the element of a percentile of the window around each element; the rank is rounded down."""
    _in_the_middle("percentile_filter", origin, axes)
    if is_traced(percentile) or not -100 <= percentile <= 100:
        raise ArgumentError("percentile_filter", "percentile", "is no number up to 100", "pass a Python number")
    mask = _mask("percentile_filter", np.ndim(input), size, footprint)
    share = percentile + 100 if percentile < 0 else percentile
    count = int(mask.sum())
    rank = count - 1 if share == 100 else int(count * share / 100.0)
    return _by_rank("percentile_filter", input, mask, rank, output, mode, cval)


def generic_filter(
    input: Any, function: Callable[..., Any], size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, extra_arguments: Any = (), extra_keywords: Any = None, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Return what a function gives of the elements of the window around each element, a vector of float64.

    `function(window, *extra_arguments, **extra_keywords)` is traced once, and returns a number.
    """
    _in_the_middle("generic_filter", origin, axes)
    x = as_traced(input)
    mask = _mask("generic_filter", x.ndim, size, footprint)
    dtype, image = ext.output_dtype("generic_filter", input, output), xp.asarray(x).astype(np.float64)
    windows = ext.windows_of(_around("generic_filter", image, mask, mode, cval), mask.shape, x.shape)
    flat = xp.reshape(windows, (-1, mask.size))[:, np.flatnonzero(mask)]
    value = lambda v: xp.reshape(xp.asarray(function(v, *extra_arguments, **(extra_keywords or {}))), ())
    return ew.convert(as_traced(xp.reshape(vmap(value)(flat), x.shape)), dtype)


# -- morphology of grey images

Filter = Callable[..., Any]


def _moved(name: str, sign: int, input, size, footprint, structure, mode, cval):
    """Return the least differences of windows and a structure, or for the sign -1 the greatest sums."""
    x = as_traced(input)
    shape = None if structure is None else np.shape(structure)
    mask = np.ones(shape, bool) if shape and footprint is None else _mask(name, x.ndim, size, footprint)
    mask = np.flip(mask) if sign < 0 else mask
    if structure is not None:
        return _by_heights(name, sign, x, mask, xp.asarray(structure), mode, cval)
    rank, axes, modes = min(sign, 0), range(x.ndim), ext.for_each(name, "mode", mode, x.ndim)
    low = [(k - 1) // 2 if sign < 0 else k // 2 for k in mask.shape]
    if mask.all():
        origins = [before - k // 2 for before, k in zip(low, mask.shape, strict=True)]
        return extreme_of_box(name, x, mask.shape, axes, modes, cval, origins, rank)
    return of_rank(name, x, as_traced(mask), axes, low, _one_mode(name, modes), cval, rank)


def _one_mode(name: str, modes: Sequence[Any]) -> str:
    """Return what the modes mean that all axes share."""
    meanings = {ext.filter_mode(name, mode) for mode in modes}
    if len(meanings) != 1:
        raise ArgumentError(name, f"mode={modes!r}", "differs along axes of a footprint", "pass one mode")
    return meanings.pop()


def _by_heights(name: str, sign: int, x, mask: np.ndarray, heights, mode, cval):
    heights = xp.flip(heights) if sign < 0 else heights
    windows = ext.windows_of(_around(name, x, mask, mode, cval, mirrored=sign < 0), mask.shape, x.shape)
    chosen = np.flatnonzero(mask)
    flat = xp.reshape(windows, (*windows.shape[: x.ndim], mask.size))[..., chosen]
    moved = flat - sign * xp.ravel(heights)[chosen].astype(x.dtype)
    return (xp.min if sign > 0 else xp.max)(moved, axis=-1)


def _grey(name: str, doc: str, combine: Callable[[Any, Callable[[int, Any], Any]], Any]) -> Filter:
    """Return a function of grey morphology: `combine(x, move)` moves an image by the structure with a sign."""

    def function(
        input, size = None, footprint = None, structure = None, output = None,
        mode = "reflect", cval = 0.0, origin = 0, *, axes = None
    ):  # fmt: skip
        _in_the_middle(name, origin, axes)
        move = lambda sign, x: _moved(name, sign, x, size, footprint, structure, mode, cval)
        dtype = ext.output_dtype(name, input, output)
        return ew.convert(as_traced(combine(as_traced(input), move)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {doc}.\n\nWindows are given by `size`, a concrete `footprint`, or heights `structure`."
    return function


grey_erosion: Filter = _grey("grey_erosion", "the least element of each window", lambda x, move: move(1, x))
grey_dilation: Filter = _grey("grey_dilation", "the greatest element of each window", lambda x, move: move(-1, x))
# -- morphology of binary images


def _structure(name: str, rank: int, structure) -> np.ndarray:
    if is_traced(structure):
        raise ArgumentError(name, "structure", "is traced", "pass a concrete mask")
    mask = scipy_ndimage.generate_binary_structure(rank, 1) if structure is None else np.asarray(structure) != 0
    if mask.ndim != rank or not mask.size:
        problem = f"has the shape {mask.shape} for an image with {rank} axes"
        raise ArgumentError(name, "structure", problem, "pass one with elements along each axis")
    return mask


def _origins(name: str, origin, sides: Sequence[int]) -> tuple[int, ...]:
    """Return how far windows move along each axis."""
    origins = tuple([static_int(o, name, "origin") for o in ext.for_each(name, "origin", origin, len(sides))])
    if not all(-(k // 2) <= o <= (k - 1) // 2 for o, k in zip(origins, sides, strict=True)):
        raise ArgumentError(name, f"origin={origin!r}", "is outside of the structure", "pass one inside of it")
    return origins


def _repeated(
    name: str, input, structure, iterations, mask, border_value, origin, dilate: bool, output=None, axes=None
):  # fmt: skip
    """Return so many steps, or for a number below 1 all until nothing changes; outside of a mask nothing changes."""
    if is_traced(output) or has_type(output, np.ndarray) or axes is not None:
        raise ArgumentError(name, "output or axes", "is not available for traced arrays", "leave it out")
    x = xp.asarray(input) != 0
    shape = _structure(name, x.ndim, structure)
    masks = [] if mask is None else [as_traced(xp.broadcast_to(xp.asarray(mask) != 0, x.shape))]
    options = {"steps": max(static_int(iterations, name, "iterations"), 0), "border": bool(border_value)}
    origins = _origins(name, origin, shape.shape)
    if options["steps"] == 0 and not shape[tuple([k // 2 + o for k, o in zip(shape.shape, origins, strict=True)])]:
        problem = "is below 1, and the structure lacks its middle: images may change for ever"
        raise ArgumentError(name, f"iterations={iterations!r}", problem, "pass a number of iterations")
    return binary_steps(as_traced(x), *masks, structure=shape, origin=origins, **options, dilate=dilate)


@signed_as_in(scipy_ndimage)
def binary_erosion(input, structure, iterations, mask, output, border_value, origin, brute_force, axes) -> Any:
    """Return where a structure around an element fits into an image, after so many steps."""
    return _repeated("binary_erosion", input, structure, iterations, mask, border_value, origin, False, output, axes)


@signed_as_in(scipy_ndimage)
def binary_dilation(input, structure, iterations, mask, output, border_value, origin, brute_force, axes) -> Any:
    """Return what structures around the elements of an image cover, after so many steps."""
    return _repeated("binary_dilation", input, structure, iterations, mask, border_value, origin, True, output, axes)


@signed_as_in(scipy_ndimage)
def binary_opening(input, structure, iterations, output, origin, mask, border_value, brute_force, axes) -> Any:
    """Return the dilation of the erosion of an image."""
    options = structure, iterations, mask, border_value, origin
    eroded = _repeated("binary_opening", input, *options, False, output, axes)
    return _repeated("binary_opening", eroded, *options, True)


@signed_as_in(scipy_ndimage)
def binary_closing(input, structure, iterations, output, origin, mask, border_value, brute_force, axes) -> Any:
    """Return the erosion of the dilation of an image."""
    options = structure, iterations, mask, border_value, origin
    dilated = _repeated("binary_closing", input, *options, True, output, axes)
    return _repeated("binary_closing", dilated, *options, False)


@signed_as_in(scipy_ndimage)
def binary_hit_or_miss(input, structure1, structure2, output, origin1, origin2, axes) -> Any:
    """Return where one structure fits into an image, and another one, by default the rest, into its complement."""
    x = xp.asarray(input) != 0
    second = ~_structure("binary_hit_or_miss", x.ndim, structure1) if structure2 is None else structure2
    hit = _repeated("binary_hit_or_miss", x, structure1, 1, None, 0, origin1, False, output, axes)
    moved = origin1 if origin2 is None else origin2
    return hit & _repeated("binary_hit_or_miss", ~x, second, 1, None, 1, moved, False)
