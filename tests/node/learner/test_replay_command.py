"""`proofmesh replay`: rebuilt, but not while a learner owns the directory; shown as the network reads it."""

import json
from pathlib import Path

import pytest

from common.output.command import Exit
from common.records.store import Store
from common.records.transitions import TransitionReader
from node.learner.replay.command import main
from node.learner.replay.replay import Replay, ReplaySettings
from node.learner.run import RunDirectory
from node.model import checkpoint
from node.training.documents import Room, transition_document
from tests.commands import Run
from tests.node.learner.builders import planned, proved, result, row
from tests.node.model.tiny import tiny_model, tiny_tokenizer

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


def test_rows_are_shown_with_the_exact_tokens_that_the_trainer_reads(directory: RunDirectory, called: Run) -> None:
    without = called(main, "show", directory.path)
    assert without.code == Exit.UNUSABLE and "no checkpoint yet" in without.err
    checkpoint.save(directory.checkpoints / "step-000003", tiny_model(3), tiny_tokenizer(), step=3)
    before = {path: path.stat().st_mtime_ns for path in directory.path.rglob("*")}
    shown = [json.loads(line) for line in called(main, "show", directory.path, "--rows", 99, "--json").out.splitlines()]
    assert {path: path.stat().st_mtime_ns for path in directory.path.rglob("*")} == before
    # 1. What the ranks read: the same documents, by the same references.
    store, replay = Store(directory.database), Replay(directory.database, ReplaySettings(window=WINDOW))
    replay.fill(store.examples)
    store.close()
    assert sorted(each["number"] for each in shown) == sorted(n for _, n in [*replay.refs(), *replay.held_out()])
    reader, tokenizer, config = TransitionReader(directory.database), tiny_tokenizer(), tiny_model(3).config
    for each in shown:
        read = transition_document(tokenizer, reader.read(each["number"]), Room(config.context, config.longest_tactic))
        assert read is not None and (*each["input_tokens"], *each["target_tokens"]) == read.tokens
        assert each["input"].startswith("<|bos|><|state|>") and each["target"].endswith("<|eos|>")
        assert (each["theorem"], each["purpose"], each["times_trained"]) == ("t", "train", 0)
    reader.close()
    # 2. Filter and sample.
    one = shown[0]
    texts = called(main, "show", directory.path, "--filter", one["attempt"], "--sample", 1).out
    assert texts.count("input, ") == 1 and f"attempt {one['attempt']}" in texts
    assert "0 of 0 rows" in called(main, "show", directory.path, "--filter", "\x1b[31m").out
