"""Batching rules of every op, one module per family. Importing a module enters its rows."""
