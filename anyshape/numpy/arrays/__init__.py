"""Define the traced array and its side of NumPy's protocols."""
