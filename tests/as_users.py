"""Fixture for folders whose subject is not the optimiser, where most time would go into it."""

import pytest

from anyshape import config


@pytest.fixture(autouse=True)
def as_users_run_programs(request, monkeypatch):
    """Verify no metadata and optimise no plans of few calls, which the sweeps of samples do for every op.

    The slow tests do both.
    """
    if "slow" not in request.config.option.markexpr:
        monkeypatch.setenv("ANYSHAPE_CHECK", "0")
        monkeypatch.setattr(config, "optimize", "auto")
