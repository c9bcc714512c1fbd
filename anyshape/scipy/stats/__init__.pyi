"""Functions and distributions of `scipy.stats` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.stats import Binomial as Binomial
from scipy.stats import BootstrapMethod as BootstrapMethod
from scipy.stats import CensoredData as CensoredData
from scipy.stats import ConstantInputWarning as ConstantInputWarning
from scipy.stats import Covariance as Covariance
from scipy.stats import DegenerateDataWarning as DegenerateDataWarning
from scipy.stats import FitError as FitError
from scipy.stats import Logistic as Logistic
from scipy.stats import Mixture as Mixture
from scipy.stats import MonteCarloMethod as MonteCarloMethod
from scipy.stats import NearConstantInputWarning as NearConstantInputWarning
from scipy.stats import Normal as Normal
from scipy.stats import PermutationMethod as PermutationMethod
from scipy.stats import Uniform as Uniform
from scipy.stats import abs as abs
from scipy.stats import alexandergovern as alexandergovern
from scipy.stats import anderson as anderson
from scipy.stats import anderson_ksamp as anderson_ksamp
from scipy.stats import ansari as ansari
from scipy.stats import barnard_exact as barnard_exact
from scipy.stats import bartlett as bartlett
from scipy.stats import bayes_mvs as bayes_mvs
from scipy.stats import biasedurn as biasedurn
from scipy.stats import binned_statistic as binned_statistic
from scipy.stats import binned_statistic_2d as binned_statistic_2d
from scipy.stats import binned_statistic_dd as binned_statistic_dd
from scipy.stats import binomtest as binomtest
from scipy.stats import bootstrap as bootstrap
from scipy.stats import boschloo_exact as boschloo_exact
from scipy.stats import boxcox_normmax as boxcox_normmax
from scipy.stats import boxcox_normplot as boxcox_normplot
from scipy.stats import brunnermunzel as brunnermunzel
from scipy.stats import bws_test as bws_test
from scipy.stats import chatterjeexi as chatterjeexi
from scipy.stats import chi2_contingency as chi2_contingency
from scipy.stats import chisquare as chisquare
from scipy.stats import circmean as circmean
from scipy.stats import circstd as circstd
from scipy.stats import circvar as circvar
from scipy.stats import combine_pvalues as combine_pvalues
from scipy.stats import contingency as contingency
from scipy.stats import cramervonmises as cramervonmises
from scipy.stats import cramervonmises_2samp as cramervonmises_2samp
from scipy.stats import cumfreq as cumfreq
from scipy.stats import directional_stats as directional_stats
from scipy.stats import dirichlet_multinomial as dirichlet_multinomial
from scipy.stats import distributions as distributions
from scipy.stats import dpareto_lognorm as dpareto_lognorm
from scipy.stats import dunnett as dunnett
from scipy.stats import ecdf as ecdf
from scipy.stats import entropy as entropy
from scipy.stats import epps_singleton_2samp as epps_singleton_2samp
from scipy.stats import exp as exp
from scipy.stats import expectile as expectile
from scipy.stats import f_oneway as f_oneway
from scipy.stats import fisher_exact as fisher_exact
from scipy.stats import fit as fit
from scipy.stats import fligner as fligner
from scipy.stats import friedmanchisquare as friedmanchisquare
from scipy.stats import gausshyper as gausshyper
from scipy.stats import genhyperbolic as genhyperbolic
from scipy.stats import geninvgauss as geninvgauss
from scipy.stats import gmean as gmean
from scipy.stats import goodness_of_fit as goodness_of_fit
from scipy.stats import gstd as gstd
from scipy.stats import gzscore as gzscore
from scipy.stats import hmean as hmean
from scipy.stats import invwishart as invwishart
from scipy.stats import irwinhall as irwinhall
from scipy.stats import jarque_bera as jarque_bera
from scipy.stats import kappa4 as kappa4
from scipy.stats import kde as kde
from scipy.stats import kendalltau as kendalltau
from scipy.stats import kruskal as kruskal
from scipy.stats import ks_1samp as ks_1samp
from scipy.stats import ks_2samp as ks_2samp
from scipy.stats import ksone as ksone
from scipy.stats import kstat as kstat
from scipy.stats import kstatvar as kstatvar
from scipy.stats import kstest as kstest
from scipy.stats import kstwo as kstwo
from scipy.stats import kstwobign as kstwobign
from scipy.stats import kurtosis as kurtosis
from scipy.stats import kurtosistest as kurtosistest
from scipy.stats import landau as landau
from scipy.stats import levy_stable as levy_stable
from scipy.stats import log as log
from scipy.stats import logrank as logrank
from scipy.stats import make_distribution as make_distribution
from scipy.stats import mannwhitneyu as mannwhitneyu
from scipy.stats import matrix_normal as matrix_normal
from scipy.stats import matrix_t as matrix_t
from scipy.stats import median_abs_deviation as median_abs_deviation
from scipy.stats import median_test as median_test
from scipy.stats import monte_carlo_test as monte_carlo_test
from scipy.stats import mood as mood
from scipy.stats import morestats as morestats
from scipy.stats import mstats as mstats
from scipy.stats import mstats_basic as mstats_basic
from scipy.stats import mstats_extras as mstats_extras
from scipy.stats import multiscale_graphcorr as multiscale_graphcorr
from scipy.stats import multivariate_hypergeom as multivariate_hypergeom
from scipy.stats import mvn as mvn
from scipy.stats import mvsdist as mvsdist
from scipy.stats import ncf as ncf
from scipy.stats import nchypergeom_fisher as nchypergeom_fisher
from scipy.stats import nchypergeom_wallenius as nchypergeom_wallenius
from scipy.stats import nct as nct
from scipy.stats import ncx2 as ncx2
from scipy.stats import normal_inverse_gamma as normal_inverse_gamma
from scipy.stats import normaltest as normaltest
from scipy.stats import obrientransform as obrientransform
from scipy.stats import order_statistic as order_statistic
from scipy.stats import ortho_group as ortho_group
from scipy.stats import page_trend_test as page_trend_test
from scipy.stats import pearson3 as pearson3
from scipy.stats import pearsonr as pearsonr
from scipy.stats import permutation_test as permutation_test
from scipy.stats import pmean as pmean
from scipy.stats import poisson_binom as poisson_binom
from scipy.stats import poisson_means_test as poisson_means_test
from scipy.stats import power as power
from scipy.stats import power_divergence as power_divergence
from scipy.stats import ppcc_max as ppcc_max
from scipy.stats import ppcc_plot as ppcc_plot
from scipy.stats import probplot as probplot
from scipy.stats import qmc as qmc
from scipy.stats import quantile as quantile
from scipy.stats import quantile_test as quantile_test
from scipy.stats import random_correlation as random_correlation
from scipy.stats import random_table as random_table
from scipy.stats import ranksums as ranksums
from scipy.stats import rel_breitwigner as rel_breitwigner
from scipy.stats import relfreq as relfreq
from scipy.stats import rv_continuous as rv_continuous
from scipy.stats import rv_discrete as rv_discrete
from scipy.stats import rv_histogram as rv_histogram
from scipy.stats import sem as sem
from scipy.stats import shapiro as shapiro
from scipy.stats import skew as skew
from scipy.stats import skewtest as skewtest
from scipy.stats import sobol_indices as sobol_indices
from scipy.stats import somersd as somersd
from scipy.stats import spearmanrho as spearmanrho
from scipy.stats import special_ortho_group as special_ortho_group
from scipy.stats import stats as stats
from scipy.stats import studentized_range as studentized_range
from scipy.stats import tmax as tmax
from scipy.stats import tmean as tmean
from scipy.stats import tmin as tmin
from scipy.stats import trim1 as trim1
from scipy.stats import trimboth as trimboth
from scipy.stats import truncate as truncate
from scipy.stats import tsem as tsem
from scipy.stats import tstd as tstd
from scipy.stats import ttest_1samp as ttest_1samp
from scipy.stats import ttest_ind_from_stats as ttest_ind_from_stats
from scipy.stats import ttest_rel as ttest_rel
from scipy.stats import tukey_hsd as tukey_hsd
from scipy.stats import tukeylambda as tukeylambda
from scipy.stats import tvar as tvar
from scipy.stats import uniform_direction as uniform_direction
from scipy.stats import unitary_group as unitary_group
from scipy.stats import variation as variation
from scipy.stats import vonmises_fisher as vonmises_fisher
from scipy.stats import vonmises_line as vonmises_line
from scipy.stats import wasserstein_distance_nd as wasserstein_distance_nd
from scipy.stats import weightedtau as weightedtau
from scipy.stats import wilcoxon as wilcoxon
from scipy.stats import yeojohnson_normmax as yeojohnson_normmax
from scipy.stats import yeojohnson_normplot as yeojohnson_normplot
from scipy.stats import yulesimon as yulesimon
from scipy.stats import zipfian as zipfian

from anyshape.scipy.stats.correlation import rankdata as rankdata
from anyshape.scipy.stats.distribution import Family as _Family
from anyshape.scipy.stats.hypotheses import false_discovery_control as false_discovery_control
from anyshape.scipy.stats.multivariate import dirichlet as dirichlet
from anyshape.scipy.stats.multivariate import gaussian_kde as gaussian_kde
from anyshape.scipy.stats.multivariate import multinomial as multinomial
from anyshape.scipy.stats.multivariate import multivariate_normal as multivariate_normal
from anyshape.scipy.stats.multivariate import multivariate_t as multivariate_t
from anyshape.scipy.stats.multivariate import wishart as wishart
from anyshape.scipy.stats.ordered import energy_distance as energy_distance
from anyshape.scipy.stats.ordered import tiecorrect as tiecorrect
from anyshape.scipy.stats.ordered import wasserstein_distance as wasserstein_distance
from anyshape.scipy.stats.summaries import boxcox as boxcox
from anyshape.scipy.stats.summaries import describe as describe
from anyshape.scipy.stats.summaries import yeojohnson as yeojohnson
from anyshape.scipy.stats.summaries import zmap as zmap
from anyshape.scipy.stats.summaries import zscore as zscore
from anyshape.scipy.stats.trimmed import percentileofscore as percentileofscore
from anyshape.scipy.stats.trimmed import scoreatpercentile as scoreatpercentile
from anyshape.scipy.stats.trimmed import sigmaclip as sigmaclip

alpha: _Family
anglit: _Family
arcsine: _Family
argus: _Family
bernoulli: _Family
beta: _Family
betabinom: _Family
betanbinom: _Family
betaprime: _Family
binom: _Family
boltzmann: _Family

def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: Any = False, nan_policy: Any = "propagate") -> Any:
    """Return the logarithm of the likelihood of a number for the Box-Cox transform of samples."""

bradford: _Family
burr: _Family
burr12: _Family
cauchy: _Family
chi: _Family
chi2: _Family
cosine: _Family
crystalball: _Family
dgamma: _Family

def differential_entropy(
    values: Any,
    *,
    window_length: Any = None,
    base: Any = None,
    axis: Any = 0,
    method: Any = "auto",
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the differential entropy of samples by the spacings of a window: SciPy's methods but "correa"."""

