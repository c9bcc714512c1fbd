"""Hold the intermediate representation: frozen graphs, their builder, validator, printer and encoding."""
