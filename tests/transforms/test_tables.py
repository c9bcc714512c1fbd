"""Data frames that functions close over: functions of other frames with the same columns share a program."""

import functools

import numpy as np
import pytest

from anyshape import grad, jit
from anyshape.transforms import sharing

pd = pytest.importorskip("pandas")
X = np.arange(6.0) + 1
OTHER = None


def _asks_in_vain(frame):
    try:
        return frame["t"].mean()
    except Exception:
        return -1.0


SHARED = {
    "to_numpy": lambda df: lambda x: x * df["t"].to_numpy(),
    "attribute": lambda df: lambda x: x * df.t.values,
    "dtype": lambda df: lambda x: x * df["g"].to_numpy(np.float32),
    "operand": lambda df: lambda x: x * df["t"] + df["g"],
    "where": lambda df: lambda x: np.where(df["e"], x, 0.0),
    "index": lambda df: lambda x: x[df["e"]],
    "columns": lambda df: lambda x: df[["g", "t"]].to_numpy() * x[:, None],
    "loop": lambda df: lambda x: sum(x * df[name].to_numpy() for name in ("t", "g")),
    "series": lambda df: functools.partial(lambda s, x: x * s.to_numpy(), df["t"]),
    "class": lambda df: lambda x: x * df["t"].to_numpy() * (2 if isinstance(df, pd.DataFrame) else 3),
    "identity": lambda df: lambda x: x * df["t"].to_numpy() * (2 if df is OTHER else 3),
    "labels": lambda df: lambda x: x * df["t"].to_numpy() * (2 if "t" in df else 3) * len([*df]),
}
ALONE = {
    "mean that skips NaN": lambda df: lambda x: x * df["t"].mean(),
    "standard deviation": lambda df: lambda x: x * np.std(df["t"]),
    "ufunc of a series": lambda df: lambda x: x * np.exp(df["t"]).std(),
    "comparison": lambda df: lambda x: x * (df["t"] > 1).to_numpy(),
    "equality": lambda df: lambda x: x * (df["g"] == 1).to_numpy(),
    "array": lambda df: lambda x: x * np.asarray(df["t"]),
    "index": lambda df: lambda x: x * df["t"].index.to_numpy(),
    "text": lambda df: lambda x: x * len(str(df["s"].iloc[0])),
    "text column": lambda df: lambda x: x * df["s"].to_numpy().astype(float),
    "caught": lambda df: lambda x: x * _asks_in_vain(df),
    "absent": lambda df: lambda x: x * df["t"].to_numpy() * (2 if hasattr(df, "absent") else 3),
    "type": lambda df: lambda x: x * (2 if type(df) is pd.DataFrame else 3),
    "decision": lambda df: lambda x: x if df["t"].to_numpy()[0] > 1 else 2 * x,
    "write": lambda df: lambda x: (df.loc.__setitem__((0, "t"), 5.0), x * df["t"].to_numpy())[1],
    "truth": lambda df: lambda x: x * (2 if not df.empty else 3),
}


def _frame(seed, count=6):
    rng = np.random.default_rng(seed)
    numbers = {"t": rng.random(count) * 3, "e": rng.random(count) > 0.5, "g": rng.integers(0, 3, count)}
    return pd.DataFrame(numbers | {"s": [str(seed)] * count})


@pytest.fixture(autouse=True)
def forget():
    sharing.forget()


@pytest.mark.parametrize("name", [*SHARED, *ALONE])
def test_each_function_reads_its_own_frame(name):
    make = {**ALONE, **SHARED}[name]
    for seed in range(5):
        f, plain = jit(make(_frame(seed))), make(_frame(seed))
        for _ in range(2):
            np.testing.assert_allclose(f(X), plain(X))


@pytest.mark.parametrize("name", SHARED)
def test_frames_share_a_program(name):
    functions = [jit(SHARED[name](_frame(seed))) for seed in range(4)]
    for f in functions:
        f(X)
    assert [f.cache_info().traces for f in functions] == [1, 1, 0, 0]
    f = grad(lambda x, g=functions[3]: np.sum(g(x)))
    np.testing.assert_allclose(f(X), grad(lambda x: np.sum(SHARED[name](_frame(3))(x)))(X))


def test_a_program_serves_all_sizes():
    for count in (3, 0, 1, 7):
        frame, x = _frame(count, count), np.ones(count)
        np.testing.assert_allclose(jit(SHARED["to_numpy"](frame))(x), frame["t"])


def test_other_columns_are_another_program():
    def values(frame):
        return jit(lambda x: x * frame[next(iter(frame))].to_numpy())(X)

    for names in ("ab", "ba", "ab", "ba", [0, 1], [1, 0], ["0", "1"], [("a", 1), ("b", 2)], "aa"[:1]):
        frame = pd.DataFrame({name: X + i for i, name in enumerate(sorted(names, key=str))})[[*names]]
        np.testing.assert_allclose(values(frame), X * frame[next(iter(frame))].to_numpy())


def test_a_frame_may_change_in_place():
    frames = [_frame(seed) for seed in range(3)]
    functions = [jit(lambda x, df=frame: x * df["t"].to_numpy()) for frame in frames]
    for change in (
        lambda df: None,
        lambda df: df.__setitem__("t", 2 * df["t"]),
        lambda df: df.loc.__setitem__((0, "t"), 9.0),
        lambda df: df.insert(0, "new", 1.0),
        lambda df: df.__setitem__("t", df["t"].astype(np.float32)),
    ):
        for f, frame in zip(functions, frames, strict=True):
            change(frame)
            np.testing.assert_allclose(f(X), X * frame["t"].to_numpy())


def test_frames_as_arguments():
    f = jit(lambda x, df: x * df["t"].to_numpy())
    for seed in range(4):
        np.testing.assert_allclose(f(X, _frame(seed)), X * _frame(seed)["t"])
    assert f.cache_info().traces <= 2


def written(frame):
    frame.loc[0, "t"] = 9.0


def replaced(frame):
    frame["e"] = frame["e"] + 1


def renamed(frame):
    frame.rename(columns={"t": "e", "e": "t"}, inplace=True)


def shortened(frame):
    frame.drop(index=frame.index[-1], inplace=True)


@pytest.mark.parametrize("rows", [1, 3, 5000, 400_000])
@pytest.mark.parametrize("change", [written, replaced, renamed, shortened])
@pytest.mark.parametrize("read", [lambda frame: frame[["t", "e"]].to_numpy(), lambda frame: frame["t"].mean()])
def test_a_kept_function_sees_a_frame_that_changes_in_place(read, change, rows):
    frame = pd.DataFrame({"t": np.arange(1.0, rows + 1), "e": np.arange(rows), "name": ["x"] * rows})
    function = lambda w: w * np.sum(read(frame))
    gradient, jitted = grad(function), jit(function)
    gradient(1.0), jitted(1.0)
    change(frame)
    expected = np.sum(read(frame))
    np.testing.assert_allclose([gradient(1.0), jitted(1.0), grad(function)(1.0)], expected)
    traces = gradient.cache_info().traces
    frame.describe(), gradient(2.0)
    assert gradient.cache_info().traces == traces
