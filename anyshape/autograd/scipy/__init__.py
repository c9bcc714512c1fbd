"""SciPy's modules under the names of `autograd.scipy`."""

import sys

from anyshape.scipy import integrate, linalg, special, stats

for _name, _module in (("integrate", integrate), ("linalg", linalg), ("special", special), ("stats", stats)):
    sys.modules[f"{__name__}.{_name}"] = _module
for _name in ("bernoulli", "beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"):
    sys.modules[f"{__name__}.stats.{_name}"] = getattr(stats, _name)
