"""Test the laws of the design on samples and on random programs."""
