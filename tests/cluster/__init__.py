"""Programs over chunks, on all executors."""
