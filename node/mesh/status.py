"""What `up` shows: a live table on a terminal, one line per event elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from node.mesh.supervisor import Child, ChildState

if TYPE_CHECKING:
    from rich.table import Table

EVENTS_SHOWN = 6
"""Latest events under the table."""

_COLOURS = {ChildState.RUNNING: "green", ChildState.RESTARTING: "yellow", ChildState.FAILED: "red"}


class Status:
    """Shows children and events; `event` is the mesh's listener."""

    def __init__(self, title: str, *, live: bool | None = None) -> None:
        self.title = title
        self.live = sys.stderr.isatty() if live is None else live
        self.children: Sequence[Child] = ()
        self.events: deque[str] = deque(maxlen=EVENTS_SHOWN)

    def event(self, line: str) -> None:
        """One thing that happened."""
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        self.events.append(stamped)
        if not self.live:
            print(stamped, file=sys.stderr, flush=True)

    def shown(self) -> AbstractContextManager[Any]:
        """A block during which the table is on the screen, drawn anew by rich twice a second."""
        if not self.live:
            return nullcontext()
        from rich.console import Console
        from rich.live import Live

        return Live(
            get_renderable=lambda: table(self.title, self.children, self.events),
            console=Console(stderr=True),
            refresh_per_second=2,
        )


def row(child: Child) -> tuple[str, str, str, str, str]:
    """Name, state, process, uptime and restarts of a child."""
    restarts = f"{child.restarts}, last: {child.note}" if child.note else str(child.restarts)
    return child.spec.name, str(child.state), str(child.pid or "-"), duration(child.uptime()), restarts


def duration(seconds: float) -> str:
    """`59s`, `3m05s`, `2h07m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def table(title: str, children: Sequence[Child], events: Sequence[str]) -> Table:
    """The table that a terminal shows."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title, caption="\n".join(events), caption_justify="left", title_justify="left")
    for heading in ("node", "state", "process", "up", "restarts"):
        shown.add_column(heading)
    for child in children:
        name, state, *rest = row(child)
        shown.add_row(name, Text(state, style=_COLOURS.get(child.state, "")), *rest)
    return shown
