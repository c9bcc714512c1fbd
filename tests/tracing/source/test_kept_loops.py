"""Loops of functions that are read: each program beside plain Python at several sizes, from one jitted function."""

import numpy as np
import pytest

import anyshape
from anyshape import config, grad, jit, jvp, vmap
from anyshape.errors import ArgumentError, SizeMismatchError
from tests.tracing.source import (  # noqa: F401  # which add to the table
    comprehension_programs,
    generator_programs,
    iterator_programs,
    list_programs,
    object_programs,
    sequence_programs,
    trying_programs,
    window_programs,
)
from tests.tracing.source.loop_programs import PROGRAMS

VECTORS = ([1.0, 2.0, 3.0, 4.0, 5.0, 0.5, 7.0], [], [3.0], [1.0, 2.0], [2.0, 9.0])
# programs that are run as they are written, each with a part of the reason
AS_WRITTEN = {
    "swap_third": "another name", "swap_args": "binds its name to another", "view_alias": "another name",
    "best_alias": "two names", "carry_alias": "two names", "strs": "another kind",
    "long_concrete": "no traced value", "concrete_int": "no traced value",
    "alias_list": "members",
    "concat_aliased": "other parts", "concat_alias_kept": "that another one holds",
    "concat_in_if": "in each branch", "member_concat": "other parts", "appends_to_iterated": "that it runs over",
    "appends_to_iterated_around": "that it runs over", "append_in_function": "members",
    "items_of_dict_of_lists": "members", "tally_held": "held elsewhere",
    "appended_then_written": "written to later", "key_in_branch": "members", "list_reset": "another kind",
    "zip_star": "",
    "tried_slices": "bool() needs", "tried_items": "may raise", "raised_and_handled": "caught",
    "asserted_and_handled": "caught", "keys_tried": "a Python int needs",
    "loop_over_a_generator": "a generator", "counters_of_functions": "outside of a function",
    "member_set": "type set",
    "appended_while_written": "which an iteration writes", "appended_after_in_place": "which an iteration writes",
    "view_appended": "which an iteration writes", "held_before_and_written": "written to later",
    "rows_appended_then_written": "written to later", "rebound_then_appended": "two names",
    "member_appended": "which an iteration writes", "list_appended_again": "",
    "kept_list_appended_then_grown": "that another one holds", "length_by_another_name": "members",
    "lists_swapped": "another object", "while_empty": "",
    "item_of_list_changed": "is changed", "list_of_a_carry": "",

    "dict_in_branches_of_a_nest": "",
    "guard_binds_what_is_read": "matches patterns", "matched_class": "matches patterns",
    "zip_taken_twice": "used later", "enumerate_taken_twice": "used later", "zip_after_next": "",
    "enumerate_taken_in_a_loop": "made outside of it", "reversed_taken_after_break": "used later",
    "enumerate_taken_in_a_branch": "used later", "zip_listed_twice": "used later", "map_taken_twice": "used later",
    "accumulated_taken_twice": "used later", "accumulated": "", "accumulated_by_function": "",

    "generator_left": "", "generator_of_what_is_written": "is changed while",
    "generator_of_a_variable": "is changed while", "generator_of_an_attribute": "a generator",
    "generator_of_an_item_put_back": "is changed while", "generator_of_views": "is changed while",
    "filter_taken_twice": "used later", "taken_while_twice": "used later", "deque_returned": "a result of its own",
    "deque_of_two_names": "members",
    "generator_of_a_list_that_grows": "is changed while", "index_error_past_value_errors": "",
    "counts_of_values": "is not a key",

    "zip_with_what_ends_late": "may end late", "zip_with_a_condition_that_ends_late": "", "counter_of_integers": "",
    "table_of_lists": "is written to", "choice_with_effects": "if is_large(v) and",

    "array_of_a_table_is_written_to": "", "sums_of_arrays_from_numbers_in_a_loop": "",
    "str_attr": "", "alias_attr_array": "two names",
    "alias_attr_array2": "another name", "nested_attr": "", "nested_attr2": "",
    "written_argument": "", "rebound_after_writes": "", "written_next_time": "",
    "rebind_in_if": "a name stands for", "maxl": "", "rec": "", "rec2": "", "filled": "",
}  # fmt: skip


