"""The table that every check sweeps: one row per op or function, with its nasty case in its shapes and values."""
