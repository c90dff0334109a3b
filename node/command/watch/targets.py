"""`proofmesh targets`: the addresses of a mesh's `/metrics`, for Prometheus' service discovery.

    proofmesh targets                       print them once, as JSON
    proofmesh targets --file targets.json   keep a file up to date until Ctrl-C, for `file_sd_configs`
    proofmesh targets --port 9099           serve them until Ctrl-C, for `http_sd_configs`; [node] host, token and
                                            certificate say who may read them

Each target has the labels `run`, `role` and `instance`. An instance is a place, such as `prover-first-2` for the second
prover on the machine `first`: a node that starts again takes a free place, so restarts add no series.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from common.config import MeshOptions
from common.limits import Port, Positive
from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say
from node.command.status import registered

if TYPE_CHECKING:
    from aiohttp import web

    from common.bus import Bus
    from common.protocol.messages import NodeInfo
    from common.settings import NodeSettings

DRAIN_SECONDS = 2.0
"""Most seconds for open requests at the end."""

NODE_LABEL = "__meta_proofmesh_node"
"""Holds the node's id. Prometheus drops labels of this form, unless its configuration copies them."""


@dataclasses.dataclass
class TargetsSettings(MeshOptions):
    """List the addresses of a mesh's metrics."""

    file: Path | None = None
    """File that is written now and whenever nodes come or go."""

    port: Port | None = None
    """Port of a server that lists them at /targets; 0 takes a free one and prints it."""

    every: Positive = 5
    """Seconds between two looks at the registry."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(TargetsSettings, list(argv), _targets, prog="proofmesh targets", description=__doc__, log="warning")


async def _targets(settings: TargetsSettings) -> int:
    from common.bus import Bus, BusError, Role
    from common.life.waiting import unless_stopped

    # 1. Which mesh.
    node = settings.mesh()
    # 2. Once.
    if settings.file is None and settings.port is None:
        try:
            nodes = await registered(node, settings.wait)
        except BusError as error:
            say(f"proofmesh targets: {error}", file=sys.stderr)
            return Exit.UNAVAILABLE
        print(as_json(groups(node.run, nodes, {})))
        return Exit.DONE if nodes else Exit.FAILED
    # 3. Until it is stopped.
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    found = Found(settings.file)
    async with AsyncExitStack() as stack:
        if settings.port is not None:
            await found.serve(stack, node, settings.port)
        connecting = Bus.connect(node.bus, run=node.run, name="targets", role=Role.VIEWER, wait=None)
        if (bus := await unless_stopped(connecting, stop)) is not None:
            stack.push_async_callback(bus.close)
            await unless_stopped(found.follow(bus, settings.every), stop)
    return Exit.DONE


class Found:
    """The targets of one run, as they were seen last."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._shown: list[dict[str, Any]] = _read(file) if file else []

    async def follow(self, bus: Bus, every: float) -> None:
        """Look for nodes that come and go, for ever. While the broker is away, the last ones stay: they may still be
        there. Raises UserError if the file cannot be written."""
        from common.bus import BusError

        while True:
            try:
                self.update(bus.run, await bus.nodes())
            except BusError as error:
                say(f"proofmesh targets: the last targets stay: {error}", file=sys.stderr)
            await asyncio.sleep(every)

    def update(self, run: str, nodes: Iterable[NodeInfo]) -> None:
        """Take the nodes of now. Raises UserError."""
        from common.files import write_whole

        before = {each["labels"].get(NODE_LABEL, ""): each["labels"].get("instance", "") for each in self._shown}
        now = groups(run, nodes, before)
        if self._file is not None and (now != self._shown or not self._file.exists()):
            try:
                write_whole(self._file, as_json(now).encode())
            except OSError as error:
                raise UserError(f"--file {self._file}: it cannot be written ({error.strerror})") from error
        self._shown = now

    async def serve(self, stack: AsyncExitStack, settings: NodeSettings, port: int) -> web.AppRunner:
        """Serve the targets at /targets until the stack is left. Raises CannotServe."""
        from aiohttp import web

        from common.life.serving import Access, CannotServe, address, is_open, served
        from common.settings import token_of

        token = token_of(settings.token)
        if is_open(settings, token):
            raise CannotServe("[node] host: everybody could read it; set [node] token or client_ca", Exit.UNUSABLE)
        access = Access(settings, token)

        async def show(request: web.Request) -> web.Response:
            if (refusal := access.refusal(request)) is not None:
                return web.Response(status=refusal.status, text=refusal.reason + "\n", headers=refusal.headers)
            return web.json_response(self._shown)

        application = web.Application()
        application.router.add_get("/targets", show)
        runner = await stack.enter_async_context(served(application, settings, port, drain_seconds=DRAIN_SECONDS))
        say(f"proofmesh targets: {address(settings, runner)}/targets", flush=True)
        return runner


def groups(run: str, nodes: Iterable[NodeInfo], before: Mapping[str, str]) -> list[dict[str, Any]]:
    """The targets in the form of `http_sd_configs` and `file_sd_configs`, by instance.

    `before`: the instances that nodes have had, by node id. A node keeps its own; a new one takes the first place on
    its machine that no node has now. A node without an address that can be read is left out.
    """
    there = sorted(nodes, key=lambda info: (info.started, info.node_id))
    places = {info.node_id: before[info.node_id] for info in there if info.node_id in before}
    taken, shown = set(places.values()), []
    for info in there:
        try:
            url = urlsplit(info.metrics_url)
        except ValueError:
            continue
        if url.scheme not in ("http", "https") or not url.netloc or "@" in url.netloc:
            continue
        if (place := places.get(info.node_id, "")) == "":
            at = f"{info.role}-{re.sub(r'[^A-Za-z0-9.-]+', '-', info.host)}"
            place = next(each for number in count(1) if (each := f"{at}-{number}") not in taken)
            taken.add(place)
        labels = {"run": run, "role": info.role, "instance": place, NODE_LABEL: info.node_id}
        labels |= {"__scheme__": url.scheme, "__metrics_path__": url.path}
        shown.append({"targets": [url.netloc], "labels": labels})
    return sorted(shown, key=lambda each: each["labels"]["instance"])


def _read(file: Path) -> list[dict[str, Any]]:
    """The targets in a file that an earlier process has written; none if it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.DecodeError):
        return []
