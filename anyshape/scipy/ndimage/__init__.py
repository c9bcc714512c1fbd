"""Functions of `scipy.ndimage` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_ndimage

_SERVED = Module(
    scipy_ndimage,
    "scipy.ndimage",
    own={"measurements": "sum"},
    through={
        "filtering": (
            "convolve correlate correlate1d gaussian_filter gaussian_filter1d gaussian_gradient_magnitude "
            "maximum_filter maximum_filter1d minimum_filter minimum_filter1d prewitt sobel uniform_filter "
            "uniform_filter1d"
        ),
        "interpolation": "affine_transform map_coordinates rotate shift spline_filter spline_filter1d zoom",
        "measurements": (
            "center_of_mass distance_transform_bf distance_transform_cdt distance_transform_edt fourier_gaussian "
            "fourier_shift fourier_uniform generic_gradient_magnitude generic_laplace geometric_transform label "
            "maximum maximum_position mean median minimum minimum_position standard_deviation sum_labels variance "
            "watershed_ift"
        ),
        "morphology": (
            "binary_closing binary_dilation binary_erosion binary_hit_or_miss binary_opening generic_filter "
            "grey_dilation grey_erosion median_filter percentile_filter rank_filter"
        ),
    },
    lent=(
        "binary_fill_holes binary_propagation black_tophat convolve1d extrema gaussian_laplace grey_closing "
        "grey_opening histogram laplace morphological_gradient morphological_laplace white_tophat"
    ),
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
