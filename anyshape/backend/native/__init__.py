"""Native code of the compiled tier: sources that generated C includes."""
