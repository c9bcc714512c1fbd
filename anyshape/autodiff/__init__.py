"""Transform graphs into graphs: JVP, linearisation, transposition and batching."""
