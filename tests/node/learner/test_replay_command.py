"""`proofmesh replay rebuild`: from the records, and not while a learner owns the directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.output.command import Exit
from common.records.store import Store
from node.learner.replay.command import main
from node.learner.replay.replay import Replay, ReplaySettings
from node.learner.run import RunDirectory
from tests.node.learner.builders import planned, proved, result, row

WINDOW = 5

OLD = ["segment-000001.data", "segment-000001.index", "uses.npz"]


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run with seven transitions in its records, and files of an earlier version in its buffer's folder."""
    directory = RunDirectory(tmp_path, "run")
    directory.open()
    directory.config.write_text(f"[learner.replay]\nwindow = {WINDOW}\n", encoding="utf-8")
    store = Store(directory.database)
    store.add_theorems([row("t")])
    for number, first in ((1, 0), (2, 4)):
        store.dispatch([planned(number)], now=1.0)
        store.record(result(planned(number).attempt), proved(4 if first == 0 else 3, first), now=2.0)
    store.close()
    directory.close()
    for name in OLD:
        (directory.replay / name).write_bytes(b"old")
    return directory


def test_a_buffer_is_made_anew_from_the_records(directory: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rebuild", str(directory.path)]) == Exit.DONE
    assert "5 transitions, from 7 recorded ones" in capsys.readouterr().out
    assert list(directory.replay.iterdir()) == []
    store, replay = Store(directory.database), Replay(directory.database, ReplaySettings(window=WINDOW))
    replay.fill(store.examples)
    store.close()
    assert (len(replay), replay.last_id) == (WINDOW, 7)


def test_a_directory_that_a_learner_owns_is_left_alone(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    directory.open()
    try:
        assert main(["rebuild", str(directory.path)]) == Exit.FAILED
    finally:
        directory.close()
    assert "is in use by process" in capsys.readouterr().err
    assert sorted(path.name for path in directory.replay.iterdir()) == OLD


@pytest.mark.parametrize("argv", [[], ["rebuild"], ["burn", "here"], ["rebuild", "nowhere"], ["rebuild", "Not A Name"]])
def test_what_is_no_run_directory_is_refused_and_not_made(argv: list[str], tmp_path: Path) -> None:
    assert main([*argv[:1], *(str(tmp_path / name) for name in argv[1:])]) == Exit.UNUSABLE
    assert list(tmp_path.iterdir()) == []
