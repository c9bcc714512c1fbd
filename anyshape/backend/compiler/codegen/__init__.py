"""Generate one Python function per plan."""
