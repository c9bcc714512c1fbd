"""Source of functions: their syntax, proved to be what their code was compiled from, and functions made from it."""
