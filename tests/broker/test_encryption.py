from pathlib import Path

import pytest

from broker import keys, streams
from broker.command import main
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusError, BusSettings
from common.settings import Invite
from tests.authority import HOST, Authority
from tests.background import started
from tests.commands import Called
from tests.waiting import answered

pytestmark = pytest.mark.broker


async def connected(settings: BusSettings) -> Bus:
    return await Bus.connect(settings, run="r", name="n", role="admin", wait=3)


async def test_nodes_and_broker_know_each_other_by_certificates(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    certificate, secret = ours.issue("broker")
    files = {"certificate": certificate, "certificate_key": secret, "client_ca": str(ours.file)}
    settings = BrokerSettings(port=0, store=str(tmp_path / "store"), **files)
    keys.make(settings.store, "r")
    async with started(Server(settings)) as server:
        own = dict(zip(("certificate", "certificate_key"), ours.issue("node"), strict=True))
        known = {"url": server.bus.url, "key": server.bus.key, "ca": str(ours.file), "broker_name": HOST}
        # 1. Keys and certificates of both sides: a run works.
        bus = await connected(BusSettings(**known, **own))
        await streams.ensure(bus)
        await bus.close()
        # 2. Everything else is refused in one line, at once.
        stranger = dict(zip(("certificate", "certificate_key"), theirs.issue("node"), strict=True))
        for wrong, says in (
            ({"url": server.bus.url, "key": server.bus.key}, "no broker at .*; if it encrypts, set .bus. ca"),
            (known, "ask for a certificate of this node"),
            (known | stranger, "ask for a certificate of this node"),
            (known | own | {"ca": str(theirs.file)}, r"does not count: .*\[bus\] ca and \[bus\] broker_name"),
            (known | own | {"broker_name": "other.test"}, "does not count: .*other.test"),
            (known | own | {"ca": "none.pem"}, r"\[bus\] ca: none.pem cannot be read"),
            (known | {"certificate": "none.pem"}, r"\[bus\] certificate: none.pem and its key cannot be used"),
        ):
            with pytest.raises(BusError, match=says):
                await connected(BusSettings(**wrong))
        # 3. A certificate whose time is over is said; one that replaces it is read without a restart.
        ours.issue("broker", days=-1)
        assert await server.take_keys()

        async def refusal() -> str:
            """Why the broker is not reached; empty: it is."""
            try:
                await (await connected(BusSettings(**known, **own))).close()
            except BusError as error:
                return str(error)
            return ""

        await answered(refusal, lambda said: "certificate has expired" in said and "this machine's clock" in said)
        ours.issue("broker")
        assert await server.take_keys()
        await answered(refusal, lambda said: said == "")


async def test_a_node_that_wants_encryption_takes_nothing_else(broker: BusSettings, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    with pytest.raises(BusError, match=r"no encrypted connection to the broker at .* does it encrypt"):
        await connected(BusSettings(url=broker.url, ca=authority.file.read_text()))


def test_an_invite_holds_the_brokers_authority(tmp_path: Path, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path / "ours")
    monkeypatch.setenv("PROOFMESH_CA", str(authority.file))
    line = called(main, "invite", "r", "--store", tmp_path, "--url", "nats://h:1").out
    monkeypatch.delenv("PROOFMESH_CA")
    assert BusSettings(invite=line).ca == Invite.read(line).ca == authority.file.read_text()
