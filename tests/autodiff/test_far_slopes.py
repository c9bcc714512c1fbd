"""Slopes far out against mpmath: where a value is right, so are its first and second derivatives."""

import numpy as np
import pytest
from mpmath import mp

from anyshape import grad, jvp
from anyshape.scipy import special, stats
from tests.autodiff.distribution_rows import DISTRIBUTIONS
from tests.autodiff.slope_rows import ROWS
from tests.autodiff.slopes import judge, sampled

# one function for each way to lose digits, and points where they were lost
GATE = {
    "np.tanh": [(21.0,), (-47.3,), (320.0,), (0.3,)],
    "np.arcsin": [(1e-40,), (0.9999999,)],
    "np.arcsinh": [(-5.8e184,), (2.0,)],
    "np.hypot": [(7e7, 2e-6), (-1e200, 1e190), (3.0, 4.0)],
    "np.arctan2": [(1e180, -3e175), (2e-150, 1e-148)],
    "np.logaddexp": [(-100.0, 50.0), (-0.016, -168.0), (1.0, 2.0)],
    "special.expit": [(82.0,), (-8e-29,), (-690.0,), (21.3,)],
    "special.log_expit": [(-83.0,), (60.0,), (0.2,)],
    "special.erfcx": [(17413.4,), (1e120,), (9.9,), (-3.0,)],
    "special.rel_entr": [(5e184, 3e-129), (2.0, 3.0)],
    "special.betaln": [(743.0, 1e-30), (3.4, 1e51), (3.9e-173, 3.1e-226), (2.0, 3.0)],
    "special.poch": [(1e-70, 2.5), (-3.2, 1e-8), (8e10, -9e-6), (5.0, 2.0)],
    "special.inv_boxcox": [(36.8, 6.6e8), (1.1e6, 9.7e6)],
    "special.pseudo_huber": [(2e-9, 3e8), (2.0, 1e-7), (1.5, 2.0)],
    "special.log_ndtr": [(38.5,), (-7e9,)],
}
FURTHER = {
    "special.dawsn": [(5e33,), (-6776.0,), (9.9,), (0.5,)],
    "special.spence": [(5.9e13,), (2.7e-18,), (1.2,)],
    "special.i1e": [(-9e103,), (120.0,), (2.0,)],
    "special.struve": [(6.4, 880.0), (1.0, 2.0)],
    "special.elliprc": [(70.0, -0.05), (1.0, 2.0)],
    "special.voigt_profile": [(0.04, 6e-9, 166.0), (5.0, 1e-200, 2.0), (300.0, 34.0, 3.3)],
    "stats.t.logsf": [(1.3695654043112185e153, 0.04173591944722669), (3.6760343599451636e153, 0.3), (2.0, 3.0)],
    "stats.f.ppf": [(3.82997604210484e-123, 4.969367043851147, 0.20798779240747264), (0.7, 3.0, 4.0)],
    "stats.betaprime.ppf": [(2.886887501471239e-56, 0.5580352987686981, 163.04295806586876)],
    "stats.beta.ppf": [(0.9999988616793931, 1.2446160023238773, 0.25994562415716826), (0.3, 2.0, 3.0)],
    "stats.gengamma.logcdf": [(1.651271592101474e-06, 24.83797906864917, 1.271790216896125), (2.0, 1.5, 1.2)],
    "stats.crystalball.logsf": [(-1.2630640642991202e157, 0.5082173718649772, 2.1154328079833933)],
    "stats.invgauss.sf": [(1.118707184315428e248, 0.09614335508714825), (1.5, 2.0)],
    "stats.foldnorm.logsf": [(1.0791029770129985e-07, 0.8361677621150398), (2.0, 1.5)],
    "stats.bradford.logcdf": [(0.9999998579115182, 0.025373201945970595)],
    "stats.truncweibull_min.logsf": [(2.9653489541936295, 2.731915927647351, 0.8787842234391411, 2.965348958584274)],
    "stats.levy.isf": [(4.8758767168681126e-91,)],
    "stats.loglaplace.isf": [(4.259730172176577e-98, 0.553118075153749), (0.7, 2.0)],
    "stats.truncexpon.isf": [(6.65124134861955e-78, 8.327802667972401), (0.5, 2.0), (0.5, 50.0)],
    "stats.truncweibull_min.isf": [(8.8e-93, 1.13, 0.26, 2.06), (0.999999999998, 1.6, 0.8, 2.1)],
    "stats.loguniform.cdf": [(20.98402690095944, 0.031, 20.984026900959442), (2.0, 0.5, 3.0)],
    "stats.bradford.cdf": [(0.9999999999, 53.2), (2e-16, 1.2e-5)],
    "stats.recipinvgauss.logsf": [(1000.0, 0.0317), (1.5, 2.0)],
    "stats.foldcauchy.pdf": [(5e-17, 0.78), (1e16, 0.8)],
    "stats.rice.pdf": [(2e-17, 4.1)],
    "stats.kappa3.sf": [(4.6e-51, 0.8), (82.0, 18.6), (1e62, 2.77)],
    "stats.crystalball.cdf": [(8.08, 0.2, 9.4)],
    "stats.wrapcauchy.ppf": [(0.9999999999999823, 0.47)],
    "stats.truncnorm.sf": [(-0.554898271766841, -0.5548982717668416, 2.173270289313141), (0.5, -1.0, 2.0)],
    "stats.genexpon.isf": [(0.99999, 0.15, 1.34, 1.42)],
    "special.eval_sh_legendre": [(0.06558546664671, 7.484685358343937e-06)],
    "stats.exponnorm.logcdf": [(-12.448019923786877, 40.45064113803921), (-30.23, 44.4), (1.0, 3.0)],
    "stats.lognorm.ppf": [(1e-180, 20.0), (0.3, 2.0)],
    "stats.burr.isf": [(9.767377402594645e-120, 0.3988211484475936, 0.5187957905777489)],
    "stats.nakagami.logsf": [(1.6442545537883118, 151.66335999146548)],
    "stats.rdist.pdf": [(-0.9999999876143382, 60.62890843263622)],
    "stats.dgamma.logcdf": [(-309.3524922799109, 0.5221446714095342), (2.0, 3.0)],
    "stats.truncnorm.isf": [(0.9999999999999988, -3.7384088784965073, 8.40153737911898), (1e-20, -1.0, 2.0)],
    "special.eval_sh_chebyt": [(95.52463454365632, 0.013), (20.5, 0.02)],
}
# of distributions: factors in logarithms, powers that overflow, complements, parts without a second derivative
SHARES = {
    "stats.lomax.pdf": [(5e-105, 102.0), (2.0, 3.0)],
    "stats.burr.logsf": [(9.37e-75, 2.01, 1.549), (1.5, 2.0, 0.7)],
    "stats.betaprime.sf": [(4.96e-83, 0.1228, 1.254), (3e40, 2.0, 1.5)],
    "stats.exponweib.sf": [(7.4e-15, 1.59, 1.87), (1.3, 0.7, 2.0)],
    "stats.exponnorm.logsf": [(69.6, 5.137)],
    "stats.weibull_max.logsf": [(-1.06e-9, 6.079), (-1.5, 0.7)],
    "stats.mielke.ppf": [(0.0963, 0.1638, 8.249)],
    "stats.jf_skew_t.sf": [(44633388.9, 1.198, 0.571), (-0.3, 2.0, 3.0)],
    "stats.rayleigh.pdf": [(8e-13,)],
    "stats.gumbel_l.logcdf": [(-26.4,), (30.0,)],
    "stats.halfcauchy.logpdf": [(3.8e116,), (2.0,)],
}
# narrow shares, quantiles beside an end, the smaller one of a share and its rest
NARROW = {
    "stats.loggamma.logcdf": [(-38.300036436816775, 11.639981331336449), (-1.9, 30.0), (-2.1, 30.0)],
    "stats.alpha.logsf": [(53774055.359663785, 0.25487257866088026), (2.0, 1.5)],
    "stats.truncpareto.isf": [(5.87e-166, 0.93, 1.1), (0.9999999959, -0.66, 1.37), (0.4, 1e-7, 2.0)],
    "stats.argus.sf": [(1.9e-13, 2.0), (0.25, 1.7), (0.6, 2.0)],
}
# quantiles that invert or take powers of others, whose own slopes overflow
INVERTED = {
    "stats.invgamma.isf": [
        (3.903574302617102e-180, 1.0076629566057318),
        (6.8e-204, 0.6974833559680166),
        (9.5e-247, 1.54),
        (0.3, 2.0),
    ],
    "stats.chi.ppf": [(9.049370968632572e-202, 1.3396320250427032), (5.2e-164, 1.0414898318121528), (0.3, 2.0)],
    "stats.nakagami.ppf": [(4.0046144343771855e-205, 0.6616232965675547), (7.92e-43, 0.134), (0.3, 2.0)],
    "stats.gengamma.ppf": [(9.2e-207, 10.424671267467827, 0.10956279817966637), (0.3, 2.0, 1.5)],
    "stats.fisk.ppf": [(4.3e-244, 1.0911726773042396), (2.26e-216, 0.92), (0.3, 2.0)],
    "stats.fisk.isf": [(1e-150, 3.0), (0.3, 2.0)],
    "stats.alpha.ppf": [(7.988870607417217e-156, 0.16371521398545597)],
    "stats.fatiguelife.ppf": [(2.221655357450717e-156, 3.6753937969834354)],
    "stats.gibrat.ppf": [(2.099060877378234e-158,)],
    "stats.levy_l.isf": [(1.0002089267744289e-155,)],
}
# sums that cancel, SciPy's functions at shifted parameters and whole c - a - b, tails whose densities underflow
REARRANGED = {
    "special.hyp2f1": [(1.0656, -0.0656, 2.0, 0.999), (0.3, 0.2, 0.7, 0.5)],
    "special.eval_laguerre": [(1.3687281989185505, 36.28158877021841)],
    "stats.exponnorm.logpdf": [(-5.8632341046961916, 0.01007149586416885), (4.0, 6.0)],
    "stats.boltzmann.logsf": [(58.0, 0.2870651865641411, 60.0)],
    "stats.skellam.pmf": [(17.0, 23.4, 0.156), (-3.0, 2.0, 5.0)],
    "stats.crystalball.ppf": [(1.0706179510580758e-151, 0.5575357368649141, 1.8753938827721395)],
    "stats.johnsonsb.ppf": [(6.436923466667543e-169, -0.11256091828589605, 0.1276761249742527)],
    "stats.loggamma.ppf": [(1.4641481397295177e-148, 0.6947135866660912)],
    "stats.t.cdf": [(-7.192538661486374e153, 1.1510888347679729)],
    "stats.rayleigh.logcdf": [(2.0947973144731956e-107,), (1.0,)],
    "stats.genpareto.sf": [(7.676211184903532e290, 2.6186745028319494)],
    "stats.trapezoid.isf": [(6.942150454518613e-14, 0.4114619416101256, 0.7348059824645146)],
    "stats.trapezoid.logcdf": [(2.0356906123838565e-125, 0.16627258115821553, 0.9121192674321397)],
    "stats.triang.isf": [(6.942150454518613e-14, 0.4)],
    "stats.dweibull.logcdf": [(-309.3524922799109, 1.01)],
    "stats.f.logsf": [(9.99999999949413e289, 0.23958354440750831, 1.4258964805221175), (3.96e277, 0.032, 1.76)],
    "stats.kappa3.logsf": [(1.695140570248029e-199, 0.10998136077825538), (0.5, 2.0)],
    "stats.rice.logcdf": [(6.252820166421372e-114, 6.726556030029378), (9.032746433774674, 3.9352818731350703)],
    "stats.rice.logsf": [(7.124196370432044, 0.06709334574491069), (9.032746433774674, 3.9352818731350703)],
    "stats.betaprime.logcdf": [(1.669118808107833e-171, 0.05540740125960247, 58.75847601796447), (0.7, 2.0, 1.5)],
    "stats.jf_skew_t.logsf": [(-1.202623527563505e154, 0.34542491502731654, 12.527102178736628)],
    "stats.f.sf": [(9.999999999997378e289, 0.11413151323202735, 0.2537801996440667), (2.0, 3.0, 4.0)],
}
# large orders, factors that vanish at an end, points that move with a parameter, odd quantiles beside an end
MOVING = {
    "special.cotdg": [(-4.574323454316148e-06,), (0.3,)],  # whose values lose digits beside a pole
    "special.ive": [(37.0, 1481.2331077635097), (70.0, 90.0)],
    "special.kve": [(57.0, 2956.429778622943)],
    "special.lpmv": [(2.0, 19.0, 0.9999999999999786), (2.0, 6.0, -0.99999999), (4.0, 9.0, 0.9999999), (3.0, 7.0, 0.4)],
    "stats.nakagami.logsf": [(1.1222306747679012, 274.80178211093045), (1.2, 3.0)],
    "stats.nakagami.logcdf": [(0.8804476127302595, 219.39564000206389), (0.7, 2.0)],
    "stats.gamma.logsf": [(330.0, 280.0), (40.0, 0.3)],
    "stats.foldcauchy.isf": [(0.9999999791263184, 0.2004983514350495), (0.3, 2.0)],
}
SINGLE = {  # small degrees, to which 1 is added, SciPy's loops of single precision, sums of large logarithms
    "special.eval_chebyu": [(0.0001255890092579648, -0.15753212571144104)],
    "special.eval_legendre": [(0.0001393204292980954, 0.2668023407459259)],
    "special.ive": [(-16.031299591064453, 71.31912231445312), (53.1312141418457, 525.6709594726562)],
    "special.kve": [(55.438987731933594, 454.3320617675781)],
    "special.kei": [(5.624715328216553,)],
    "special.agm": [(2.0, 3.0)],
    "special.gammaincc": [(656.95751953125, 417.7164001464844)],
    "special.betainc": [(900.5, 700.25, 0.3)],
}
SECONDS = 1.5
# the end of the time may come in a callback of the interpreter, which swallows it; it comes again
SWALLOWED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
VALUE_ULPS = 64  # of distributions: beside an end of its support a probability turns by less than its rounding


