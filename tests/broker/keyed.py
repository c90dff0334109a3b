"""A broker with keys, for tests: nodes of each role, invited clients, and a thief with a program of his own."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from broker import keys, streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings, Role
from common.bus.connection import _OrderedClient
from common.bus.credentials import NodeKey
from common.bus.permissions import inbox
from common.life.node import NodeContext
from common.settings import Invite, NodeSettings
from tests.background import Background, connected, started

NODE = """
import sys
from broker import watch
from broker.service import main
from broker.settings import BrokerSettings
from common.settings import BusSettings, NodeSettings
watch.EVERY_SECONDS, watch.ROOM_BYTES = 0.2, 4 * 2**20
bus = BusSettings(url=f"nats://127.0.0.1:{sys.argv[1]}")
sys.exit(main(BrokerSettings(port=int(sys.argv[1]), store=sys.argv[2]), NodeSettings(run="r", bus=bus)))
"""
"""A broker of run `r`, as a program: its arguments are a port and a store. Without keys."""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

RUN, OTHER = "demo", "other"
GUESTS = ("ada", "bob")


def covers(pattern: str, subject: str) -> bool:
    """NATS' own rule: `*` is one part, `>` the rest."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^.]+").replace(">", ".+"), subject) is not None


def keeping(bus: Bus) -> NodeContext:
    """A broker node that keeps the run of this bus."""
    ctx = NodeContext("broker", NodeSettings(run=bus.run))
    ctx.bus, ctx.state = bus, "running"
    return ctx


def keyed(folder: Path) -> Server:
    server = Server(BrokerSettings(port=0, store=str(folder / "store")))
    for run in (RUN, OTHER):
        keys.make(server.store, run)
    for guest in GUESTS:
        (folder / guest).write_text(Invite(RUN, "", guest, keys.invite(server.store, RUN, [Role.CLIENT], guest)).text())
    return server


async def with_streams(server: Server) -> None:
    for run in (RUN, OTHER):
        async with as_role(server, "admin", run) as bus:
            await streams.ensure(bus)


@contextmanager
def served(background: Background, folder: Path) -> Iterator[Server]:
    """A keyed broker that runs in the shared thread, with the streams of both runs."""
    with background.opened(started(keyed(folder))) as server:
        background.run(with_streams(server))
        yield server


@asynccontextmanager
async def as_role(server: Server, role: str, run: str = RUN) -> AsyncIterator[Bus]:
    """A node with its role's key; an invited guest is a client."""
    settings = BusSettings(url=server.bus.url, key=server.bus.key)
    if role in GUESTS:
        settings = BusSettings(url=server.bus.url, invite=(server.store.parent / role).read_text())
    async with connected(settings, run, role=Role.CLIENT if role in GUESTS else role) as bus:
        yield bus


@asynccontextmanager
async def thief(server: Server, role: str) -> AsyncIterator[Thief]:
    """Somebody with a role's key and a program of his own."""
    key, said = NodeKey((keys.folder_of(server.store, RUN) / f"{role}.nk").read_text().strip()), list[str]()
    client = _OrderedClient(key)

    async def hear(error: Exception) -> None:
        said.append(str(error))

    own = {"signature_cb": key.sign, "inbox_prefix": inbox(role, key.public)}
    await client.connect(server.bus.url, error_cb=hear, allow_reconnect=False, **own)
    yield Thief(client, said, key.public)
    await client.close()


@dataclass
class Thief:
    client: Client
    said: list[str]
    key: str
    """The public key."""

    async def may(self, action: str) -> bool:
        """Whether the broker lets him do `pub SUBJECT`, or `sub SUBJECT [GROUP]`."""
        kind, subject, *group = action.split()
        self.said.clear()
        if kind == "pub":
            await self.client.publish(subject, b"\xc1")
        else:
            subscription = await self.client.subscribe(subject, queue="".join(group))
        await self.client.flush()
        refused = [line for line in self.said if "permissions violation" in line]
        if kind == "sub" and not refused:
            await subscription.unsubscribe()
        return not refused
