"""`proofmesh replay show|rebuild RUN_DIRECTORY`: the replay buffer of a run.

    replay show RUN       rows as the network reads them: the text and tokens of input and target, the remaining steps,
                          where each came from, its age, and how often it was trained on (see `replay show --help`)
    replay rebuild RUN    rebuild it from the transitions in proofs.sqlite

A learner rebuilds its buffer at each start. The command says how many transitions the buffer has with the settings of
the run, and empties its folder: of the counts of how often transitions were trained on, and of the copies of
transitions that earlier versions kept there. Stop the run's learner first. `show` only reads.

Exit code: 0 done, 1 the directory is in use or cannot be written, 2 it is not a run directory.
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
    from common.records.rows import Example
    from node.learner.replay.replay import ReplaySettings
    from node.learner.run import RunDirectory
    from node.learner.settings import LearnerSettings
    from node.model.tokenizer import Tokenizer
    from node.training.documents import Room


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    if list(argv) in (["-h"], ["--help"]):
        print(__doc__)
        return Exit.DONE
    if argv and argv[0] == "show":
        return command(
            ShowSettings, list(argv[1:]), show, prog="proofmesh replay show", description=ShowSettings.__doc__
        )
    if len(argv) != 2 or argv[0] != "rebuild":
        wanted = "use `proofmesh replay show RUN_DIRECTORY` or `proofmesh replay rebuild RUN_DIRECTORY`"
        return refuse("proofmesh replay", f"bad arguments: {wanted} (see --help)")
    return rebuild(Path(argv[1]))


# --- show -------------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class _Shown:
    """A row before it is encoded."""

    source: str
    """`replay`, `held-out` (measured, never trained on), `off-proof` (the value alone learns) or `supervised`."""
    example: Example
    origin: dict[str, Any]

    def has(self, text: str) -> bool:
        told = (self.example.transition.state, self.example.transition.tactic, *map(str, self.origin.values()))
        return any(text in each for each in told)


def show(settings: ShowSettings) -> int:
    """Print the rows. Raises UserError."""
    from common.config import load
    from common.protocol.subjects import BadRunName
    from common.records.readers import UnreadableRecords
    from node.learner.run import RunDirectory
    from node.learner.settings import LearnerSettings
    from node.model.checkpoint import load_reading
    from node.model.checkpoint_folders import CheckpointError, newest
    from node.training.documents import Room

    # 1. The run, and how its network reads.
    path = settings.run.absolute()
    try:
        directory = RunDirectory(path.parent, path.name)
        if not directory.database.is_file():
            raise UnreadableRecords(f"{path} is not a run directory: it has no {directory.database.name}")
        learner = load(LearnerSettings, directory.config if directory.config.is_file() else None, "learner")
        folder = newest(directory.checkpoints, lambda text: say(text))
        if folder is None:
            raise UserError(f"{path} has no checkpoint yet, so no tokenizer: wait for the end of its warm start")
        tokenizer, config, step = load_reading(folder)
    except (BadRunName, CheckpointError) as error:
        raise UserError(str(error)) from error
    # 2. Which rows.
    rows = _supervised(directory) if settings.supervised else _buffer(directory, learner, step)
    found = [row for row in rows if row.has(settings.filter)]
    if settings.sample:
        chosen = random.Random(settings.seed).sample(found, min(settings.sample, len(found)))
    else:
        chosen = found[-settings.rows :]
    # 3. As tokens.
    for row in chosen:
        shown = _encoded(row, tokenizer, Room(config.context, config.longest_tactic), learner.trainer.unsolved_steps)
        if settings.json:
            print(as_json(shown))
        else:
            _print(shown)
    if not settings.json:
        say(f"{len(chosen)} of {len(found)} rows; {folder}")
    return Exit.DONE


def _buffer(directory: RunDirectory, learner: LearnerSettings, step: int) -> list[_Shown]:
    """The rows of the buffer, in the order of the window. Raises UnreadableRecords."""
    from common.records.readers import replay_rows
    from common.records.rows import Example
    from common.records.transitions import transition
    from node.learner.learning.loop import USES, read_uses
    from node.learner.replay.replay import Replay

    # 1. As a learner fills it at its start.
    recorded = {row.number: row for row in replay_rows(directory.database)}
    examples = {
        number: Example(number, transition(row.state, row.tactic, row.remaining_steps, row.failed), row.weight)
        for number, row in recorded.items()
    }
    replay = Replay(directory.database, learner.replay)
    replay.add(each for each in examples.values() if each.number > 0)
    if learner.trainer.off_proof_share > 0:
        replay.add_off_proof((-n, row.state, row.remaining_steps) for n, row in recorded.items() if n < 0)
    # 2. With what is known of each.
    uses = read_uses(directory.replay / USES)
    parts = (("off-proof", replay.off_proof()), ("held-out", replay.held_out()), ("replay", replay.refs()))
    shown = []
    for source, refs in parts:
        for _, number in refs:
            row = recorded[number]
            origin = {
                "theorem": row.theorem_id,
                "attempt": row.attempt_id,
                "purpose": row.purpose,
                "recorded": row.recorded,
                "age_steps": None if row.found_at is None else max(0, step - row.found_at),
                "times_trained": uses.get(number, 0),
            }
            shown.append(_Shown(source, examples[number], origin))
    return shown


def _supervised(directory: RunDirectory) -> list[_Shown]:
    """Raises UnreadableRecords."""
    from common.records.rows import Example
    from common.records.transitions import TransitionReader

    reader = TransitionReader(directory.path / "supervised" / "supervised.sqlite")
    try:
        numbers = range(1, reader.count() + 1)
        return [_Shown("supervised", Example(number, reader.read(number)), {}) for number in numbers]
    finally:
        reader.close()


def _encoded(row: _Shown, tokenizer: Tokenizer, room: Room, unsolved: int) -> dict[str, Any]:
    """The row as the trainer's ranks read it, and the numbers of its tokens."""
    import msgspec

    from node.training.documents import transition_document

    number, transition, weight = row.example
    if not transition.tactic and not transition.remaining_steps:
        transition = msgspec.structs.replace(transition, remaining_steps=unsolved)
    document = transition_document(tokenizer, transition, room)
    told: dict[str, Any] = {"number": number, "source": row.source, **row.origin, "weight": weight}
    told |= {"state": transition.state, "tactic": transition.tactic, "remaining_steps": transition.remaining_steps}
    told |= {"failed": list(transition.failed), "left_out": document is None}
    if document is not None:
        parts = {"input": document.tokens[: document.prompt], "target": document.tokens[document.prompt :]}
        for name, tokens in parts.items():
            told |= {name: tokenizer.decode(tokens, special=True), f"{name}_tokens": list(tokens)}
    return told


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