def wrong(judged):
    return [str(one) for one in judged if not one.error <= 1]


@pytest.mark.parametrize("one_in", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "points",
    [GATE, SHARES, NARROW, INVERTED, REARRANGED, MOVING, pytest.param(FURTHER, marks=pytest.mark.slow)],
    ids=["gate", "shares", "narrow", "inverted", "rearranged", "moving", "further"],
)
def test_slopes_keep_their_digits_far_out(points, one_in):
    by_name = {row.name: row for row in reversed([*ROWS, *DISTRIBUTIONS])}
    judged = [one for name, at in [*points.items()][::one_in] for one in judge(by_name[name], at)]
    assert not wrong(judged), "\n".join(wrong(judged))
    assert len(judged) >= 30 / one_in


@pytest.mark.slow
def test_slopes_in_single_precision():
    by_name = {row.name: row for row in reversed(ROWS)}
    judged = [one for name, at in SINGLE.items() for one in judge(by_name[name], at, "float32")]
    assert not wrong(judged), "\n".join(wrong(judged))
    assert len(judged) == 20


@SWALLOWED
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda k: f"{k}-{ROWS[k].name}")
def test_slopes_of_all_functions(number, dtype):
    row, rng = ROWS[number], np.random.default_rng(number)
    judged = judge(row, sampled(row, rng, 12, dtype), dtype, SECONDS)
    assert not wrong(judged), "\n".join(wrong(judged))


