"""The demo of a cluster runs on two processes, traces nothing there, and gives what one process gives."""

import pytest

from anyshape.demo import cluster


def test_the_demo_runs_on_two_processes(capsys, tmp_path):
    pytest.importorskip("rich")
    assert cluster.main(["--chunks", "12", "--steps", "3", "--folder", str(tmp_path), "--no-progress"]) == 0
    out = capsys.readouterr().out
    assert "0 traces, 1 load" in out and "bit for bit" in out
    assert len(list(tmp_path.glob("*.npy"))) == 12


def test_a_worker_that_traces_is_a_failure(monkeypatch, tmp_path):
    class Traced:
        report = type("Report", (), {"traces": 1, "rows": (1,), "workers": (), "payload": 1})

    result = type("Result", (), {"x": 1.0, "nit": 1, "nfev": 1, "fun": 0.0})
    monkeypatch.setattr(cluster, "run", lambda *args: (result, Traced, result))
    assert cluster.main(["--chunks", "2", "--folder", str(tmp_path), "--no-progress"]) == 1
