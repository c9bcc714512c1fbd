"""Render programs, costs, explanations and profiles."""
