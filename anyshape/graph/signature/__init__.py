"""Bind the sizes of a call to the variables of a program, and check its guards."""
