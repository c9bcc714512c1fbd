"""Functions and distributions of `scipy.stats` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_stats

_SERVED = Module(
    scipy_stats,
    "scipy.stats",
    own={
        "bounded": (
            "anglit argus bradford cosine johnsonsb loguniform rdist reciprocal semicircular trapezoid truncexpon "
            "truncnorm truncpareto truncweibull_min vonmises wrapcauchy"
        ),
        "continuous": (
            "arcsine beta cauchy crystalball exponnorm genextreme genhalflogistic genlogistic gennorm genpareto "
            "halfgennorm hypsecant jf_skew_t johnsonsu laplace laplace_asymmetric logistic moyal norm norminvgauss "
            "powerlaw powernorm skewcauchy skewnorm t triang uniform"
        ),
        "discrete": (
            "bernoulli betabinom betanbinom binom boltzmann dlaplace geom hypergeom logser nbinom nhypergeom planck "
            "poisson randint skellam zipf"
        ),
        "multivariate": "dirichlet gaussian_kde multinomial multivariate_normal multivariate_t wishart",
        "ordered": (
            "ansari brunnermunzel chatterjeexi cramervonmises_2samp fligner friedmanchisquare kendalltau kruskal "
            "ks_2samp mannwhitneyu mood ranksums weightedtau wilcoxon"
        ),
        "positive": (
            "alpha betaprime burr burr12 chi chi2 dgamma dweibull erlang expon exponpow exponweib f fatiguelife fisk "
            "foldcauchy foldnorm gamma genexpon gengamma gibrat gompertz gumbel_l gumbel_r halfcauchy halflogistic "
            "halfnorm invgamma invgauss invweibull kappa3 levy levy_l loggamma loglaplace lognorm lomax maxwell "
            "mielke nakagami pareto powerlognorm rayleigh recipinvgauss rice wald weibull_max weibull_min"
        ),
    },
    through={
        "correlation": "linregress mode rankdata spearmanr",
        "hypotheses": "false_discovery_control levene pointbiserialr ttest_ind",
        "lent": (
            "bartlett chisquare circmean circstd circvar combine_pvalues entropy f_oneway gmean gstd gzscore hmean "
            "jarque_bera kstat kstatvar kurtosis kurtosistest median_abs_deviation normaltest pearsonr pmean "
            "power_divergence sem skew skewtest tmax tmean tmin tsem tstd ttest_1samp ttest_ind_from_stats ttest_rel "
            "tvar variation"
        ),
        "ordered": "energy_distance siegelslopes theilslopes tiecorrect wasserstein_distance",
        "summaries": ("boxcox boxcox_llf describe iqr moment yeojohnson yeojohnson_llf zmap zscore"),
        "trimmed": "differential_entropy lmoment percentileofscore scoreatpercentile sigmaclip trim_mean",
    },
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
