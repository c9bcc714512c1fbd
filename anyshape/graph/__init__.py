"""Define what a program is: sizes, the prover over them, shapes, signatures and the graph itself."""
