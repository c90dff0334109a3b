"""`proofmesh attempt ID --run runs/NAME`: one attempt of a run, and where its time went, from dispatch to record.

ID may be the beginning of an id that no other attempt shares. `proofmesh inspect runs/NAME --attempts 20` lists ids.
If one wait takes most of the time, a line says which setting helps. Then come the last log records about it.
docs/operations.md, "Why is it slow?".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tyro

from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say, say_data
from common.output.words import percent
from common.protocol.attempts import Purpose
from common.protocol.messages import LogRecord, Span
from common.records.readers import (
    DATABASE,
    AttemptRecord,
    UnreadableRecords,
    WantedAttempts,
    read_attempts,
    read_statement,
)
from common.records.rows import PARTS
from common.report.table import Table
from common.watch.logs import LOGS, LogFiles, in_words
from common.watch.spans import read

LOGGED = 20
"""Most log records that are shown; `proofmesh logs RUN --attempt ID` shows all."""

DOMINANT = 0.4
"""A part with this share of the time is worth a word of advice."""


@dataclass
class AttemptSettings:
    """Show one attempt of a run, and where its time went."""

    id: Annotated[str, tyro.conf.Positional]
    """The attempt's id, or the beginning of it."""

    run: Path
    """The run directory, such as runs/demo."""

    spans: bool = False
    """Show each thing that it waited for, if it was traced ([learner] trace): when, and at which node."""

    json: bool = False
    """Print JSON."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(AttemptSettings, list(argv), _attempt, prog="proofmesh attempt", description=__doc__)


def _attempt(settings: AttemptSettings) -> int:
    attempt = find(settings.run, settings.id)
    theorem = read_statement(records_of(settings.run), attempt.theorem_id)
    statement = (theorem.negation() if attempt.purpose == Purpose.DISPROVE else theorem).signature
    spans = read(settings.run, attempt.attempt_id)
    logs = _logged(settings.run, attempt.attempt_id)
    if settings.json:
        told: dict[str, Any] = {
            "total": attempt.total,
            "largest": attempt.largest and attempt.largest[0],
            "statement": statement,
        }
        told["spans"] = [msgspec.to_builtins(span) for span in spans]
        told["logs"] = [msgspec.to_builtins(record) for record in logs]
        say_data(as_json(asdict(attempt) | told))
    else:
        _show(attempt, statement)
        _show_spans(attempt, spans, each=settings.spans)
        for record in logs:
            say(in_words(record))
    return Exit.DONE


def _show_spans(attempt: AttemptRecord, spans: Sequence[Span], *, each: bool) -> None:
    """Show the nodes at which a traced attempt waited, or each of its spans. Nothing for one that was not traced."""
    from common.output.terminal import Console

    console = Console(highlight=False)
    if each:
        if not spans:
            say("  no spans are kept of it: [learner] trace is the share of attempts that are traced")
            return
        table = Table(("at", "seconds", "what", "node", "requests", "waited", "ran"))
        for span in spans:
            shares = (f"{span.waited:.3f}", f"{span.ran:.3f}") if span.requests else ("", "")
            at, requests = f"{span.start - attempt.created:+.3f}", str(span.requests or "")
            table.add(at, f"{span.seconds:.3f}", span.name, span.node, requests, *shares)
        console.print(table)
        return
    nodes: dict[tuple[str, str], list[float]] = {}
    for span in (each for each in spans if each.node):
        sums = nodes.setdefault((span.name, span.node), [0, 0.0, 0.0, 0.0])
        for place, amount in enumerate((span.requests, span.seconds, span.waited, span.ran)):
            sums[place] += amount
    if nodes:
        table = Table(("for", "node", "requests", "seconds", "waited", "ran"), title="by node; requests overlap")
        for (name, node), (asked, *seconds) in sorted(nodes.items(), key=lambda entry: -entry[1][1]):
            table.add(name, node, f"{asked:g}", *(f"{value:.3f}" for value in seconds))
        console.print(table)


def _logged(run: Path, attempt_id: str) -> list[LogRecord]:
    """The last records about an attempt, of all nodes whose logs are in the run directory."""
    records = LogFiles(run / LOGS).read(attempt_id)
    return [*deque((each for each in records if each.fields.get("attempt") == attempt_id), LOGGED)]


def find(folder: Path, beginning: str) -> AttemptRecord:
    """The attempt with this id, or the only one whose id begins like that. Raises UserError."""
    found = read_attempts(records_of(folder), 4, WantedAttempts(beginning=beginning))
    if not found or not beginning:
        raise UserError(
            f"{folder}: no attempt {beginning!r}; `proofmesh inspect {folder} --attempts 20` lists the newest"
        )
    if len(found) > 1 and found[0].attempt_id != beginning:
        several = ", ".join(each.attempt_id for each in found[:3])
        raise UserError(f"{folder}: {beginning!r} begins several attempts ({several}, ...); write more of the id")
    return found[0]


def records_of(folder: Path) -> Path:
    """The records of a run directory. Raises UnreadableRecords."""
    path = folder / DATABASE
    if not path.is_file():
        raise UnreadableRecords(f"{folder} is not a run directory (it has no {DATABASE}); name one, such as runs/demo")
    return path


def _show(attempt: AttemptRecord, statement: str) -> None:
    from common.output.terminal import Console

    # 1. What it was.
    message = f": {attempt.message}" if attempt.message else ""
    say(f"{attempt.attempt_id} ({attempt.purpose}): {attempt.outcome}{message}")
    say(f"  {statement}")
    began = datetime.fromtimestamp(attempt.created).isoformat(" ", "seconds")
    if attempt.total is None:
        say(f"  dispatched {began}; no result yet")
        return
    say(f"  dispatched {began}, recorded {attempt.total:.1f} s later, played by {attempt.prover_id}")
    say(
        f"  {attempt.simulations} of {attempt.budget} simulations, {attempt.expansions} expansions,"
        f" {attempt.lean_attempts} tactics, weights {attempt.weights}"
    )
    # 2. Where the time went.
    if attempt.parts is None:
        say("  where the time went is not recorded: an earlier version, or an earlier prover, played it")
        return
    seconds = asdict(attempt.parts)
    total = sum(seconds.values()) or 1.0
    table = Table(("part", "seconds", "share"))
    table.fill((PARTS[name].name, f"{value:.3f}", percent(value / total)) for name, value in seconds.items())
    Console(highlight=False).print(table)
    # 3. What helps.
    most = attempt.largest
    if most is not None and most[1] / total >= DOMINANT:
        say(f"Most of it is {PARTS[most[0]].name}: {PARTS[most[0]].advice}.")
