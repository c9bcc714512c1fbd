"""The op whose params are graphs, for the tests of its derivatives."""

from tests.graph.ir.conftest import select_graph

__all__ = ["select_graph"]
