"""`proofmesh replay rebuild RUN_DIRECTORY`: rebuild a run's replay buffer from the transitions in its proofs.sqlite.

A learner does the same at each start. The command says how many transitions the buffer has with the settings of the
run, and empties its folder: of the counts of how often transitions were trained on, and of the copies of transitions
that earlier versions kept there. Stop the run's learner first.

Exit code: 0 done, 1 the directory is in use or cannot be written, 2 it is not a run directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from common.output.command import Exit, refuse
from common.output.visible import say

if TYPE_CHECKING:
    from node.learner.replay.replay import ReplaySettings
    from node.learner.run import RunDirectory


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    if list(argv) in (["-h"], ["--help"]):
        print(__doc__)
        return Exit.DONE
    if len(argv) != 2 or argv[0] != "rebuild":
        return refuse("proofmesh replay", "bad arguments: use `proofmesh replay rebuild RUN_DIRECTORY` (see --help)")
    return rebuild(Path(argv[1]))


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
