"""Keeps what nodes send as telemetry in a run's folder: spans of all nodes, and logs of those on other machines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from common.life.context import own_host
from common.life.logging import LinesFile
from common.output.visible import as_json
from common.protocol.messages import LogRecord, Spans
from common.protocol.subjects import telemetry
from common.watch import spans
from common.watch.logs import LOGS

if TYPE_CHECKING:
    from common.bus import Bus

ELSEWHERE = "elsewhere.log"
"""Logs of the nodes on other machines. Those of this machine's nodes are beside it, one file for each (`up`)."""


async def keep_telemetry(bus: Bus, folder: Path) -> None:
    """Write spans and logs into a run's folder from now on. Raises OSError if it is not writable."""
    kept = LinesFile(folder / spans.FILE)
    elsewhere = LinesFile(folder / LOGS / ELSEWHERE)

    def hear_log(_: str, record: LogRecord) -> None:
        if not record.node_id.startswith(f"{record.role}-{own_host()}-"):
            elsewhere.write(line_of(record))

    await bus.subscribe(telemetry("*", "*", "spans"), Spans, lambda _, message: spans.write(kept, message))
    await bus.subscribe(telemetry("*", "*", "log"), LogRecord, hear_log)


def line_of(record: LogRecord) -> str:
    """A record as a line of a log."""
    at = datetime.fromtimestamp(record.time, UTC).isoformat().replace("+00:00", "Z")
    known = {"time": record.time, "timestamp": at, "level": record.level, "event": record.event}
    return as_json(record.fields | known | {"node": record.node_id, "role": record.role})