@SWALLOWED
@pytest.mark.slow
@pytest.mark.parametrize("row", DISTRIBUTIONS, ids=lambda row: row.name)
def test_slopes_of_all_distributions(row):
    points = sampled(row, np.random.default_rng(len(row.name)), 8, "float64")
    judged = judge(row, points, "float64", SECONDS, VALUE_ULPS)
    assert not wrong(judged), "\n".join(wrong(judged))


def test_complex_tanh_has_a_slope_far_out():
    slope = lambda z: jvp(np.tanh, (z,), (np.ones_like(z),))[1]
    z = np.array([20 + 1j, -300 + 2j, 0.3 + 0.4j])
    expected = [complex(mp.sech(mp.mpc(one)) ** 2) for one in z]
    np.testing.assert_allclose(slope(z), expected, 1e-13)
    second = [complex(-2 * mp.tanh(mp.mpc(one)) * mp.sech(mp.mpc(one)) ** 2) for one in z]
    np.testing.assert_allclose(jvp(slope, (z,), (np.ones_like(z),))[1], second, 1e-13)


def test_scaled_hankel_functions_have_slopes_of_large_order():
    z = np.array([532.3494 - 165.71776j, 725.2683 - 347.81415j])
    slope = lambda z: jvp(lambda z: special.hankel2e(93.5, z), (z,), (np.ones_like(z),))[1]
    right = [complex(mp.diff(lambda z: mp.hankel2(93.5, z) * mp.exp(1j * z), one, 2)) for one in z]
    np.testing.assert_allclose(jvp(slope, (z,), (np.ones_like(z),))[1], right, 1e-10)


