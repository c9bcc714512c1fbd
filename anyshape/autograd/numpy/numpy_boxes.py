"""Class of traced arrays under the name of `autograd.numpy.numpy_boxes`."""

from anyshape.autograd.extend import Box

__all__ = ["ArrayBox"]

ArrayBox = Box
