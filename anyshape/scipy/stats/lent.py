"""Functions of samples that run SciPy's own code, which has no derivatives to lose and decides on no values."""

import functools
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy.operands.conversion import floats
from anyshape.scipy.operands.source import lent as of_scipy
from anyshape.scipy.stats.correlation import SignificanceResult
from anyshape.scipy.stats.distribution import Function
from anyshape.scipy.stats.sampling import along_last, filled_up, sampled
from anyshape.scipy.stats.source import SCIPY
from anyshape.support.packages import scipy_stats


def lent(name: str, *names: str, spreads: bool = False, filled: bool = False, **facts: Any) -> Function:
    """Return a function of samples in these parameters that runs SciPy's code; see `sampling.sampled` for facts.

    Where a sample is NaN, the result is NaN if that `spreads`. It is NaN without any sample if they are `filled` up.
    """
    theirs = getattr(scipy_stats, name)
    run = of_scipy(theirs, SCIPY)

    @functools.wraps(theirs, updated=())
    def function(*samples, axis=0, **options):
        some = {k: floats(options[k]) for k in names if options.get(k) is not None}
        options |= {k: filled_up(x, axis) for k, x in some.items()} if filled else some
        if not names:
            samples, axis = tuple(along_last(name, samples, axis)), -1
        result = run(*samples, axis=axis, **options)
        if hasattr(result, "pvalue"):
            return SignificanceResult(result.statistic, result.pvalue)
        return xp.where(xp.any(xp.isnan(options[names[0]]), axis=axis), np.nan, result) if spreads else result

    function.__module__ = "anyshape.scipy.stats"  # where it takes traced arrays, and a pickle finds it
    function.__doc__ = f"Return what SciPy's `{name}` returns, with SciPy's parameters."
    return sampled(*names, **facts)(function)


gmean: Function = lent("gmean", "a", "weights", paired=True)
hmean: Function = lent("hmean", "a", "weights", paired=True)
pmean: Function = lent("pmean", "a", "weights", paired=True)
skew: Function = lent("skew", "a")
kurtosis: Function = lent("kurtosis", "a")
sem: Function = lent("sem", "a")
variation: Function = lent("variation", "a")
gstd: Function = lent("gstd", "a")
tmin: Function = lent("tmin", "a")
tmax: Function = lent("tmax", "a")
tvar: Function = lent("tvar", "a", spreads=True)
tstd: Function = lent("tstd", "a", spreads=True)
tsem: Function = lent("tsem", "a", spreads=True)
tmean: Function = lent("tmean", "a", axis=None)
kstat: Function = lent("kstat", "data", axis=None)
kstatvar: Function = lent("kstatvar", "data", axis=None)
circmean: Function = lent("circmean", "samples", axis=None)
circvar: Function = lent("circvar", "samples", axis=None)
circstd: Function = lent("circstd", "samples", axis=None)
skewtest: Function = lent("skewtest", "a")
kurtosistest: Function = lent("kurtosistest", "a")
normaltest: Function = lent("normaltest", "a")
entropy: Function = lent("entropy", "pk", "qk", paired=True, least=0)
jarque_bera: Function = lent("jarque_bera", "x", axis=None)
ttest_1samp: Function = lent("ttest_1samp", "a", "popmean")
ttest_rel: Function = lent("ttest_rel", "a", "b", paired=True)
bartlett: Function = lent("bartlett")
power_divergence: Function = lent("power_divergence", "f_obs", "f_exp", paired=True, least=0)
chisquare: Function = lent("chisquare", "f_obs", "f_exp", paired=True, least=0)
pearsonr: Function = lent("pearsonr", "x", "y", paired=True)
median_abs_deviation: Function = lent("median_abs_deviation", "x")
combine_pvalues: Function = lent("combine_pvalues", "pvalues", "weights", paired=True, filled=True)
f_oneway: Function = lent("f_oneway")
ttest_ind_from_stats: Function = of_scipy(scipy_stats.ttest_ind_from_stats, SCIPY)
gzscore: Function = of_scipy(scipy_stats.gzscore, SCIPY)