def test_ferrers_functions_have_second_derivatives_at_their_ends():
    second = lambda m, v: grad(grad(lambda x: special.lpmv(m, v, x)))
    assert [second(m, v)(x) for m, v in ((3, 2), (1, 0), (4, 2)) for x in (-1.0, 1.0)] == [0.0] * 6
    np.testing.assert_allclose([second(2, 3)(1.0), second(4, 6)(-1.0)], [-90, 37800], 1e-12)
    assert second(3, 5)(1.0) == -np.inf


def test_powers_and_scores_of_distributions_have_slopes_where_they_underflow():
    """The formulas of SciPy underflow, or give NaN."""
    np.testing.assert_allclose(grad(stats.loggamma.ppf)(2.4e-205, 0.083), 1 / (0.083 * 2.4e-205), 1e-12)
    np.testing.assert_allclose(grad(stats.loggamma.logcdf)(-1843.0, 0.2257), 0.2257, 1e-12)
    np.testing.assert_allclose(grad(stats.wald.logcdf)(2e-15), 0.5 / 2e-15**2, 1e-6)
    np.testing.assert_allclose(grad(stats.gibrat.logcdf)(1e-16), -np.log(1e-16) / 1e-16, 1e-3)
    np.testing.assert_allclose(grad(stats.invgauss.logsf)(3e5, 0.3), -5.555560555547, 1e-12)
    np.testing.assert_allclose(grad(stats.truncexpon.isf)(1e-300, 800.0), -1e300, 1e-12)
    np.testing.assert_allclose(grad(stats.semicircular.sf)(-0.99999999), -2 / np.pi * np.sqrt(2e-8), 1e-7)
