"""Compile a graph to a plan: lowering, passes, buffer assignment and code generation."""
