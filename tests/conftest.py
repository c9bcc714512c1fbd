"""Configure all tests: runs verify their metadata (Law 2); Hypothesis is bounded and repeatable."""

import gc
import itertools
import os
import zlib

os.environ["ANYSHAPE_CHECK"] = "1"  # before any program is compiled: the generated code holds the checks
# Arrays of tests are small: "auto" would leave optimised plans untested. `tests/program/test_tiers.py` has both.
os.environ.setdefault("ANYSHAPE_OPTIMIZE", "now")

import numpy as np
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from anyshape import config
from anyshape.support.packages import sharing
from anyshape.tracing import named_dims
from anyshape.tracing.source import stored
from tests.gate_parts import ONE_IN, is_wide
from tests.newer_releases import skip_what_needs_newer_releases

stored.LEAST = float("inf")  # functions of tests do not come from other runs
SETTINGS = [*type(config).__slots__, "traceback"]
_SLOW_PARTS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_PARTS)
settings.load_profile("default")


def _settings():
    return {name: getattr(config, name) for name in SETTINGS}


# Functions of NumPy and SciPy, loops and examples have many alike programs: one test in three verifies metadata.
_OF_MANY = (
    "anyshape/", "tests/numpy/", "tests/scipy/", "tests/autodiff/", "tests/laws/", "tests/backend/native/",
    "tests/transforms/control_flow/", "tests/tracing/source/",
)  # fmt: skip


def _verifies(name):
    return not name.startswith(_OF_MANY) or zlib.crc32(name.encode()) % 3 == 0


@pytest.fixture(autouse=True)
def _alone(request):
    """Leave nothing of a test to the next one; one fixture, as each takes a tenth of a millisecond of every test.

    Rows hold NaN, inf and division by zero on purpose, so NumPy's warnings about them say nothing.
    A Dim that lives on in the traceback of an earlier test would make its name print as n@2.
    Functions of the same code in other tests would share programs: a test counts traces as in a new process.
    A setting that is left behind fails the test: machine code left on made all later tests of a process slower.
    """
    named_dims._LABELS.clear()
    sharing.forget()
    os.environ["ANYSHAPE_CHECK"] = str(int(_verifies(request.node.nodeid)))
    before = _settings()
    with np.errstate(all="ignore"):
        yield
    after = _settings()
    if after != before:
        for name, value in before.items():
            setattr(config, name, value)
        pytest.fail("a setting of anyshape.config stays as the test left it")


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(20240117)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Report no setup or teardown that passes: what two processes do for these reports is half a test's own cost."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


_TESTS_IN_A_SEARCH = 500
_ran = itertools.count(1)


def pytest_collection(session):
    """Search for no garbage among tens of thousands of tests that are being collected: a sixth of the time."""
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Collect no cases that are slow, if these are not asked for: half of all cases, a third of the time."""
    yield
    if is_wide(metafunc.definition):
        drawn = [zlib.crc32(case.id.encode()) for case in metafunc._calls]
        for case, number in zip(metafunc._calls, drawn, strict=True):
            if number % ONE_IN and number != min(drawn):
                case.marks.append(pytest.mark.slow.mark)
    if _leaves_out_slow(metafunc.config):
        all_slow = metafunc.definition.get_closest_marker("slow") is not None
        cases = [c for c in metafunc._calls if not all_slow and "slow" not in {mark.name for mark in c.marks}]
        metafunc._calls = cases or metafunc._calls[:1]  # a test without any would run without its arguments


def pytest_collection_finish(session):
    """Leave tens of thousands of collected tests out of every later search for garbage, which took minutes."""
    gc.enable()
    _keep_what_lives()
    gc.set_threshold(200_000, 10, 10)  # what tests make lives on in programs: to look for garbage took a tenth of a run


def pytest_runtest_logfinish(nodeid, location):
    """Leave out what earlier tests hold, too: each search took seconds at the end of a run."""
    if next(_ran) % _TESTS_IN_A_SEARCH == 0:
        _keep_what_lives()


def _keep_what_lives():
    gc.collect()
    gc.freeze()  # for good: unfreezing would put all collected tests back into later searches


def _leaves_out_slow(config):
    return "slow" not in config.option.markexpr


def pytest_collection_modifyitems(config, items):
    """Tests marked slow run when they are asked for by name: `pytest -m slow`.

    They are deselected. To report that ten thousand of them are skipped took half a minute.
    """
    skip_what_needs_newer_releases(items)
    if _leaves_out_slow(config):
        slow = [item for item in items if "slow" in item.keywords]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]


@pytest.fixture
def as_written(monkeypatch):
    """Run functions as they are written, for tests of what Python's own loops and decisions make of a trace."""
    monkeypatch.setattr(config, "read_source", "off")
