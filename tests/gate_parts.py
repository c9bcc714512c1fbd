"""Tests with many alike rows: the gate tries one row in six, the slow set all of them.

They are the tests that took a second and more of a gate, for programs, sizes and functions that differ in little.
"""

ONE_IN = 6
WIDE = {
    "autodiff/test_cotangents": ("test_derivatives_of_assignments_are_those_of_numpy",),
    "autodiff/test_dynamic_size_derivatives": ("test_repeated_derivatives_of_broadcast_run_time_sizes",),
    "autodiff/test_elementwise_derivatives": ("test_clip_orders_complex_numbers_and_nans_as_numpy_does",),
    "autodiff/test_equal_values": (
        "test_limits_in_both_modes_and_batches",
        "test_values_that_no_turn_changes_with_slopes_that_one_does",
        "test_vectors_that_a_branch_or_a_body_reads",
    ),
    "autodiff/test_far_slopes": ("test_slopes_keep_their_digits_far_out",),
    "autodiff/test_kinks": (
        "test_forward_mode",
        "test_reverse_mode",
        "test_second_order_agrees_in_both_modes",
    ),
    "autodiff/test_reduction_derivatives": (
        "test_a_spread_of_nothing_has_derivative_zero",
        "test_nan_stays_visible_in_its_line_alone",
    ),
    "autodiff/test_shift_invariance": ("test_gradients_equal_the_plain_rule",),
    "autodiff/test_softmax_tangent": ("test_derivatives_agree_with_complex_steps_and_differences",),
    "autodiff/test_structural_zeros": (
        "test_carries_that_no_result_reads_have_no_cotangent",
        "test_constants_that_a_choice_gives_have_no_tangent_at_a_pole",
        "test_left_out_elements_have_derivative_0",
    ),
    "autodiff/test_subgraph_derivatives": (
        "test_batches_equal_a_loop_over_examples",
        "test_derivatives_equal_the_derivatives_of_the_branch",
    ),
    "autodiff/test_value_flow": ("test_a_linear_loop_is_transposed",),
    "backend/compiler/codegen/test_chunks": (
        "test_chunks_give_the_bits_of_one_function",
        "test_loops_in_chunks_have_the_bits_of_one_function",
    ),
    "backend/compiler/codegen/test_tile_operands": ("test_collapsed_axes",),
    "backend/compiler/codegen/test_tile_sweep": ("test_layouts_and_boundaries",),
    "backend/compiler/codegen/test_tiles": ("test_tiled_plans_equal_the_naive_evaluator",),
    "backend/compiler/passes/fusion/test_fuse": ("test_open_groups_keep_few_arrays_alive",),
    "backend/compiler/passes/test_loop_elements": ("test_blocks_of_any_length_give_what_trips_give",),
    "backend/compiler/passes/test_metadata_contract": ("test_passes_on_promised_sizes",),
    "backend/compiler/test_peak_memory": (
        "test_the_bound_holds_for_values_and_gradients",
        "test_the_bound_holds_where_few_rows_fill_a_tile",
    ),
    "backend/native/test_kernels": (
        "test_a_compiled_program_gives_what_numpy_gives_at_every_size",
        "test_complex_numbers",
    ),
    "backend/native/test_listing": ("test_the_text_to_read_computes_the_same",),
    "backend/native/test_nests": (
        "test_a_nest_gives_what_numpy_gives",
        "test_arithmetic_has_the_bits_of_numpy",
        "test_large_products_are_those_of_numpy",
    ),
    "backend/runtime/test_blas": ("test_large_and_small_matrices_agree_from_one_trace",),
    "debug/test_transforms": (
        "test_each_example_of_a_batch_prints_what_it_prints_alone",
        "test_each_statement_prints_once_in_order",
    ),
    "graph/ir/test_validate": ("test_graphs_are_legal_after_every_transform_and_pass",),
    "graph/signature/test_dim_equations": ("test_hard_systems_take_bounded_time",),
    "graph/signature/test_solve_binding": ("test_a_strictly_increasing_size_is_inverted",),
    "inspect/test_cost": ("test_formulas_equal_counts_on_arrays_at_every_size",),
    "laws/test_sample_sweep": ("test_programs_run_in_a_fresh_process",),
    "laws/test_special_values": ("test_both_modes_agree_at_special_values",),
    "laws/test_unused_errors": ("test_unused_results_are_refused_in_transforms",),
    "laws/test_unused_loops": (
        "test_transformed_loops_and_branches_refuse_though_unused",
        "test_unused_loops_and_branches_refuse_like_used_ones",
    ),
    "laws/test_wrong_kinds": ("test_a_sample_of_wrong_kinds",),
    "numpy/analysis/test_covariance": ("test_weights_at_several_sizes_from_one_trace",),
    "numpy/analysis/test_quantile_methods": ("test_each_method_at_several_sizes_from_one_trace",),
    "numpy/arrays/test_iteration": ("test_programs_over_rows_are_differentiated",),
    "numpy/arrays/test_ufunc_methods": ("test_each_method_of_each_ufunc_is_that_of_numpy_or_refused",),
    "numpy/arrays/test_view_states": (
        "test_patterns_have_derivatives_of_two_orders",
        "test_patterns_in_a_batch",
    ),
    "numpy/arrays/test_writes": ("test_random_programs_give_what_numpy_gives",),
    "numpy/linalg/test_hermitian": ("test_tangents_count_as_their_part",),
    "numpy/operands/test_array_likes": ("test_programs_of_lists_are_differentiated",),
    "numpy/operands/test_python_ints": ("test_every_operation_answers_as_numpy_does",),
    "numpy/sizes/test_symdim": ("test_a_size_in_a_program_acts_on_arrays_as_an_int_does",),
    "numpy/sizes/test_values_of_sizes": ("test_a_number_made_of_sizes_is_one_for_python",),
    "numpy/test_closed_over_generators": (
        "test_a_random_state_as_argument",
        "test_one_trace_draws_as_numpy_at_every_size",
    ),
    "numpy/test_dynamic": (
        "test_examples_of_one_size_are_batched_at_any_depth",
        "test_windows_of_one_size_may_start_apart_in_each_example",
    ),
    "numpy/test_indexing": ("test_slice_bounds_equal_pythons_at_every_size_without_a_guard",),
    "numpy/test_iteration": ("test_iteration_over_a_symbolic_axis",),
    "numpy/test_orders": ("test_elements_are_read_as_they_lie_in_memory",),
    "numpy/test_reductions": ("test_every_option_equals_numpy",),
    "numpy/test_runtime_slice_bounds": ("test_bounds_of_any_sign_are_those_of_numpy",),
    "program/test_loop_slots": ("test_a_gradient_of_a_loop_without_a_bound_of_its_trips_fits",),
    "program/test_saved_rules": ("test_a_program_has_its_derivatives_behind_a_file_and_a_pickle",),
    "program/test_tiers": ("test_a_sample_of_each_family_gives_the_same_in_both_tiers",),
    "scipy/fft/test_fft": ("test_real_transforms_are_scipys_at_every_size",),
    "scipy/integrate/test_quadrature": ("test_quad_and_its_derivative_by_a_parameter",),
    "scipy/interpolate/test_interpolate": ("test_values_at_several_sizes_from_one_trace",),
    "scipy/linalg/test_further_factors": ("test_derivatives_at_several_sizes",),
    "scipy/linalg/test_linalg": ("test_values_and_derivatives_at_several_sizes",),
    "scipy/linalg/test_updates": ("test_factors_and_their_signs_are_those_of_scipy",),
    "scipy/ndimage/test_morphology": ("test_grey_images_are_scipys_at_many_sizes",),
    "scipy/signal/test_samples": ("test_derivatives_and_batches",),
    "scipy/spatial/test_transform": ("test_one_rotation_and_many_are_scipys",),
    "scipy/special/test_edges": ("test_derivatives_at_the_edge",),
    "scipy/special/test_ufuncs": ("test_derivatives_of_two_orders_agree_with_differences",),
    "scipy/stats/test_families": (
        "test_further_shapes_of_extremes_and_bounded_families",
        "test_the_density_is_the_derivative_of_the_distribution_function",
        "test_values_are_scipys_inside_and_outside_of_the_support",
    ),
    "scipy/stats/test_functions": (
        "test_derivatives_and_batches",
        "test_values_along_each_axis_at_many_sizes_from_one_trace",
    ),
    "scipy/stats/test_samples": (
        "test_derivatives_and_batches",
        "test_functions_of_two_vectors",
    ),
    "scipy/stats/test_sampling": ("test_axes_and_policies_are_those_of_scipy",),
    "tracing/source/test_generated_programs": ("test_what_one_name_writes_others_see",),
    "tracing/source/test_kept_loops": (
        "test_a_gradient_has_the_slopes_of_differences",
        "test_a_program_does_what_python_does",
    ),
    "tracing/test_row_maps": ("test_one_trace_serves_every_number_of_vectors",),
    "transforms/arguments/test_specs": ("test_long_and_deep_texts_take_bounded_time",),
    "transforms/arguments/test_static_args": ("test_transforms_take_settings",),
    "transforms/control_flow/test_associative_scan": ("test_derivatives_at_every_length",),
    "transforms/control_flow/test_conditionals": (
        "test_derivatives_of_batches",
        "test_programs_and_their_gradients",
    ),
    "transforms/control_flow/test_field_cases": ("test_values_derivatives_and_batches",),
    "transforms/control_flow/test_loop_batches": (
        "test_batches_of_batches_equal_loops_in_python",
        "test_operands_may_lack_either_axis",
    ),
    "transforms/control_flow/test_loop_checkpoints": (
        "test_a_scan_of_any_length",
        "test_derivatives_are_those_of_the_loop_without_checkpoints",
        "test_gradients_with_slots_are_those_without",
    ),
    "transforms/control_flow/test_loop_derivatives": (
        "test_batches",
        "test_second_derivatives",
        "test_values_and_derivatives",
        "test_weights_have_the_gradient_of_the_unrolled_loop",
    ),
    "transforms/control_flow/test_nested_loops": ("test_results_without_trips_have_the_sizes_of_their_operands",),
    "transforms/control_flow/test_writes_in_trips": ("test_cotangents_of_keys_of_slices_and_indices",),
    "transforms/control_flow/test_zeros_by_construction": ("test_a_pole_that_does_not_count",),
    "transforms/test_check_grads": ("test_correct_derivatives_pass",),
    "transforms/test_checkpoint": ("test_every_transform_gives_the_same_with_and_without_checkpoints",),
    "transforms/test_export": ("test_inside_a_trace_a_program_accepts_the_sizes_that_a_call_accepts",),
    "transforms/test_hidden_errors": ("test_a_hidden_error_is_no_other_result",),
    "transforms/test_jit_fuzz": ("test_random_programs_transformed_declared_and_shared",),
    "transforms/test_objects": ("test_a_call_gives_what_the_objects_hold_then",),
    "transforms/test_sharing": ("test_each_function_gives_its_own_result",),
    "transforms/test_written_primals": (
        "test_derivatives_are_checked_against_differences",
        "test_derivatives_are_those_of_the_function_of_a_copy",
    ),
}


def is_wide(definition):
    """Return whether a test is in the table."""
    path = definition.nodeid.partition("::")[0].removeprefix("tests/").removesuffix(".py")
    return definition.originalname in WIDE.get(path, ())
