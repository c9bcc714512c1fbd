"""NumPy's functions of samples: histograms, polynomials and signals. They load at their first use."""
