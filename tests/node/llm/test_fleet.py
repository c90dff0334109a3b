"""Which server is asked next: the circuit breaker and the balance, without servers or clocks."""

import pytest

from node.llm.servers import LONGEST_REST, Fleet, Place


def fleet_of(*urls: str) -> Fleet:
    return Fleet(urls, failures=3, rest=4.0)


def picked(fleet: Fleet, now: float) -> Place:
    place = fleet.pick(now)
    assert place is not None
    return place


def fails(fleet: Fleet, place: Place, now: float) -> bool:
    """A request that was picked before ends with a failure."""
    rests = fleet.failed(place, now, f"{place.url} is down")
    fleet.ended(place)
    return rests


def test_the_least_busy_server_is_asked() -> None:
    fleet = fleet_of("a", "b")
    first, second, third = (picked(fleet, 0.0) for _ in range(3))
    assert [first.url, second.url, third.url] == ["a", "b", "a"]
    fleet.ended(second)
    assert picked(fleet, 0.0).url == "b"


def test_servers_without_anything_to_do_take_turns() -> None:
    fleet = fleet_of("a", "b", "c")
    turns = []
    for _ in range(6):
        turns.append(picked(fleet, 0.0))
        fleet.ended(turns[-1])
    assert [place.url for place in turns] == ["a", "b", "c"] * 2


def test_a_server_that_failed_last_is_asked_after_those_that_are_well() -> None:
    fleet = fleet_of("a", "b")
    assert not fails(fleet, picked(fleet, 0.0), 0.0)
    assert [picked(fleet, 0.0).url for _ in range(3)] == ["b", "b", "b"]
    assert fleet.has_healthy_server(0.0) and fleet.problem == "" and fleet.words == "a is down"


def test_after_failures_in_a_row_a_server_rests_twice_as_long_each_time() -> None:
    fleet = fleet_of("a")
    now, rests = 0.0, []
    for _ in range(2):
        assert not fails(fleet, picked(fleet, now), now)
    for _ in range(6):
        assert fails(fleet, picked(fleet, now), now)
        assert fleet.pick(now + 0.9 * fleet.wait(now)) is None
        rests.append(fleet.wait(now))
        now += fleet.wait(now)
    assert rests == [4.0, 8.0, 16.0, 32.0, LONGEST_REST, LONGEST_REST] and fleet.problem == "a is down"


def test_one_request_finds_out_whether_a_server_is_well_again() -> None:
    fleet = fleet_of("a")
    for _ in range(3):
        fails(fleet, picked(fleet, 0.0), 0.0)
    trial = picked(fleet, 4.0)
    assert fleet.pick(4.0) is None
    fleet.succeeded(trial)
    fleet.ended(trial)
    assert [picked(fleet, 4.0).url for _ in range(2)] == ["a", "a"] and fleet.problem == ""


def test_a_trial_that_is_given_up_leaves_room_for_another() -> None:
    fleet = fleet_of("a")
    for _ in range(3):
        fails(fleet, picked(fleet, 0.0), 0.0)
    fleet.ended(picked(fleet, 4.0))
    assert fleet.pick(4.0) is not None


def test_a_server_that_asks_to_wait_is_left_alone_so_long_and_has_not_failed() -> None:
    fleet = fleet_of("a", "b")
    place = picked(fleet, 0.0)
    fleet.asked_to_wait(place, 0.0, 7.0, "a is busy")
    fleet.ended(place)
    assert [picked(fleet, 6.9).url for _ in range(2)] == ["b", "b"] and place.failures == 0
    assert picked(fleet, 7.0).url == "a"
    assert fleet.wait(0.0) == pytest.approx(0.0)
