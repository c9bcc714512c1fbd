"""Rows whose expected values come from newer releases of NumPy or SciPy than the oldest that the project supports.

The library behaves as the newest release with any of them, or refuses by name what an older one cannot do.
"""

import importlib.metadata

import pytest

_SWEEPS = ("test_plain_numpy_functions_give_what_numpy_gives", "test_the_namespace_gives_what_numpy_gives")
_EMPTY = (  # rows of the sweep of samples, at size 0
    "contraction-norm_inf", "contraction-matrix_norm", "gathering-gather,_size", "linalg-norms_by_singular_values",
    "linalg-matrix_rank", "matrix_functions-expm_frechet",
)  # fmt: skip
SINCE = {
    ("numpy", (2, 3)): {
        "test_one_trace_of_a_key_reads_what_numpy_reads_at_every_size": "raises for indices that select nothing",
        "test_index_arrays_among_basic_keys": "raises for indices that select nothing",
        "test_unused_results_are_refused_like_used_ones[index, no rows": "raises for indices that select nothing",
        "test_a_result_that_is_read_for_its_shape_is_refused[index, no rows": "raises for indices that select nothing",
        "test_some_samples_and_random_programs": "raises for indices that select nothing",
    },
    ("numpy", (2, 4)): {
        "test_another_thread_draws_from_the_generator_meanwhile": "has locks that a thread can take twice",
        "test_functions_that_threads_trace_at_once": "has locks that a thread can take twice",
        "test_functions_that_draw_nothing_are_traced_beside_a_thread_that_draws": "has such locks",
        "test_programs_warn_of_slices_as_numpy_does": "warns without a final dot",
        "test_a_bool_squared_by_the_operator_has_the_dtype_of_numpy": "keeps the dtype of squares",
        "test_the_list_of_differences_has_no_row_too_many": "has other signatures",
        "test_a_sample_of_calls_gives_what_numpy_gives": "changed powers, sorting of zeros and trim_zeros",
        "test_calls_that_once_differed_give_what_numpy_gives": "changed powers, sorting of zeros and trim_zeros",
        **dict.fromkeys([f"{test}[{row}" for test in _SWEEPS for row in _EMPTY], "takes arrays without elements there"),
    },
    ("scipy", (1, 17)): {
        "test_one_triangle_is_read[inv": "takes assume_a for inverses",
        "test_tangents_count_as_their_part[inv": "takes assume_a for inverses",
        "test_one_rotation_and_many_are_scipys[from_euler of one": "has another shape for rotations about one axis",
        "test_one_rotation_and_many_are_scipys[magnitude": "returns an array for one rotation",
        "test_dtypes_nan_constants_and_integers_give_what_scipy_gives[iqr": "keeps single precision",
        "test_values_along_each_axis_at_many_sizes_from_one_trace[yeojohnson_llf": "takes an axis",
        "test_values_along_each_axis_at_many_sizes_from_one_trace[levene, trimmed": "trims other samples",
        "test_small_sizes[deconvolve": "takes signals without elements",
        "test_small_sizes[spectrogram": "takes signals without elements",
        "test_small_sizes[get_window": "takes windows without elements",
    },
}


def skip_what_needs_newer_releases(items):
    """Skip the rows of `SINCE` under older releases."""
    for (package, least), rows in SINCE.items():
        installed = importlib.metadata.version(package)
        if tuple(int(part) for part in installed.split(".")[:2]) >= least:
            continue
        for item in items:
            for start, change in rows.items():
                if item.name.startswith(start):
                    reason = f"{package} {'.'.join(map(str, least))} {change}; {installed} is installed"
                    item.add_marker(pytest.mark.skip(reason=reason))
