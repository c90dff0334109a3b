"""The rows of a run's replay buffer as the network reads them, also while its learner works: for `proofmesh replay
show` and the monitor. Reads only, and without torch.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from common.config import ConfigError, load
from common.output.command import UserError
from common.protocol.attempts import Purpose, Transition
from common.records.readers import DATABASE, ReplayRow, reading, replay_numbers, replay_rows
from common.records.rows import Example
from node.learner.replay.replay import USES, Replay, read_uses
from node.learner.settings import LearnerSettings
from node.model.checkpoint_folders import CheckpointError, load_reading, newest
from node.model.tokenizer import Tokenizer
from node.training.documents import Room, transition_document

SUPERVISED = Path("supervised") / "supervised.sqlite"
"""File in a run's folder: the transitions of its banks that the warm start has trained on."""


class Source(enum.StrEnum):
    """Where a row comes from."""

    PROOF = "proof"
    """Of a verified proof of a train statement; in runs of earlier versions, also of a state inside a failed search."""
    DISPROOF = "disproof"
    """Of a verified proof of a negation."""
    HELD_OUT = "held-out"
    """Of either of these: measured, never trained on."""
    SUPERVISED = "supervised"
    """Of the run's banks; not in the buffer."""


class Row(NamedTuple):
    """A row without its text, of which a buffer has too much to keep."""

    number: int
    source: Source
    theorem: str = ""
    """Empty here and below: supervised."""
    attempt: str = ""
    purpose: str = ""
    recorded: float = 0.0
    """Unix time."""
    found_at: int | None = None
    """Training step of the weights that found it; None: not known."""
    steps: int = 0
    """Remaining steps of the proof; 0: supervised."""
    weight: float = 1.0
    """How often training draws it, relative to others."""


def settings_of(folder: Path) -> LearnerSettings:
    """The settings of a run. Raises UserError."""
    file = folder / "config.toml"
    try:
        return load(LearnerSettings, file if file.is_file() else None, "learner")
    except ConfigError as error:
        raise UserError(str(error)) from error


class Buffer:
    """The replay buffer of a run, as its learner fills it."""

    def __init__(self, folder: Path, settings: LearnerSettings) -> None:
        self.database = folder / DATABASE
        self.settings = settings
        self._uses = folder / "replay" / USES
        self._replay = Replay(self.database, settings.replay)
        self._rows: dict[int, Row] = {}
        self._ordered: list[Row] = []

    def read(self) -> bool:
        """Add what was recorded since the last call; returns whether it was anything. The first call takes some 20 µs
        for each recorded transition. Raises UnreadableRecords."""
        news = False
        for row in replay_rows(self.database, self._replay.last_id):
            news = True
            self._add(row)
        if news:
            self._ordered = self._in_order()
            self._rows = {row.number: row for row in self._ordered}
        return news

    def _add(self, row: ReplayRow) -> None:
        transition = Transition(row.state, row.tactic, row.remaining_steps)
        self._replay.add((Example(row.number, transition, row.weight),))
        source = Source.DISPROOF if row.purpose == Purpose.DISPROVE else Source.PROOF
        origin = (row.theorem_id, row.attempt_id, row.purpose, row.recorded, row.found_at)
        self._rows[row.number] = Row(row.number, source, *origin, row.remaining_steps, row.weight)

    def _in_order(self) -> list[Row]:
        rows, held_out = self._rows, self._replay.held_out()
        return [
            *(rows[number]._replace(source=Source.HELD_OUT) for _, number in held_out),
            *(rows[number] for _, number in self._replay.refs()),
        ]

    def rows(self) -> list[Row]:
        """What is held out, then what trains, in the order of the window: the newest last."""
        return self._ordered

    def row(self, number: int) -> Row:
        """Raises UserError."""
        try:
            return self._rows[number]
        except KeyError:
            raise UserError(f"row {number} is not in the replay buffer (any more)") from None

    def uses(self) -> dict[int, int]:
        """How often each row was trained on, by its number, at the learner's latest checkpoint."""
        return read_uses(self._uses)


def supervised(folder: Path) -> list[Row]:
    """The supervised transitions of a run's banks; none without a file of them. Raises UnreadableRecords."""
    file = folder / SUPERVISED
    if not file.is_file():
        return []
    with reading(file) as db:
        return [Row(number, Source.SUPERVISED) for (number,) in db.execute("SELECT transition_id FROM transitions")]


def file_of(folder: Path, source: Source) -> Path:
    """The file that has the texts of a row."""
    return folder / (SUPERVISED if source is Source.SUPERVISED else DATABASE)


def containing(rows: list[Row], file: Path, text: str) -> list[Row]:
    """The rows whose state, tactic, theorem, attempt or purpose contains a text. `file` has their texts. Raises
    UnreadableRecords."""
    if not text:
        return rows
    found = replay_numbers(file, text)
    return [
        row for row in rows if row.number in found or text in row.theorem or text in row.attempt or text in row.purpose
    ]


# --- as tokens --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How a run's network reads text."""

    tokenizer: Tokenizer
    room: Room
    step: int
    """Training step of the checkpoint."""
    folder: Path


def reading_of(folder: Path, note: Callable[[str], None]) -> Reading:
    """Of the newest whole checkpoint of a run; `note` hears of damaged ones. Raises UserError."""
    try:
        checkpoint = newest(folder / "checkpoints", note)
        if checkpoint is None:
            raise UserError(f"{folder} has no checkpoint yet, so no tokenizer: wait for the end of its warm start")
        tokenizer, config, step = load_reading(checkpoint)
    except CheckpointError as error:
        raise UserError(str(error)) from error
    return Reading(tokenizer, Room(config.context, config.longest_tactic), step, checkpoint)


def encoded(read: Transition, how: Reading) -> dict[str, Any]:
    """The row as the trainer's ranks read it, and the numbers of its tokens."""
    document = transition_document(how.tokenizer, read, how.room)
    told: dict[str, Any] = {"state": read.state, "tactic": read.tactic, "remaining_steps": read.remaining_steps}
    told["left_out"] = document is None
    if document is not None:
        parts = {"input": document.tokens[: document.prompt], "target": document.tokens[document.prompt :]}
        for name, tokens in parts.items():
            told |= {name: how.tokenizer.decode(tokens, special=True), f"{name}_tokens": list(tokens)}
    return told