dlaplace: _Family
dweibull: _Family
erlang: _Family
expon: _Family
exponnorm: _Family
exponpow: _Family
exponweib: _Family
f: _Family
fatiguelife: _Family
fisk: _Family
foldcauchy: _Family
foldnorm: _Family
gamma: _Family
genexpon: _Family
genextreme: _Family
gengamma: _Family
genhalflogistic: _Family
genlogistic: _Family
gennorm: _Family
genpareto: _Family
geom: _Family
gibrat: _Family
gompertz: _Family
gumbel_l: _Family
gumbel_r: _Family
halfcauchy: _Family
halfgennorm: _Family
halflogistic: _Family
halfnorm: _Family
hypergeom: _Family
hypsecant: _Family
invgamma: _Family
invgauss: _Family
invweibull: _Family

def iqr(
    x: Any,
    axis: Any = None,
    rng: Any = (25, 75),
    scale: Any = 1.0,
    nan_policy: Any = "propagate",
    interpolation: Any = "linear",
    keepdims: Any = False,
) -> Any:
    """Return the distance of two percentiles, by default the interquartile range."""

jf_skew_t: _Family
johnsonsb: _Family
johnsonsu: _Family
kappa3: _Family
laplace: _Family
laplace_asymmetric: _Family

def levene(
    *samples: Any,
    center: Any = "median",
    proportiontocut: Any = 0.05,
    axis: Any = 0,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return Levene's statistic of equal variances, by distances from medians, means or trimmed means."""

levy: _Family
levy_l: _Family

def linregress(
    x: Any,
    y: Any,
    alternative: Any = "two-sided",
    *,
    axis: Any = 0,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the line of least squares through points with coordinates x and y, vectors of at least two elements."""

def lmoment(
    sample: Any,
    order: Any = None,
    *,
    axis: Any = 0,
    sorted: Any = False,
    standardize: Any = True,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return L-moments of an order, or of each of a list of orders; by default 1 to 4, and ratios from 3 on."""

loggamma: _Family
logistic: _Family
loglaplace: _Family
lognorm: _Family
logser: _Family
loguniform: _Family
lomax: _Family
maxwell: _Family
mielke: _Family

def mode(a: Any, axis: Any = 0, nan_policy: Any = "propagate", keepdims: Any = False) -> Any:
    """Return the most frequent values along an axis, the least of equally frequent ones, and their counts."""

def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: Any = "propagate", *, center: Any = None, keepdims: Any = False
) -> Any:
    """Return moments of an order, or of each of a list of orders, about the mean or about a center."""

moyal: _Family
nakagami: _Family
nbinom: _Family
nhypergeom: _Family
norm: _Family
norminvgauss: _Family
pareto: _Family
planck: _Family

def pointbiserialr(x: Any, y: Any, *, axis: Any = 0, nan_policy: Any = "propagate", keepdims: Any = False) -> Any:
    """Return the correlation of truth values and numbers, and the probability of one as large."""

poisson: _Family
powerlaw: _Family
powerlognorm: _Family
powernorm: _Family
randint: _Family
rayleigh: _Family
rdist: _Family
recipinvgauss: _Family
reciprocal: _Family
rice: _Family
semicircular: _Family

def siegelslopes(
    y: Any,
    x: Any = None,
    method: Any = "hierarchical",
    *,
    axis: Any = None,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the repeated median of the slopes between points, and of the intercepts; see `theilslopes`."""

skellam: _Family
skewcauchy: _Family
skewnorm: _Family

def spearmanr(
    a: Any, b: Any = None, axis: Any = 0, nan_policy: Any = "propagate", alternative: Any = "two-sided"
) -> Any:
    """Return the correlation of the ranks of two vectors, and the probability of one as large by Student's t."""

t: _Family

def theilslopes(
    y: Any,
    x: Any = None,
    alpha: Any = 0.95,
    method: Any = "separate",
    *,
    axis: Any = None,
    nan_policy: Any = "propagate",
    keepdims: Any = False,
) -> Any:
    """Return the median of the slopes between points, an intercept, and limits of the slope for a confidence."""

trapezoid: _Family
triang: _Family

def trim_mean(
    a: Any, proportiontocut: Any, axis: Any = 0, *, nan_policy: Any = "propagate", keepdims: Any = False
) -> Any:
    """Return the mean without a share of the least and of the greatest samples; the share is rounded down."""

truncexpon: _Family
truncnorm: _Family
truncpareto: _Family
truncweibull_min: _Family

def ttest_ind(
    a: Any,
    b: Any,
    *,
    axis: Any = 0,
    equal_var: Any = True,
    nan_policy: Any = "propagate",
    alternative: Any = "two-sided",
    trim: Any = 0,
    method: Any = None,
    keepdims: Any = False,
) -> Any:
    """Return Student's t of the means of two samples, or Welch's without `equal_var`, and its probability."""

uniform: _Family
vonmises: _Family
wald: _Family
weibull_max: _Family
weibull_min: _Family
wrapcauchy: _Family

def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, nan_policy: Any = "propagate", keepdims: Any = False) -> Any:
    """Return the logarithm of the likelihood of a number for the Yeo-Johnson transform of samples."""

zipf: _Family
