"""Fixtures for folders whose subject is not the optimiser, where most time would go into it."""

import pytest

from anyshape import config


def _optimises_as_users(request, monkeypatch):
    """Tell whether slow tests are left out; no plans of few calls are optimised then."""
    leaves_out_slow = "slow" not in request.config.option.markexpr
    if leaves_out_slow:
        monkeypatch.setattr(config, "optimize", "auto")
    return leaves_out_slow


@pytest.fixture(autouse=True)
def as_users_optimise_programs(request, monkeypatch):
    """Optimise no plans of few calls, which the sweeps of samples do for every op. The slow tests do."""
    _optimises_as_users(request, monkeypatch)


@pytest.fixture(autouse=True)
def as_users_run_programs(request, monkeypatch):
    """Optimise no plans of few calls, and verify no metadata. The slow tests do both."""
    if _optimises_as_users(request, monkeypatch):
        monkeypatch.setenv("ANYSHAPE_CHECK", "0")
