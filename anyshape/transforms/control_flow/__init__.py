"""Give users loops and choices inside a program: scan, while_loop, map, associative_scan, cond and switch."""
