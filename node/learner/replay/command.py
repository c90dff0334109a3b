"""`proofmesh replay show RUN_DIRECTORY`: rows of a run's replay buffer as the network reads them.

The text and tokens of input and target, the remaining steps, where each came from, its age, and how often it was
trained on (see `replay show --help`). A learner makes its buffer from the run's records at each start.

Exit code: 0 done, 2 it is not a run directory.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from common.limits import Natural, Positive
from common.output.command import Exit, UserError, command, refuse
from common.output.visible import as_json, say, visible
from common.output.words import number_of

if TYPE_CHECKING:
    from node.learner.replay.shown import Row


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    if list(argv) in (["-h"], ["--help"]):
        print(__doc__)
        return Exit.DONE
    if argv and argv[0] == "show":
        return command(
            ShowSettings, list(argv[1:]), show, prog="proofmesh replay show", description=ShowSettings.__doc__
        )
    return refuse("proofmesh replay", "bad arguments: use `proofmesh replay show RUN_DIRECTORY` (see --help)")


@dataclass
class ShowSettings:
    """Show rows of a run's replay buffer as the network reads them, the newest last; with the newest checkpoint's
    tokenizer. Reads only, also while the learner runs."""

    run: Annotated[Path, tyro.conf.Positional]
    """The directory of a run."""

    rows: Positive = 10
    """Most rows to show: the newest."""

    sample: Natural = 0
    """Show this many rows, drawn at random, in place of the newest."""

    seed: Natural = 0
    """Equal seeds draw equal rows."""

    filter: str = ""
    """Show only rows whose state, tactic, theorem or attempt contains this text."""

    supervised: bool = False
    """Show the supervised transitions of the run's banks in place of the buffer."""

    json: bool = False
    """Print one JSON object for each row, with the numbers of the tokens."""


def show(settings: ShowSettings) -> int:
    """Print the rows. Raises UserError."""
    from common.protocol.subjects import BadRunName
    from common.records.readers import UnreadableRecords
    from common.records.transitions import read_transitions
    from node.learner.replay.shown import (
        Buffer,
        Source,
        containing,
        encoded,
        file_of,
        reading_of,
        settings_of,
        supervised as supervised_rows,
    )
    from node.learner.run import RunDirectory

    # 1. The run, and how its network reads.
    path = settings.run.absolute()
    try:
        directory = RunDirectory(path.parent, path.name)
    except BadRunName as error:
        raise UserError(str(error)) from error
    if not directory.database.is_file():
        raise UnreadableRecords(f"{path} is not a run directory: it has no {directory.database.name}")
    learner = settings_of(path)
    reading = reading_of(path, lambda text: say(text))
    # 2. Which rows.
    buffer = Buffer(path, learner)
    if settings.supervised:
        rows = supervised_rows(path)
    else:
        buffer.read()
        rows = buffer.rows()
    file = file_of(path, Source.SUPERVISED if settings.supervised else Source.PROOF)
    found = containing(rows, file, settings.filter)
    if settings.sample:
        chosen = random.Random(settings.seed).sample(found, min(settings.sample, len(found)))
    else:
        chosen = found[-settings.rows :]
    # 3. As tokens.
    uses = buffer.uses()
    for row, read in zip(chosen, read_transitions(file, [row.number for row in chosen]), strict=True):
        shown = _told(row, uses.get(row.number, 0), reading.step)
        shown |= encoded(read, reading)
        if settings.json:
            print(as_json(shown))
        else:
            _print(shown)
    if not settings.json:
        say(f"{len(chosen)} of {len(found)} rows; {reading.folder}")
    return Exit.DONE


def _told(row: Row, uses: int, step: int) -> dict[str, Any]:
    """What is known of a row besides its text. `step`: of the checkpoint."""
    told: dict[str, Any] = {"number": row.number, "source": row.source}
    if row.theorem:
        age = None if row.found_at is None else max(0, step - row.found_at)
        told |= {"theorem": row.theorem, "attempt": row.attempt, "purpose": row.purpose, "recorded": row.recorded}
        told |= {"age_steps": age, "times_trained": uses}
    return told | {"weight": row.weight}


def _print(row: dict[str, Any]) -> None:
    """Print a row for people."""
    about = [f"#{row['number']} {row['source']}"]
    if "theorem" in row:
        age = "age not known" if row["age_steps"] is None else f"age {row['age_steps']} steps"
        about.append(f"{row['theorem']} ({row['purpose']}, attempt {row['attempt']})")
        about.append(f"{age}, trained on {number_of(row['times_trained'], 'time')}")
    say(visible("; ".join(about)))
    if row["left_out"]:
        say(f"  left out of training: its tactic has too many tokens: {visible(row['tactic'])}")
    else:
        for name in ("input", "target"):
            say(f"  {name}, {number_of(len(row[f'{name}_tokens']), 'token')}: {row[name]}")
    say(f"  value: {number_of(row['remaining_steps'], 'remaining step')}; weight {row['weight']:g}\n")
