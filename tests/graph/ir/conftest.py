"""The op whose params are graphs, registered for the tests that ask for it."""

import pytest

from tests.graph.ir import two_branch_op


@pytest.fixture
def select_graph():
    """Return the function that applies the op; afterwards no table holds it."""
    with two_branch_op.registered():
        yield two_branch_op.select_graph
