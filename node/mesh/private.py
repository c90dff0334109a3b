"""A small mesh of one's own: a broker and some nodes as child processes, gone when the work is done."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

import tomli_w

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus
from common.process import kill_group, spawn_child

RUN = "prove"
"""Run name of a private mesh: its broker has no other."""

STOP_SECONDS = 3.0
"""Time for a child to end by itself; nothing is lost when it is killed, because nobody else uses the mesh."""

Section = Mapping[str, str | int | float | bool]


class ChildDied(RuntimeError):
    """A node of the mesh has ended by itself; the text holds the end of its log."""


class PrivateMesh:
    """Async context manager: a broker on a free loopback port and one child process per role.

        async with PrivateMesh(folder, {"lean-proxy": {}, "prover": {"policy": "fixed"}}) as mesh:
            await mesh.bus.request(...)

    `roles`: the command of each role, with its section of the configuration file. Raises BrokerError, ChildDied.
    """

    bus: Bus

    def __init__(self, folder: Path, roles: Mapping[str, Section]) -> None:
        self._folder = folder
        self._roles = roles
        self._children: dict[str, asyncio.subprocess.Process] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> PrivateMesh:
        async with AsyncExitStack() as stack:
            server = Server(BrokerSettings(port=0, store=str(self._folder / "broker")))
            await server.start()
            stack.push_async_callback(server.stop)
            self.bus = await Bus.connect(server.bus, run=RUN, name="prove", wait=10)
            stack.push_async_callback(self.bus.close)
            await streams.ensure(self.bus)
            stack.push_async_callback(self._stop_children)
            await asyncio.gather(*(self._start(role, server.bus.url) for role in self._roles))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def watch(self) -> None:
        """Wait until a child ends by itself. Raises ChildDied; never returns."""
        waiting = {asyncio.create_task(child.wait()): role for role, child in self._children.items()}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            task = done.pop()
            raise ChildDied(f"{waiting[task]} ended with code {task.result()}:\n{self._last_words(waiting[task])}")
        finally:
            for task in waiting:
                task.cancel()

    async def _start(self, role: str, url: str) -> None:
        config = self._folder / f"{role}.toml"
        sections = {"run": {"name": RUN}, "bus": {"url": url}, role.replace("-", "_"): self._roles[role]}
        config.write_text(tomli_w.dumps(sections), encoding="utf-8")
        with self._log(role).open("wb") as output:
            self._children[role] = await spawn_child(
                [sys.executable, "-m", "node.mesh.cli", role, "--config", config], stdout=output, stderr=output
            )

    async def _stop_children(self) -> None:
        await asyncio.gather(*(kill_group(child, STOP_SECONDS) for child in self._children.values()))

    def _log(self, role: str) -> Path:
        return self._folder / f"{role}.log"

    def _last_words(self, role: str) -> str:
        return "\n".join(self._log(role).read_text(errors="replace").strip().splitlines()[-8:])
