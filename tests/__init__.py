"""The tests. A package, so that the table of samples is one module under one name for every test."""