# --- rebuild ----------------------------------------------------------------------------------------------------------


def rebuild(path: Path) -> int:
    """Rebuild the buffer of a run; returns the exit code."""
    from common.config import ConfigError, load
    from common.protocol.subjects import BadRunName
    from common.records.database import RunDirectoryError
    from node.learner.run import RunDirectory
    from node.learner.settings import LearnerSettings

    path = path.absolute()
    try:
        directory = RunDirectory(path.parent, path.name)
        if not directory.database.is_file():
            return refuse("proofmesh replay", f"{path} is not a run directory: it has no {directory.database.name}")
        file = directory.config if directory.config.is_file() else None
        settings = load(LearnerSettings, file, "learner").replay
        directory.open()
        try:
            count, transitions = _rebuilt(directory, settings)
        finally:
            directory.close()
    except (BadRunName, ConfigError) as error:
        return refuse("proofmesh replay", error)
    except RunDirectoryError as error:
        return refuse("proofmesh replay", error, Exit.FAILED)
    say(f"{directory.replay}: {count} transitions, from {transitions} recorded ones")
    return Exit.DONE


def _rebuilt(directory: RunDirectory, settings: ReplaySettings) -> tuple[int, int]:
    """Rebuild the buffer. Returns its number of transitions and that of the database. Raises RunDirectoryError."""
    import shutil

    from common.records.database import explained
    from common.records.store import Store
    from node.learner.replay.replay import Replay

    store, replay = Store(directory.database), Replay(directory.database, settings)
    try:
        replay.fill(store.examples)
        with explained(directory.replay):
            shutil.rmtree(directory.replay)
            directory.replay.mkdir()
        return len(replay), store.counts()["transitions"]
    finally:
        store.close()
