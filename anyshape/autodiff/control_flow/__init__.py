"""Derive and batch the nodes that hold subgraphs: branches and loops."""
