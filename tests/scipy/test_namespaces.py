"""Run SciPy's own functions on traced arrays, which it dispatches by namespace if `SCIPY_ARRAY_API` says so."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import anyshape, numpy as np
import scipy.special as sc
import scipy.stats
from anyshape.scipy import special
x = np.array([0.3, 0.4, 0.9])
for ours, theirs in ((special.erf, sc.erf), (special.expn, sc.expn), (special.jv, sc.jv), (special.hyperu, sc.hyperu)):
    args = (x, x, x)[: ours.nin]
    np.testing.assert_allclose(anyshape.jit(ours)(*args), theirs(*args), 1e-12)
for function in (sc.erf, sc.logsumexp, sc.softmax, scipy.stats.zscore, scipy.stats.skew):
    np.testing.assert_allclose(anyshape.jit(function)(x), function(x), 1e-12)
print(float(anyshape.grad(lambda x: sc.erf(x).sum())(x)[0]))
"""


def test_scipys_functions_dispatch_to_traced_arrays():
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert abs(float(run.stdout) - 1.0312609096) < 1e-8
