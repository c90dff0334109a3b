"""`proofmesh top`: a mesh in the terminal, every second: what is slow and why, nodes, queues, speeds, shares of time.

The verdict is the learner's sum over the attempts of the last two minutes; docs/operations.md, "Why is it slow?", says
how it is reached. Without a terminal, or with --once, one look is printed. Ctrl-C ends it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from common.config import MeshOptions
from common.output.command import Exit, command
from common.output.visible import as_json, say_data, visible
from common.output.words import duration, percent
from common.records.lately import SILENT_SECONDS, Cause, Fault, Lately, cause
from common.records.rows import PARTS
from common.report.table import Cell, Table, Tone, right
from common.watch.nodes import does

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from common.bus import Bus
    from common.protocol.messages import Heartbeat
    from ui.mesh_state import MeshState

EVERY = 1.0
"""Seconds between looks: as often as nodes send heartbeats."""

FIRST_LOOK = 2.5
"""Seconds until every node has sent a heartbeat, and there are speeds."""

TONES: dict[str, Tone] = {"unhealthy": "bad", "gone": "bad", "draining": "warn", "starting": "warn"}


@dataclass
class TopSettings(MeshOptions):
    """Watch a mesh in the terminal."""

    once: bool = False
    """Print one look, and end."""

    json: bool = False
    """Print one look as JSON, and end."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(TopSettings, list(argv), _top, prog="proofmesh top", description=__doc__, log="error")


async def _top(settings: TopSettings) -> int:
    from common.bus import Bus, Role
    from common.output.terminal import Console

    node = settings.mesh()
    console = Console(highlight=False)
    bus = await Bus.connect(node.bus, run=node.run, name="top", role=Role.VIEWER, wait=settings.wait)
    try:
        watched = Watched(bus)
        await watched.begin()
        if settings.once or settings.json or not console.is_terminal:
            await watched.settled()
            found = await watched.look()
            if settings.json:
                say_data(as_json(asdict(found)))
            else:
                console.print(drawn(found))
            return Exit.DONE if found.nodes else Exit.FAILED
        from rich.live import Live

        with Live(console=console, screen=True, auto_refresh=False) as live, suppress(asyncio.CancelledError):
            while True:
                live.update(drawn(await watched.look()), refresh=True)
                await asyncio.sleep(EVERY)
        return Exit.DONE
    finally:
        await bus.close()


@dataclass(frozen=True)
class NodeRow:
    """A node, as it is shown."""

    id: str
    role: str
    state: str
    host: str
    up: float
    does: Mapping[str, float]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class Look:
    """All that one look shows."""

    run: str
    fault: Fault
    why: str
    nodes: Sequence[NodeRow]
    waiting: Mapping[str, int]
    """Messages that nobody has taken, by queue; empty: the broker did not say."""
    taken: Mapping[str, int]
    rates: Mapping[str, float]
    """Per second, over ten seconds."""
    lately: Lately | None
    """None: the learner has not said."""


class Watched:
    """What is known about a mesh."""

    def __init__(self, bus: Bus) -> None:
        from ui.mesh_state import MeshState

        self._bus = bus
        self._state: MeshState = MeshState()
        self._heard = time.monotonic()
        """When the learner was heard last, or watching began."""
        self._lately: Lately | None = None

    async def begin(self) -> None:
        """Listen to heartbeats. Raises BusError."""
        from common.protocol.messages import Heartbeat
        from common.protocol.subjects import telemetry

        await self._bus.subscribe(telemetry("*", "*", "heartbeat"), Heartbeat, self._hear)
        self._state.see_registry(await self._bus.nodes(), time.time())

    async def settled(self) -> None:
        """Wait until there is something to tell: a learner that is silent needs longer."""
        began = time.monotonic()
        while (waited := time.monotonic() - began) < SILENT_SECONDS + EVERY:
            await self.look()
            await asyncio.sleep(EVERY / 4)
            if waited >= FIRST_LOOK and (self._lately is not None or not self._learners()):
                return

    async def look(self) -> Look:
        """The present state."""
        from common.bus import BusError

        now = time.time()
        waiting: dict[str, int] = {}
        taken: dict[str, int] = {}
        try:
            self._state.see_registry(await self._bus.nodes(), now)
            queues = await self._bus.queues()
            waiting = {name: queue.waiting for name, queue in queues.items()}
            taken = {name: queue.leased for name, queue in queues.items()}
        except BusError:
            pass  # lost meanwhile: nodes grow old instead
        # Totals without the heartbeats of some nodes would make speeds of what they did before.
        if all(node.values or node.gone_since for node in self._state.nodes.values()):
            self._state.tick(now)
        silent = time.monotonic() - self._heard if self._learners() else 0.0
        found = cause(self._lately, silent) if self._bus.connected else Cause(Fault.NONE, "The broker is away.")
        order = sorted(self._state.nodes.values(), key=lambda node: (node.info.role, node.info.started))
        rows = [
            NodeRow(
                each.info.node_id,
                each.info.role,
                each.state,
                each.info.host,
                max(0.0, now - each.info.started),
                does(each.info.role, each.values),
                each.info.problems,
            )
            for each in order
        ]
        return Look(self._bus.run, found.fault, str(found), rows, waiting, taken, self._state.rates(), self._lately)

    def _hear(self, _: str, heartbeat: Heartbeat) -> None:
        self._state.see_heartbeat(heartbeat)
        if heartbeat.role == "learner":
            self._heard = time.monotonic()
            self._lately = Lately.of_values(heartbeat.values) or self._lately

    def _learners(self) -> bool:
        return any(node.info.role == "learner" for node in self._state.nodes.values())


# --- how it looks -----------------------------------------------------------------------------------------------------


def drawn(look: Look) -> Group:
    """A look for the terminal."""
    from rich.console import Group
    from rich.text import Text

    rates = ", ".join(f"{value:.1f} {name.partition('.')[2]}/s" for name, value in look.rates.items())
    told = Text(visible(look.why), style="bold green" if look.fault is Fault.NONE else "bold red")
    queues = Table(("queue", right("waiting"), right("taken")), framed=False)
    queues.fill((name, number, look.taken.get(name, 0)) for name, number in look.waiting.items())
    shown: list[RenderableType] = [
        Text(f"run {visible(look.run)}: {rates}"),
        told,
        Text(""),
        _nodes(look.nodes),
        Text(""),
    ]
    shown += [each for each in (queues,) if look.waiting]
    if look.lately is not None:
        shown += [Text(""), shares(look.lately)]
    return Group(*shown)


def _nodes(rows: Sequence[NodeRow]) -> Table:
    table = Table(("node", "state", "host", "up", "does"), framed=False)
    for each in rows:
        doing = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in each.does.items())
        problem = "; ".join(each.problems.values())
        name = each.id.rpartition("-")[0] or each.id  # without the fingerprint of its key
        state = Cell(each.state, TONES.get(each.state, "good"))
        table.add(name, state, each.host, duration(each.up), problem or doing)
    return table


def shares(lately: Lately) -> Table:
    """Where the time of the latest attempts went."""
    columns = ("part", right("share"), right("s each"), "if it is large")
    table = Table(columns, title=f"{lately.attempts} latest attempts, from dispatch to record", framed=False)
    parts = asdict(lately.parts)
    whole = sum(parts.values()) or 1.0
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        told = PARTS[name].advice if seconds / whole >= 0.1 else ""
        table.add(PARTS[name].name, percent(seconds / whole), f"{seconds / max(1, lately.attempts):.2f}", told)
    table.add("(slot was free)", "", f"{lately.idle / max(1, lately.attempts):.2f}", "", tone="quiet")
    return table
