"""Hold a traced function with its plans, specializations and file format."""
