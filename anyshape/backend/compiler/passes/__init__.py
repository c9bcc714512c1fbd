"""Rewrite graphs and plans: each pass gives the same results with less work or memory."""
