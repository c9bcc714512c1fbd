"""Budgets of the work of a first call, in calls of Python functions, which no other load of a machine changes."""

import os
import subprocess
import sys

COLD, WARM = 18_000, 10_000  # in a new process, which imports and fills tables; and after another first call

SCRIPT = """
import sys
import numpy as np
from anyshape import jit, value_and_grad

arguments = np.arange(3.0), np.ones((5, 3)), np.arange(5.0)

def of_tanh(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)

def of_sin(w, x, y):
    return np.mean((np.sin(x @ w) - y) ** 2)

def calls(loss):
    count = 0
    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"
    sys.setprofile(profile)
    try:
        jit(value_and_grad(loss))(*arguments)
    finally:
        sys.setprofile(None)
    return count

print(calls(of_tanh), calls(of_sin))
"""


def test_the_first_call_of_a_gradient_makes_few_calls():
    # a module whose bytecode is written makes a dozen calls more
    plain = {"PYTHONDONTWRITEBYTECODE": "1"} | {n: x for n, x in os.environ.items() if not n.startswith("ANYSHAPE_")}
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=plain)
    cold, warm = map(int, run.stdout.split())
    assert cold <= COLD and warm <= WARM, f"{cold} calls in a new process, {warm} after another first call"
    assert cold > warm > 1000
