"""Read the options and specs of a transform, and which arguments are static or sizes."""
