"""What the bus decides without a broker: how long it waits, how often it tries, and the settings of streams."""

from collections.abc import Iterator
from unittest.mock import AsyncMock

import pytest
import stamina

from broker import streams
from common.bus import BusError, Unanswered, names, persistently
from common.bus.admin import configurations, raised
from common.bus.asking import FIRST, LONGEST, RetryDelay
from common.bus.connection import RECONNECT_LONGEST, RETRY_AFTER_BOUNDS, ServiceTime, reconnect_delay
from common.protocol.messages import encode
from tests.message_values import node_info


def test_unanswered_requests_wait_twice_as_long_each_time_up_to_a_limit() -> None:
    delay = RetryDelay()
    pauses = [delay.after(None, 0.5) for _ in range(5_000)]
    assert pauses[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert pauses[11] == pauses[-1] == LONGEST, "many failures do not overflow"
    assert reconnect_delay(100_000, 1.0) == RECONNECT_LONGEST


def test_busy_requests_wait_about_as_long_as_they_were_told() -> None:
    delay = RetryDelay()
    assert delay.after(0.4, 0.5) == 0.4 < delay.after(0.4, 0.5)
    told = [RetryDelay().after(*asked) for asked in ((100.0, 0.5), (-1.0, 0.5), (1.0, 0.0), (1.0, 1.0))]
    assert told == [LONGEST, 0.0, 0.5, 1.5]


def test_a_server_says_when_a_slot_will_be_free() -> None:
    time = ServiceTime(initial=1.0)
    assert time.retry_after(4) == 0.25
    for _ in range(100):
        time.observe(8.0)
    assert 1.9 < time.retry_after(4) <= 2.0
    assert tuple(ServiceTime(seconds).retry_after(1) for seconds in (0.0, 1000.0)) == RETRY_AFTER_BOUNDS


@pytest.fixture(autouse=True)
def without_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=50):
        yield


def sender(error: Exception) -> AsyncMock:
    """An operation that fails thirty times, then succeeds."""
    return AsyncMock(side_effect=[*[error] * 30, "sent"])


async def test_it_is_tried_until_it_succeeds_or_nobody_waits_or_another_error_comes() -> None:
    send = sender(Unanswered("no broker"))
    assert await persistently(send, "not sent yet", subject="x") == "sent" and send.await_count == 31
    send = sender(Unanswered("no broker"))
    with pytest.raises(Unanswered, match="no broker"):
        await persistently(send, "not sent yet", until=lambda: send.await_count == 4)
    assert send.await_count == 4
    send = sender(ValueError("nonsense"))
    with pytest.raises(ValueError, match="nonsense"):
        await persistently(send, "not sent yet")
    assert send.await_count == 1


async def test_it_ends_after_so_many_tries_with_the_last_error() -> None:
    stamina.set_testing(False)
    send = sender(Unanswered("no broker"))
    with pytest.raises(BusError):
        await persistently(send, "not sent yet", tries=2)
    assert send.await_count == 2


OURS = configurations(streams.run_spec("r"))


def test_what_an_operator_has_raised_or_added_stays_and_what_a_run_needs_is_raised() -> None:
    wanted = OURS["r-todo"]
    by_hand = {"num_replicas": 3, "max_bytes": 2**40, "max_msg_size": -1, "placement": {"tags": ["fast"]}, "max_age": 0}
    current = {**wanted, **by_hand, "description": "ours", "duplicate_window": 10 * wanted["duplicate_window"]}
    assert raised(current, wanted) == current
    wanted = OURS["r-results"]
    assert raised({**wanted, "max_bytes": 1, "num_replicas": 3}, wanted) == {**wanted, "num_replicas": 3}
    assert raised({**wanted, "max_bytes": -1}, wanted)["max_bytes"] == -1, "no limit is the largest"
    assert raised({**wanted, "subjects": ["r.old"]}, wanted)["subjects"] == wanted["subjects"]
    leases = raised({"max_ack_pending": 10**6, "ack_wait": 5}, {"max_ack_pending": 100, "ack_wait": 7})
    assert leases == {"max_ack_pending": 10**6, "ack_wait": 7}


def test_the_registry_has_room_for_a_large_mesh_before_it_grows() -> None:
    entry = node_info("lean-proxy-host-1234-053aaab1be1c0ef2", problems={"lean": "x" * 300})
    assert OURS["KV_r-nodes"]["max_bytes"] > 5_000 * len(encode(entry))


def test_entries_of_the_registry_expire_when_its_nodes_expect_it() -> None:
    short, long = (configurations(streams.run_spec("r", node_ttl=ttl))["KV_r-nodes"] for ttl in (1.0, 60.0))
    changed = raised(long, short)
    assert changed["max_age"] == changed["duplicate_window"] == 10**9 and raised(short, long)["max_age"] == 60 * 10**9


def test_streams_are_known_by_name_and_those_of_other_programs_belong_to_no_run() -> None:
    assert set(OURS) == set(names.streams_of("r"))
    assert {names.run_of(name, config["subjects"]) for name, config in OURS.items()} == {"r"}
    for name, subject in (("orders", "orders.>"), ("shop-results", "elsewhere.>"), ("-todo", ".x")):
        assert names.run_of(name, [subject]) == ""
    assert names.run_of("shop-results", ["shop.sales"]) == "shop"
