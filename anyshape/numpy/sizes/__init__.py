"""Give sizes of traced arrays the behaviour of Python ints."""
