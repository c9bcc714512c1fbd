"""Group steps that run tile by tile, and choose what a group holds."""
