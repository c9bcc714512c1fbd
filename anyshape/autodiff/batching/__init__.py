"""autodiff/batching."""
