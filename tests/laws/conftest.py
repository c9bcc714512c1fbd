"""Order the sweeps by case, so that the tests of a case share its programs: `programs_of` in sweep.py."""

FILES = ("test_batched_derivatives.py", "test_sample_sweep.py")


def case_of(item):
    """The case of a test of these files; None for all other tests."""
    parameters = getattr(item, "callspec", None)
    return parameters.params.get("case") if parameters and item.path.name in FILES else None


def pytest_collection_modifyitems(items):
    """Move the tests of each case behind its first one."""
    tests = {}
    for item in items:
        tests.setdefault(case_of(item) or item, []).append(item)
    items[:] = [item for together in tests.values() for item in together]
