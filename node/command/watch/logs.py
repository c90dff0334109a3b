"""`proofmesh logs runs/NAME`: what the nodes of a run have logged, by time (UTC); also while it runs (`--follow`).

`proofmesh attempt` shows the last records of one attempt. docs/operations.md, "Watch".
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from common.limits import Natural
from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say_data
from common.protocol.messages import LogRecord

POLL_SECONDS = 0.25
"""Between looks at the files with `--follow`: as often as nodes send their records to the monitor."""


@dataclass
class LogsSettings:
    """Show the logs of a run's nodes."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run directory, such as runs/demo."""

    attempt: str = ""
    """Only records about this attempt; the beginning of its id is enough."""

    node: str = ""
    """Only of nodes whose name begins like that: `prover`, `prover-2`, or a node's id."""

    level: Literal["debug", "info", "warning", "error"] = "debug"
    """Only records of this level or a higher one."""

    last: Natural = 0
    """Only the last records, as many as this; 0: all."""

    follow: bool = False
    """Go on with what is logged from now on, until Ctrl-C."""

    json: bool = False
    """Print one JSON object for each record."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(LogsSettings, list(argv), _logs, prog="proofmesh logs", description=__doc__)


def _logs(settings: LogsSettings) -> int:
    from common.watch.logs import LOGS, LogFiles

    # 1. What is there.
    folder = settings.run / LOGS
    if not settings.follow and not any(folder.glob("*.log")):
        raise UserError(f"{settings.run}: no logs in {folder}; name a run directory, such as runs/demo")
    files = LogFiles(folder)
    found: Iterable[LogRecord] = wanted(files.read(settings.attempt), settings)
    _print(deque(found, settings.last) if settings.last else found, json=settings.json)
    # 2. What comes.
    try:
        while settings.follow:
            time.sleep(POLL_SECONDS)
            _print(wanted(files.read(settings.attempt), settings), json=settings.json)
    except KeyboardInterrupt:  # the usual end
        return Exit.DONE
    return Exit.DONE


def wanted(records: Iterable[LogRecord], settings: LogsSettings) -> Iterator[LogRecord]:
    """The records that the settings ask for."""
    from common.life.logging import LEVELS
    from common.watch.logs import rank

    for record in records:
        if (
            rank(record) >= LEVELS[settings.level]
            and (not settings.node or record.node_id.startswith(settings.node) or record.role.startswith(settings.node))
            and (not settings.attempt or record.fields.get("attempt", "").startswith(settings.attempt))
        ):
            yield record


def _print(records: Iterable[LogRecord], *, json: bool) -> None:
    import msgspec

    from common.watch.logs import in_words

    for record in records:
        say_data(as_json(msgspec.to_builtins(record)) if json else in_words(record), flush=True)
