"""Boxes and primitives under the names of `autograd.tracer`."""

from anyshape.autograd.extend import Box, getval, isbox, notrace_primitive, primitive, register_notrace

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace"]
