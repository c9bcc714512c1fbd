"""Test `anyshape/scipy/fft`."""
