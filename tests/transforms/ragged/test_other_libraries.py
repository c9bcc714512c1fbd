"""Batches of other libraries are batches of examples, where these libraries are installed."""

import numpy as np
import pytest

from anyshape import Ragged, errors, grad, jit, ragged_map

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
XS = [np.array([1.0, 2.0]), np.array([4.0]), np.array([3.0, 5.0, 6.0])]
ROWS = [np.stack([x, x + 1], axis=1) for x in XS]


def of_awkward(ak):
    yield ak.Array(XS), XS
    yield ak.Array([*XS, np.zeros(0)])[1:], [*XS[1:], np.zeros(0)]
    yield ak.Array(XS)[[2, 0]], [XS[2], XS[0]]
    yield ak.to_regular(ak.Array(ROWS), axis=2), ROWS
    yield ak.Array(ROWS), ROWS


def of_torch(torch):
    for layout in (torch.strided, torch.jagged):
        yield torch.nested.nested_tensor([torch.tensor(x) for x in XS], layout=layout), XS
        yield torch.nested.nested_tensor([torch.tensor(x) for x in ROWS], layout=layout, requires_grad=True), ROWS
    yield (
        torch.nested.narrow(torch.ones(2, 4, dtype=float), 1, 0, torch.tensor([1, 3]), layout=torch.jagged),
        [
            np.ones(1),
            np.ones(3),
        ],
    )


def frame(library):
    names = np.repeat([0, 1, 2], [len(x) for x in XS])
    return library.DataFrame({"name": names, "x": np.concatenate(XS), "y": np.concatenate(XS) + 1})


def of_pandas(pd):
    yield frame(pd).groupby("name")[["x", "y"]], ROWS
    yield frame(pd).groupby("name")["x"], XS
    yield pd.Series(XS), XS


def of_polars(pl):
    yield (
        frame(pl).select("name", "x", "y").group_by("name", maintain_order=True),
        [np.column_stack([np.full(len(x), i), x]) for i, x in enumerate(ROWS)],
    )
    yield pl.Series([x.tolist() for x in XS]), XS


scaled = ragged_map(lambda w, x: np.sum(w * x), in_axes=(None, 0))


@pytest.mark.parametrize("name", ["awkward", "torch", "pandas", "polars"])
def test_batches_are_those_of_the_library(name):
    library = pytest.importorskip(name)
    batches = {"awkward": of_awkward, "torch": of_torch, "pandas": of_pandas, "polars": of_polars}[name]
    for batch, expected in batches(library):
        for got in (ragged_map(lambda x: x * 2)(batch), 2 * Ragged.from_list(batch)):
            assert len(got) == len(expected)
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a, 2 * b, strict=True)
        slope = grad(lambda w, xs: scaled(w, xs).sum())(2.0, Ragged.from_list(batch))
        np.testing.assert_allclose(slope, sum(np.sum(x) for x in expected))


@pytest.mark.parametrize("name", ["awkward", "torch", "pandas", "polars"])
def test_transforms_say_how_to_pass_a_batch_of_a_library(name):
    library = pytest.importorskip(name)
    batches = {"awkward": of_awkward, "torch": of_torch, "pandas": of_pandas, "polars": of_polars}[name]
    for batch, _ in batches(library):
        with pytest.raises(errors.ArgumentError, match=r"xs .*\n  pass anyshape.Ragged.from_list\(xs?\)"):
            grad(lambda xs: np.sum(scaled(2.0, xs)))(batch)
        if name in ("awkward", "torch"):  # groups of frames are objects that functions may use
            with pytest.raises(errors.ArgumentError, match=r"xs .*\n  pass anyshape.Ragged.from_list\(xs?\)"):
                jit(lambda xs: np.sum(scaled(2.0, xs)))(batch)
