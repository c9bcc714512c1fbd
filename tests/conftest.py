"""Configure all tests: each run verifies its metadata (Law 2); Hypothesis is bounded and repeatable."""

import gc
import inspect
import itertools
import os

os.environ["ANYSHAPE_CHECK"] = "1"  # before any program is compiled: the generated code holds the checks
# Arrays of tests are small: "auto" would leave optimised plans untested. `tests/program/test_tiers.py` has both.
os.environ.setdefault("ANYSHAPE_OPTIMIZE", "now")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from anyshape import config
from anyshape.tracing import named_dims
from tests.newer_releases import skip_what_needs_newer_releases

SETTINGS = [name for name, kind in inspect.getmembers(type(config)) if isinstance(kind, property)]
_SLOW_PARTS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_PARTS)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _quiet_numpy():
    """Rows hold NaN, inf and division by zero on purpose; NumPy's warnings about them say nothing."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(autouse=True)
def _free_labels_of_dims():
    """Forget labels: a Dim that lives on in the traceback of an earlier test would make its name print as n@2."""
    named_dims._LABELS.clear()


def _settings():
    return {name: getattr(config, name) for name in SETTINGS}


@pytest.fixture(autouse=True)
def _settings_end_with_the_test():
    """Fail a test that leaves a setting behind: machine code left on made all later tests of a process slower."""
    before = _settings()
    yield
    after = _settings()
    for name, value in before.items():
        setattr(config, name, value)
    assert after == before, "a setting of anyshape.config stays as the test left it"


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(20240117)


_TESTS_IN_A_SEARCH = 500
_ran = itertools.count(1)


def pytest_collection_finish(session):
    """Leave tens of thousands of collected tests out of every later search for garbage, which took minutes."""
    _keep_what_lives()
    gc.set_threshold(200_000, 10, 10)  # what tests make lives on in programs: to look for garbage took a tenth of a run


def pytest_runtest_logfinish(nodeid, location):
    """Leave out what earlier tests hold, too: each search took seconds at the end of a run."""
    if next(_ran) % _TESTS_IN_A_SEARCH == 0:
        _keep_what_lives()


def _keep_what_lives():
    gc.collect()
    gc.freeze()  # for good: unfreezing would put all collected tests back into later searches


def pytest_collection_modifyitems(config, items):
    """Tests marked slow run when they are asked for by name: `pytest -m slow`.

    They are deselected. To report that ten thousand of them are skipped took half a minute.
    """
    skip_what_needs_newer_releases(items)
    if "slow" not in config.option.markexpr:
        slow = [item for item in items if "slow" in item.keywords]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]
