"""Functions and distributions of `scipy.stats` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_stats

_SERVED = Module(
    scipy_stats,
    "scipy.stats",
    own={
        "angles": "vonmises wrapcauchy",
        "bounded": (
            "argus bradford johnsonsb loguniform rdist reciprocal trapezoid truncexpon truncnorm truncpareto "
            "truncweibull_min"
        ),
        "continuous": (
            "arcsine beta cauchy gennorm halfgennorm hypsecant johnsonsu laplace logistic norm powerlaw skewnorm t "
            "triang uniform"
        ),
        "density": "gaussian_kde",
        "discrete": (
            "bernoulli betabinom betanbinom binom boltzmann dlaplace geom hypergeom logser nbinom nhypergeom planck "
            "poisson randint skellam zipf"
        ),
        "extremes": "genextreme genhalflogistic genlogistic genpareto moyal",
        "further": (
            "alpha anglit betaprime burr cosine dgamma dweibull exponpow exponweib fatiguelife foldcauchy foldnorm "
            "gengamma gibrat gumbel_l gumbel_r invweibull loggamma loglaplace powernorm semicircular"
        ),
        "lifetimes": "genexpon kappa3 levy_l mielke powerlognorm recipinvgauss rice wald",
        "multivariate": "dirichlet multinomial multivariate_normal multivariate_t wishart",
        "ordered": (
            "ansari brunnermunzel chatterjeexi cramervonmises_2samp fligner friedmanchisquare kendalltau kruskal "
            "ks_2samp mannwhitneyu mood ranksums weightedtau wilcoxon"
        ),
        "positive": (
            "burr12 chi chi2 erlang expon f fisk gamma gompertz halfcauchy halflogistic halfnorm invgamma invgauss "
            "levy lognorm lomax maxwell nakagami pareto rayleigh weibull_max weibull_min"
        ),
        "skewed": "crystalball exponnorm jf_skew_t laplace_asymmetric norminvgauss skewcauchy",
    },
    through={
        "circular": "boxcox boxcox_llf yeojohnson yeojohnson_llf",
        "correlation": "linregress pearsonr spearmanr",
        "hypotheses": (
            "chisquare f_oneway false_discovery_control pointbiserialr power_divergence ttest_ind ttest_ind_from_stats"
        ),
        "lent": (
            "bartlett circmean circstd circvar combine_pvalues entropy gmean gstd hmean jarque_bera kstat kstatvar "
            "kurtosis kurtosistest levene normaltest pmean sem skew skewtest tmax tmean tmin tsem tstd ttest_1samp "
            "ttest_rel tvar variation"
        ),
        "ordered": "energy_distance siegelslopes theilslopes tiecorrect wasserstein_distance",
        "ranks": "mode rankdata",
        "summaries": "describe gzscore iqr median_abs_deviation moment zmap zscore",
        "trimmed": "differential_entropy lmoment percentileofscore scoreatpercentile sigmaclip trim_mean",
    },
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
