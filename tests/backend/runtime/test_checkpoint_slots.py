"""Checkpoint slots: which carries they hold, and how often trips are made again."""

from functools import cache

import numpy as np
import pytest

from anyshape.backend.runtime.rows import NO_TRIP, FilledSlots, Slots, from_the_last, stride


@cache
def fewest(trips, slots):
    """The least number of trips made again, where one slot holds the first carries."""
    if trips == 1:
        return 0
    if slots == 1:
        return trips * (trips - 1) // 2
    return min(m + fewest(m, slots) + fewest(trips - m, slots - 1) for m in range(1, trips))


def carries(trip, changes):
    """The one carry before a trip: its elements tell the trip, and perhaps its size."""
    return [np.full(1 + trip if changes else 2, float(trip))]


def go_back(trips, slots, changes):
    """The number of trips made again; each trip has its carries, in the right order, in no more than the slots."""
    advanced, order, count = [], [], len(slots.free) + len(slots.held)

    def advance(trip, before):
        np.testing.assert_array_equal(before[0], carries(trip, changes)[0])
        advanced.append(trip)
        return carries(trip + 1, changes)

    for trip, before in from_the_last(trips, slots, advance):
        np.testing.assert_array_equal(before[0], carries(trip, changes)[0])
        order.append(trip)
        assert len(slots.held) + len(slots.free) == count
    assert order == [*range(trips)][::-1]
    return len(advanced)


@pytest.mark.parametrize("changes", [False, True], ids=["one size", "sizes that change"])
@pytest.mark.parametrize("count", [*range(1, 9), 20])
def test_trips_of_an_unknown_number(count, changes):
    for trips in range(31):
        slots = Slots(count, carries(0, changes), [changes])
        for trip in range(trips):
            slots.offer(trip, *carries(trip, changes))
        held, *parts = slots.results()
        assert sorted(held[held != NO_TRIP])[:1] == [0][:trips]
        assert np.sum(held != NO_TRIP) == min(trips, count)
        again = go_back(trips, FilledSlots(held, parts, [changes], True), changes)
        if trips:
            assert again <= 1.1 * fewest(trips, count) + 1  # the first run is counted apart


@pytest.mark.parametrize("count", range(1, 9))
def test_trips_of_a_known_number_are_made_again_as_seldom_as_possible(count):
    for trips in range(1, 31):
        held = np.full(count, NO_TRIP)
        held[0] = 0
        slots = FilledSlots(held, [np.zeros((count, 2))], [False], False)
        assert go_back(trips, slots, False) == fewest(trips, count)


def test_the_limit_of_a_thousand_trips():
    """With 32 slots the body runs 3.463 times as often, with the first run and the one for each slope."""
    slots = Slots(32, carries(0, False), [False])
    for trip in range(1000):
        slots.offer(trip, *carries(trip, False))
    held, *parts = slots.results()
    assert go_back(1000, FilledSlots(held, parts, [False], True), False) == 1463


def test_slots_that_are_not_owned_stay_as_they_are():
    slots = Slots(3, carries(0, False), [False])
    for trip in range(20):
        slots.offer(trip, *carries(trip, False))
    held, store = slots.results()
    before = store.copy()
    go_back(20, FilledSlots(held, [store], [False], False), False)
    np.testing.assert_array_equal(store, before)


def test_a_stride_is_shorter_than_the_trips():
    for slots in range(2, 12):
        assert all(1 <= stride(trips, slots) < trips for trips in range(2, 200))