def outcome(function, x):
    """Return the results of a function, or its error."""
    try:
        result = function(x)
    except Exception as error:
        return error
    return [np.asarray(y) for y in (result if isinstance(result, (list, tuple)) else [result])]


def assert_equal(got, expected):
    if isinstance(expected, Exception):
        is_empty = isinstance(got, SizeMismatchError) and isinstance(expected, IndexError)
        assert is_empty or (type(got), str(got)) == (type(expected), str(expected))
        return
    assert not isinstance(got, Exception), got
    assert len(got) == len(expected)
    for y, z in zip(got, expected, strict=True):
        assert (y.dtype, y.shape) == (z.dtype, z.shape)
        np.testing.assert_allclose(y, z, rtol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_python_does(name):
    function = PROGRAMS[name]
    traced = jit(function)
    for values in VECTORS:
        mine, plain = np.array(values), np.array(values)
        assert_equal(outcome(traced, mine), outcome(function, plain))
        np.testing.assert_array_equal(mine, plain)
    if name not in AS_WRITTEN:
        assert traced.cache_info().traces <= 2, traced.explain()  # one of them without iterations, at most
        assert not traced.explain().as_written
    elif AS_WRITTEN[name]:
        assert any(AS_WRITTEN[name] in line for line in traced.explain().as_written)


def test_a_table_of_lists_may_have_many_elements():
    x = np.arange(33.0)
    np.testing.assert_array_equal(jit(PROGRAMS["table_of_lists"])(x), PROGRAMS["table_of_lists"](x))


@pytest.mark.parametrize("name", ["item_that_is_not_there", "inverses_of_zero"])
def test_an_error_of_python_is_one_of_its_class(name):
    function = getattr(comprehension_programs, name)
    for n in (4, 20):
        got, want = (outcome(f, np.arange(float(n))) for f in (jit(function), function))
        assert isinstance(got, type(want)) and "trip" in str(got)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in AS_WRITTEN])
