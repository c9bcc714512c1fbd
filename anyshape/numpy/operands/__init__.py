"""Turn what users pass into operands: symbolic sizes, promotion and scalars."""
