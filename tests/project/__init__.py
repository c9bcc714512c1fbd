"""Test the project as a whole: layers, completeness, documentation, examples and benchmarks."""
