"""Wrap the interpreter and optional packages: fork-safe locks and packages loaded at first use."""
