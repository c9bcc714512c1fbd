"""The demo as a user runs it, for a few steps: it trains, compares itself with NumPy by hand, and draws."""

import anyshape
from anyshape.demo import train


def test_a_short_run_has_one_trace_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "loss.png"
    assert train.main(["--steps", "25", "--no-progress", "--out", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr().out
    assert "distinct lengths" in shown and "anyshape / by hand" in shown


def test_training_lowers_the_loss_and_agrees_with_the_gradient_by_hand():
    step = anyshape.jit(anyshape.value_and_grad(train.loss))
    history = train.train(step, steps=40, seconds=60.0, seed=0, progress=False)
    assert step.cache_info().traces == 1
    assert sum(history.losses[-5:]) < sum(history.losses[:5]) - 1
    assert history.difference < 1e-4
    assert len(set(history.lengths)) > 20


def test_time_ends_a_run_too():
    step = anyshape.jit(anyshape.value_and_grad(train.loss))
    history = train.train(step, steps=10**6, seconds=1.0, seed=0, progress=False)
    assert 1 <= len(history.losses) < 10**4
