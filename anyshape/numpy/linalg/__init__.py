"""Define the functions of numpy.linalg for traced and concrete arrays."""
