"""The op whose params are graphs, registered for the tests of this folder that ask for it."""

import pytest

from tests.graph.ir import two_branch_op


@pytest.fixture
def select_graph():
    with two_branch_op.registered():
        yield two_branch_op.select_graph
