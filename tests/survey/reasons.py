"""Reasons why functions of SciPy take concrete arrays only, by module."""

TABLES = "a table for a given order, known before a trace"
POLYNOMIAL = "gives a polynomial object of a given order"
ORDER = "the order or count of its results is an argument that must be known"
SOLVER = "an iterative solver of its own; `cg`, `gmres` and `spsolve` have derivatives"
OPERATOR = "works on operators and sparse structure, not on values of arrays"
DESIGN = "designs from numbers that are known while tracing"
STRUCTURE = "the number of its results depends on a search over values in Python"
SYSTEM = "takes or gives a system object of SciPy"
CHECK = "a check that answers a Python bool or number"
RANDOM = "draws random numbers of SciPy's own generators"
RESAMPLED = "its probability comes from draws or from all permutations"
EXACT = "its probability comes from an exact distribution that SciPy tabulates"
OBJECT = "gives an object of SciPy with methods of its own"
PLOT = "prepares a plot"
FUNCTION = "calls a Python function on points that it chooses while it runs"
SUPERSEDED = "older form of a function that takes traced arrays"
SERIES = "SciPy integrates or sums in Python, and no rule is known for its parameters"
ORDERS = "its density has a special function whose order is a parameter, with no derivative with respect to it"

REASONS = {
    "scipy.interpolate": {
        "lagrange pade": POLYNOMIAL,
        "approximate_taylor_polynomial": FUNCTION,
        "generate_knots": STRUCTURE,
    },
    "scipy.special": {
        "ai_zeros bei_zeros beip_zeros ber_zeros berp_zeros bi_zeros erf_zeros fresnel_zeros fresnelc_zeros"
        " fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros"
        " kerp_zeros y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros": TABLES,
        "c_roots cg_roots h_roots he_roots j_roots js_roots l_roots la_roots p_roots ps_roots s_roots t_roots ts_roots"
        " u_roots us_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre"
        " roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu"
        " roots_sh_jacobi roots_sh_legendre": TABLES,
        "chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre sh_chebyt"
        " sh_chebyu sh_jacobi sh_legendre": POLYNOMIAL,
        "factorialk stirling2": TABLES,
        "lmbda lqmn lqn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn": ORDER,
        "ellip_harm ellip_harm_2 ellip_normal": SERIES,
        "mathieu_even_coef mathieu_odd_coef obl_cv_seq pro_cv_seq": ORDER,
        "modfresnelm modfresnelp": "compiled code with two complex results, without a rule",
    },
    "scipy.sparse.linalg": {
        "bicg cgs gcrotmk lgmres lsmr lsqr minres qmr tfqmr": SOLVER,
        "eigs eigsh lobpcg svds expm funm_multiply_krylov matrix_power inv": OPERATOR,
        "aslinearoperator is_sptriangular onenormest spbandwidth spilu splu use_solver": OPERATOR,
    },
    "scipy.integrate": {
        "cubature nsum qmc_quad solve_bvp tanhsinh": FUNCTION,
        "lebedev_rule newton_cotes": TABLES,
    },
    "scipy.cluster.vq": {"kmeans kmeans2": RANDOM},
    "scipy.signal": {
        "besselap buttap cheb1ap cheb2ap ellipap buttord cheb1ord cheb2ord ellipord iirdesign band_stop_obj": DESIGN,
        "lp2bp lp2bs lp2hp lp2lp iircomb gammatone firls remez firwin_2d kaiser_atten kaiser_beta kaiserord": DESIGN,
        "savgol_coeffs czt_points findfreqs max_len_seq unit_impulse minimum_phase": DESIGN,
        "abcd_normalize bode dbode dfreqresp dimpulse dlsim dstep freqresp impulse lsim step": SYSTEM,
        "place_poles ss2tf ss2zpk tf2ss zpk2ss normalize": SYSTEM,
        "find_peaks_cwt peak_prominences peak_widths unique_roots residue residuez invres invresz": STRUCTURE,
        "check_COLA check_NOLA choose_conv_method closest_STFT_dual_window": CHECK,
        "cspline1d cspline1d_eval cspline2d qspline1d qspline1d_eval qspline2d sepfir2d spline_filter": (
            "splines with mirrored ends; `ndimage.spline_filter` and `make_interp_spline` have derivatives"
        ),
        "hilbert2": "`hilbert` along both axes has derivatives",
        "tf2sos": "pairs poles by value; `zpk2sos` has derivatives",
    },
    "scipy.optimize": {
        "anderson broyden1 broyden2 diagbroyden excitingmixing linearmixing newton_krylov": (
            "solvers of SciPy that need a function of arrays; `root` is differentiable"
        ),
        "fmin fmin_bfgs fmin_cg fmin_cobyla fmin_l_bfgs_b fmin_ncg fmin_powell fmin_slsqp fmin_tnc leastsq": SUPERSEDED,
        "approx_fprime check_grad": "finite differences; `grad` and `check_grads` are exact",
        "bracket brute line_search": FUNCTION,
        "milp quadratic_assignment linprog_verbose_callback show_options": "has integers as results or no arrays",
    },
    "scipy.spatial.distance": {
        "directed_hausdorff": "leaves its search early, in compiled code; a minimum over `cdist` has derivatives",
        "is_valid_dm is_valid_y num_obs_dm num_obs_y": CHECK,
    },
    "scipy.ndimage": {
        "find_objects value_indices": "gives Python slices",
        "generate_binary_structure iterate_structure": TABLES,
        "fourier_ellipsoid": "compiled code without a rule; `fourier_gaussian` and `fourier_uniform` have derivatives",
        "generic_filter1d labeled_comprehension vectorized_filter": FUNCTION,
    },
    "scipy.linalg": {"clarkson_woodruff_transform": RANDOM},
    "scipy.stats": {
        "abs exp log truncate order_statistic make_distribution fit ecdf goodness_of_fit mvsdist bayes_mvs": OBJECT,
        "anderson anderson_ksamp barnard_exact binomtest boschloo_exact cramervonmises epps_singleton_2samp": EXACT,
        "fisher_exact ks_1samp kstest page_trend_test shapiro somersd tukey_hsd dunnett alexandergovern": EXACT,
        "chi2_contingency logrank median_test poisson_means_test quantile_test": EXACT,
        "bootstrap bws_test monte_carlo_test multiscale_graphcorr permutation_test sobol_indices": RESAMPLED,
        "binned_statistic binned_statistic_2d binned_statistic_dd": FUNCTION,
        "boxcox_normmax boxcox_normplot ppcc_max ppcc_plot probplot yeojohnson_normmax yeojohnson_normplot": PLOT,
        "quantile": "`numpy.quantile` and `numpy.nanquantile` have derivatives",
        "spearmanrho": "`spearmanr` takes traced arrays",
        "cumfreq relfreq": "`numpy.histogram` takes traced arrays",
        "trim1 trimboth": "`numpy.sort` and a slice have derivatives",
        "expectile": "a root that SciPy searches for; `root_scalar` has derivatives",
        "obrientransform": "its results are printed checks of SciPy; the formula is one line of NumPy",
        "directional_stats power": OBJECT,
        "wasserstein_distance_nd": "a linear program; `wasserstein_distance` has derivatives",
        "random_correlation random_table ortho_group special_ortho_group unitary_group uniform_direction": RANDOM,
        "dirichlet_multinomial invwishart matrix_normal matrix_t multivariate_hypergeom normal_inverse_gamma"
        " vonmises_fisher": "of vectors or matrices; its density by `gammaln` and `slogdet` has derivatives",
    },
    "distributions": {
        "dpareto_lognorm gausshyper genhyperbolic geninvgauss ncx2 ncf nct": ORDERS,
        "irwinhall ksone kstwo kstwobign landau levy_stable studentized_range rel_breitwigner": SERIES,
        "nchypergeom_fisher nchypergeom_wallenius poisson_binom zipfian": SERIES,
        "kappa4 pearson3 tukeylambda": "its formulas change at values of a shape parameter, where SciPy has a jump",
        "vonmises_line": "`vonmises` on one turn has derivatives",
        "yulesimon": "SciPy's distribution function is not a step function; its density is one line of NumPy",
    },
}


def reason_for(module, name):
    """Return why a function, or a distribution, takes concrete arrays only."""
    for names, reason in REASONS[module].items():
        if name in names.split():
            return reason
    raise KeyError(f"tests/survey/reasons.py has no reason for {module}.{name}")
