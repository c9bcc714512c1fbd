"""Tests of locks and of packages and dataclasses that load late."""
