"""`proofmesh replay rebuild`: from the records, and not while a learner owns the directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.records.store import Store
from node.learner.replay.command import DONE, FAILED, UNUSABLE, main
from node.learner.replay.replay import Replay, ReplaySettings
from node.learner.replay.segments import SegmentError, data_path
from node.learner.run.directory import RunDirectory
from tests.node.learner.builders import planned, proved, result, row

WINDOW = 5


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run with seven transitions in its records, and a buffer of the last five that is damaged."""
    directory = RunDirectory(tmp_path, "run")
    directory.open()
    directory.config.write_text(f"[learner.replay]\nwindow = {WINDOW}\n", encoding="utf-8")
    store = Store(directory.database)
    store.add_theorems([row("t")])
    for number, first in ((1, 0), (2, 4)):
        store.dispatch([planned(number)], now=1.0)
        store.record(result(planned(number).attempt), proved(4 if first == 0 else 3, first), now=2.0)
    replay = Replay(directory.replay, ReplaySettings(window=WINDOW))
    replay.add(store.transitions())
    replay.close()
    store.close()
    directory.close()
    data = data_path(directory.replay / "segment-000001")
    data.write_bytes(b"x" * data.stat().st_size)
    return directory


def test_a_damaged_buffer_is_made_anew_from_the_records(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SegmentError, match="proofmesh replay rebuild"):
        Replay(directory.replay, ReplaySettings(window=WINDOW))
    assert main(["rebuild", str(directory.path)]) == DONE
    assert "5 transitions, from 7 recorded ones" in capsys.readouterr().out
    replay = Replay(directory.replay, ReplaySettings(window=WINDOW))
    assert (len(replay), replay.last_id) == (WINDOW, 7)
    assert not [path for path in directory.path.iterdir() if path.name.endswith(".part")]


def test_a_directory_that_a_learner_owns_is_left_alone(
    directory: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    directory.open()
    try:
        assert main(["rebuild", str(directory.path)]) == FAILED
    finally:
        directory.close()
    assert "is in use by process" in capsys.readouterr().err
    with pytest.raises(SegmentError):
        Replay(directory.replay, ReplaySettings(window=WINDOW))


@pytest.mark.parametrize("argv", [[], ["rebuild"], ["burn", "here"], ["rebuild", "nowhere"], ["rebuild", "Not A Name"]])
def test_what_is_no_run_directory_is_refused_and_not_made(argv: list[str], tmp_path: Path) -> None:
    assert main([*argv[:1], *(str(tmp_path / name) for name in argv[1:])]) == UNUSABLE
    assert list(tmp_path.iterdir()) == []
