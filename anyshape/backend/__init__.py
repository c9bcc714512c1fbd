"""Run a graph: compile it to a plan and execute the plan with NumPy kernels."""
