"""What the library costs, against the same work written by hand in NumPy. `make bench` runs all of it."""
