import socket

import pytest

from common.life import node as endpoints
from common.life.metrics import Metrics
from common.life.node import Endpoints, address_for_others, own_address
from common.settings import LifeSettings


async def test_an_address_of_ipv6_is_in_brackets() -> None:
    served = Endpoints(Metrics(), dict, LifeSettings(host="::1"))
    await served.start()
    assert served.address[0] == "::1"
    assert await served.metrics_url("127.0.0.1") == f"http://[::1]:{served.address[1]}/metrics"
    await served.stop()


@pytest.mark.parametrize(("bound", "broker", "own"), [("0.0.0.0", "127.0.0.1", "127.0.0.1"), ("::", "::1", "::1")])
async def test_all_addresses_beside_the_broker_are_the_machines_name(bound: str, broker: str, own: str) -> None:
    assert await own_address(broker, socket.AF_INET6 if ":" in bound else socket.AF_INET) == own
    assert await address_for_others(bound, broker) == socket.gethostname()


async def test_all_addresses_are_the_one_on_the_way_to_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def way(host: str, family: socket.AddressFamily) -> str:
        asked.append((host, family))
        return {socket.AF_INET: "192.0.2.7", socket.AF_INET6: "2001:db8::7"}[family]

    monkeypatch.setattr(endpoints, "own_address", way)
    served = Endpoints(Metrics(), dict, LifeSettings())
    for bound, shown in (("0.0.0.0", "http://192.0.2.7:9101/metrics"), ("::", "http://[2001:db8::7]:9101/metrics")):
        served.address = (bound, 9101)
        assert await served.metrics_url("broker.example") == shown
    assert asked == [("broker.example", socket.AF_INET), ("broker.example", socket.AF_INET6)]


async def test_without_a_way_to_the_broker_it_is_the_machines_name_and_a_chosen_address_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_way(host: str, family: socket.AddressFamily) -> str:
        return ""

    assert await own_address("::1", socket.AF_INET) == ""
    monkeypatch.setattr(endpoints, "own_address", no_way)
    assert await address_for_others("0.0.0.0", "broker.example") == socket.gethostname()
    assert await address_for_others("127.0.0.1", "broker.example") == "127.0.0.1"
