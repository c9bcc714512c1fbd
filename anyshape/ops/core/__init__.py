"""Define ops with their costs and legal parameters, and apply them."""
