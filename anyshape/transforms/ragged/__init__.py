"""Functions of one example, mapped over examples whose sizes differ."""
