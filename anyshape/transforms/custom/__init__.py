"""Let users write derivatives of their own: custom rules, implicit solutions and what their functions capture."""
