"""Source of functions: their syntax, functions made from it, and what their calls mean while they are traced."""
