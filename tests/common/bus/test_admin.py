from broker import streams
from common.bus import names
from common.bus.admin import configurations, raised
from common.protocol.messages import encode
from tests.message_values import node_info

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
    assert changed["max_age"] == changed["duplicate_window"] == 10**9
    assert raised(short, long)["max_age"] == 60 * 10**9


def test_streams_are_known_by_name_and_those_of_other_programs_belong_to_no_run() -> None:
    assert set(OURS) == set(names.streams_of("r"))
    assert {names.run_of(name, config["subjects"]) for name, config in OURS.items()} == {"r"}
    for name, subject in (("orders", "orders.>"), ("shop-results", "elsewhere.>"), ("-todo", ".x")):
        assert names.run_of(name, [subject]) == ""
    assert names.run_of("shop-results", ["shop.sales"]) == "shop"