def test_a_gradient_has_the_slopes_of_differences(name):
    function, x = PROGRAMS[name], np.array([1.5, 0.3, 3.6, 2.2])

    def total(x):
        leaves = [y for y in anyshape.tree_leaves(function(x)) if np.result_type(y).kind == "f"]
        weights = [(k + 1) * np.arange(1.0, np.size(y) + 1).reshape(np.shape(y)) for k, y in enumerate(leaves)]
        return 0.0 * np.sum(x) + sum([np.sum(y * weight) for y, weight in zip(leaves, weights, strict=True)])

    steps = np.eye(4)
    slopes = [(total(x + 1e-6 * step) - total(x - 1e-6 * step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(grad(total)(x), slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose([jvp(total, (x,), (step,))[1] for step in steps], slopes, rtol=1e-6, atol=1e-6)


def test_examples_of_a_batch_make_iterations_of_their_own():
    def halvings(x):
        k = 0
        while x > 1:
            x, k = x / 2, k + 1
        return x, k

    xs = np.array([0.5, 3.0, 100.0])
    for got, expected in zip(vmap(halvings)(xs), zip(*map(halvings, xs), strict=True), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_loop_of_many_paths_becomes_choices():
    def signs(x):
        s = 0.0
        s = s + x[0] if x[0] > 0 else s - x[0]
        if x[1] > 0:
            s *= 2
        if x[2] > 0 and x[3] > 0:
            s += 10
        elif x[3] < -1:
            s -= 1
        return s if x[4] > 0 else -s

    traced, rng = jit(signs), np.random.default_rng(0)
    for x in rng.standard_normal((50, 5)):
        assert traced(x) == signs(x)
    assert traced.cache_info().traces <= 11


def loops(x):
    total = 0.0
    for v in x:
        total = total + v
    return total


def test_reading_is_turned_off_by_option_setting_and_mark(monkeypatch):
    marked = anyshape.as_written(lambda x: loops(x))
    for function, traces in ((jit(loops), 1), (jit(loops, read_source="off"), 3)):
        assert [function(np.ones(n)) for n in (1, 2, 3)] == [1, 2, 3]
        assert function.cache_info().traces == traces
    assert marked(np.ones(2)) == 2
    monkeypatch.setattr(config, "read_source", "off")
    function = jit(lambda x: loops(x))
    assert [function(np.ones(n)) for n in (1, 2, 3)] == [1, 2, 3] and function.cache_info().traces == 3
    with pytest.raises(ArgumentError, match="read_source"):
        jit(loops, read_source="never")
    with pytest.raises(ArgumentError, match="read_source"):
        config.read_source = "never"


def test_errors_and_lines_are_of_the_users_function():
    def wrong(x):
        for i in range(x.shape[0]):
            y = x[i] @ x
        return y

    with pytest.raises(Exception) as caught:
        jit(wrong)(np.ones(3))
    names = [entry.name for entry in caught.traceback]
    assert not [name for name in names if name.startswith("__kept")]


def test_a_decision_on_a_jump_out_of_a_loop_has_the_text_of_the_jump():
    def first_above(x, low):
        for _ in range(2):
            for v in x:
                if v > low:
                    return v + low
            x = x + 1
        return low

    traced = jit(first_above, static_argnames="low")
    assert [traced(np.array(x), 1.5) for x in ([2.0, 1.0], [1.0, 0.0], [0.0])] == [3.5, 3.5, 1.5]
    decisions = [
        line.strip() for line in str(traced.explain()).splitlines() if " is True" in line or " is False" in line
    ]
    assert decisions and all(line.startswith("return v + low is ") for line in decisions)


@pytest.mark.parametrize(("count", "step", "is_loop"), [
    (20, lambda x: np.sin(x) * 0.5 + x, False),
    (65, lambda x: np.sin(x) * 0.5 + x, True),
    (20, lambda x: np.sin(x) * 0.5 + x.sum(), True),
    (20, lambda x: np.sin(x) * 0.5 + np.cumsum(x), True),
])  # fmt: skip
def test_few_iterations_over_elements_alone_are_one_pass_over_memory(count, step, is_loop):
    def iterated(x):
        for _ in range(count):
            x = step(x)
        return x

    traced, x = jit(iterated), np.array([0.1, 0.2])
    np.testing.assert_allclose(traced(x), iterated(x), rtol=1e-13)
    reasons = [line for line in traced.explain().as_written if "compute elements alone" in line]
    assert len(reasons) == (not is_loop)


def _counted():
    number = 0.0
    while True:
        number = number + 1
        yield number


def test_a_generator_without_an_end_is_not_run_to_its_end():
    def weighted(x):
        total = 0.0
        for number, value in zip(_counted(), x, strict=False):
            total = total + number * value
        return total

    assert anyshape.jit(weighted)(np.ones(3)) == 6


def over_sets(x):
    sums = [None] * 32
    sums[0] = np.ones_like(x)
    for chosen in range(1, 32):
        sums[chosen], left = np.zeros_like(x), chosen
        while left:
            last = (left & -left).bit_length() - 1
            sums[chosen] = sums[chosen] + sums[chosen ^ (1 << last)] / (x + last + 1.0)
            left &= left - 1
    return sums[31]


def test_a_loop_asks_a_counter_for_what_numbers_of_python_alone_have():
    jitted = jit(over_sets)
    for n in (3, 0, 1):
        np.testing.assert_array_equal(jitted(np.arange(1.0, n + 1)), over_sets(np.arange(1.0, n + 1)))
    assert jitted.cache_info().traces == 1
    with pytest.raises(AttributeError, match="bit_length"):
        jit(lambda x: x.bit_length())(np.ones(2))
