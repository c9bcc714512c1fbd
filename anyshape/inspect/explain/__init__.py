"""Explain a cache: its data and two renderers."""
