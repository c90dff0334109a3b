"""The display of `up`: a live table on a terminal, otherwise one line per event."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from common.output.visible import say, visible
from common.output.words import duration
from node.mesh.supervisor import Child, ChildState

if TYPE_CHECKING:
    from rich.table import Table

    from common.protocol.messages import Heartbeat
    from common.settings import BusSettings

EVENTS_SHOWN = 6
"""Number of latest events under the table."""

SHOWN = {
    "learner": ("results", "proofs_verified", "train_steps"),
    "inference": ("states", "tokens", "failed", "rows_per_pass", "weights"),
    "prover": ("searches", "attempts", "roots_solved"),
    "lean-proxy": ("candidates", "proofs_accepted", "worker_restarts"),
}
"""The heartbeat values that the table shows for each role."""

_COLOURS = {ChildState.RUNNING: "green", ChildState.RESTARTING: "yellow", ChildState.FAILED: "red"}


class Status:
    """Shows children and events; `event` is the mesh's listener."""

    def __init__(self, title: str, *, live: bool | None = None) -> None:
        self.title = title
        self.live = sys.stderr.isatty() if live is None else live
        self.children: Sequence[Child] = ()
        self.events: deque[str] = deque(maxlen=EVENTS_SHOWN)
        self.heartbeats: dict[int, Heartbeat] = {}
        """The latest heartbeat by process id."""

    def event(self, line: str) -> None:
        """Show one event."""
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        self.events.append(stamped)
        if not self.live:
            say(visible(stamped), file=sys.stderr, flush=True)

    async def follow(self, settings: BusSettings, run: str) -> None:
        """Receive the heartbeats of the mesh until cancelled. Waits for the broker."""
        from common.bus import Bus
        from common.life import logging
        from common.protocol.messages import Heartbeat

        def hear(_: str, heartbeat: Heartbeat) -> None:
            # Node ids end in PROCESS-RANDOM (`common.life.context.new_node_id`).
            process = heartbeat.node_id.split("-")[-2]
            if process.isdigit():
                self.heartbeats[int(process)] = heartbeat

        logging.configure("error")  # the nodes' logs already have the losses of the connection
        bus = await Bus.connect(settings, run=run, name="up", wait=None)
        try:
            await bus.subscribe("telemetry.*.*.heartbeat", Heartbeat, hear)
            await asyncio.Event().wait()
        finally:
            await bus.close()

    def shown(self) -> AbstractContextManager[Any]:
        """A context manager that shows the table, refreshed twice per second."""
        if not self.live:
            return nullcontext()
        from rich.live import Live

        from common.output.terminal import Console

        return Live(
            get_renderable=lambda: table(self.title, self.children, self.heartbeats, self.events),
            console=Console(stderr=True),
            refresh_per_second=2,
        )


def row(child: Child, heartbeat: Heartbeat | None) -> tuple[str, ...]:
    """Name, state, process id, uptime, restarts and heartbeat values of a child."""
    restarts = f"{child.restarts}, last: {child.note}" if child.note else str(child.restarts)
    state, doing = str(child.state), ""
    if child.state is ChildState.RUNNING and heartbeat is not None:
        state = heartbeat.state
        values = {key: heartbeat.values[key] for key in SHOWN.get(heartbeat.role, ()) if key in heartbeat.values}
        doing = ", ".join(f"{value:g} {key.replace('_', ' ')}" for key, value in values.items())
    return child.spec.name, state, str(child.pid or "-"), duration(child.uptime()), restarts, doing


def table(title: str, children: Sequence[Child], heartbeats: Mapping[int, Heartbeat], events: Sequence[str]) -> Table:
    """The table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    from common.output.terminal import line

    shown = Table(
        title=line(title), caption=Text("\n".join(map(visible, events))), caption_justify="left", title_justify="left"
    )
    for heading in ("node", "state", "process", "up", "restarts", "doing"):
        shown.add_column(heading)
    for child in children:
        name, state, *cells = row(child, heartbeats.get(child.pid or 0))
        shown.add_row(line(name), line(state, _COLOURS.get(child.state, "")), *map(line, cells))
    return shown
