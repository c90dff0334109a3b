"""Small parts of the learner: the warm start, held-out theorems, data of the bank."""

import gzip
import logging
from pathlib import Path

import msgspec
import pytest
import structlog

from node.bank.bank import BankTransition
from node.learner.choosing import data
from node.learner.errors import DataError
from node.learner.learning.warm_start import key, warm_start
from node.learner.settings import LearnerSettings
from node.model import checkpoint
from tests.node.learner.builders import write_bank
from tests.node.learner.stand_in import StandInTrainer
from tests.node.model.tiny import tiny_model, tiny_tokenizer


def test_the_same_theorems_are_held_out_everywhere() -> None:
    rows = [BankTransition(f"t{index % 50}", 1, "f", f"s{index}", "rfl", 1) for index in range(500)]
    trained, held_out = data.split_held_out(rows)
    assert len(trained) + len(held_out) == 500 and 0 < len(held_out) < 150
    assert data.split_held_out(rows[:1]) in (([trained[0]], []), ([], [held_out[0]]))


def test_a_warm_start_can_use_a_share_of_the_theorems_and_is_measured_on_the_same_ones() -> None:
    rows = [BankTransition(f"t{index % 200}", 1, "f", f"s{index}", f"rw [h{index % 200}]", 1) for index in range(2000)]
    whole, held_out = data.split_held_out(rows)
    part, same = data.split_held_out(rows, 0.4)
    assert same == held_out
    assert 0.25 < len(part) / len(whole) < 0.55
    assert {each.state for each in part} < {each.state for each in whole}
    tactics = {each.tactic for each in part}
    assert len(part) == 10 * len(tactics), "a theorem is used with all its steps or not at all"
    assert data.split_held_out(rows, 0.0)[0] == []


def test_a_bank_that_trains_on_nothing_but_its_test_statements_is_refused(tmp_path: Path) -> None:
    bank = write_bank(tmp_path / "bank")
    (bank / "test.jsonl.gz").write_bytes((bank / "train.jsonl.gz").read_bytes())
    with pytest.raises(DataError, match="no train statements"):
        data.load(LearnerSettings(bank=str(bank)), tmp_path / "segments")


def settings_for(folder: Path, **changes: bool | int | str) -> LearnerSettings:
    """Settings for a bank, without its transitions when `checkpoint` is given or `bare`."""
    bank = write_bank(folder / "bank")
    (bank / "transitions.jsonl.gz").unlink()
    settings = LearnerSettings(bank=str(bank))
    settings.warm_start.checkpoint = str(changes.get("checkpoint", ""))
    settings.plan.evaluate = bool(changes.get("evaluate", False))
    settings.plan.control_steps = 3 if changes.get("control") else None
    return settings


def test_a_bank_without_transitions_needs_a_network_to_begin_with(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"too few transitions for a warm start.*warm_start\] checkpoint"):
        data.load(settings_for(tmp_path), tmp_path / "segments")
    loaded = data.load(settings_for(tmp_path, checkpoint="some/where", evaluate=True), tmp_path / "segments")
    assert (len(loaded.train), len(loaded.test), loaded.supervised, loaded.validation) == (24, 8, [], [])
    with pytest.raises(DataError, match=r"\[learner.plan\] control_steps has nothing to train on"):
        data.load(settings_for(tmp_path, checkpoint="some/where", control=True), tmp_path / "segments")


def test_a_missing_split_is_named_where_it_is_needed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, checkpoint="some/where")
    (tmp_path / "bank" / "test.jsonl.gz").rename(tmp_path / "scored.jsonl.gz")
    assert data.load(settings, tmp_path / "segments").test == []
    settings.plan.evaluate = True
    with pytest.raises(DataError, match=r"test\.jsonl\.gz: no such file \(splits in this bank: train, valid\)"):
        data.load(settings, tmp_path / "segments")
    (tmp_path / "bank" / "test.jsonl.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match=r"no test statements.*--split test"):
        data.load(settings, tmp_path / "segments")
    settings.evaluation.split = "valid"
    (tmp_path / "scored.jsonl.gz").rename(tmp_path / "bank" / "valid.jsonl.gz")
    assert {row.split for row in data.load(settings, tmp_path / "segments").test} == {"valid"}
    (tmp_path / "bank" / "train.jsonl.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match=r"no train statements.*--split train"):
        data.load(settings, tmp_path / "segments")


def test_a_name_that_stands_for_two_statements_is_refused(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, checkpoint="some/where")
    file = tmp_path / "bank" / "test.jsonl.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"test_0", b"train_0")))
    with pytest.raises(DataError, match="1 names belong to several statements each, first 'train_0'"):
        data.load(settings, tmp_path / "segments")


def test_a_warm_start_is_named_by_all_it_depends_on(tmp_path: Path) -> None:
    settings = LearnerSettings(bank=str(write_bank(tmp_path / "bank")))
    loaded = data.load(settings, tmp_path / "segments")
    first = key(settings, loaded)
    settings.trainer.ranks, settings.trainer.threads = 2, 7
    assert key(settings, loaded) == first
    settings.trainer.batch += 1
    second = key(settings, loaded)
    settings.seed += 1
    assert len({first, second, key(settings, loaded)}) == 3


async def test_a_given_checkpoint_that_is_not_there_is_said_with_its_option(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, checkpoint=str(tmp_path / "nowhere"))
    loaded = data.load(settings, tmp_path / "segments")
    trainer = StandInTrainer(tmp_path)

    async def report(step: int, values: dict[str, float]) -> None:
        raise AssertionError("nothing is measured")

    with pytest.raises(DataError, match=r"warm_start\.checkpoint: .*nowhere"):
        await warm_start(settings, loaded, trainer, report, logging.getLogger())


async def test_a_warm_start_ends_with_falling_rates_when_its_loss_falls_no_more_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    settings = LearnerSettings(bank=str(write_bank(tmp_path / "bank")))
    settings.warm_start.every, settings.warm_start.patience, settings.warm_start.decay = 2, 2, 0.5
    loaded = data.load(settings, tmp_path / "segments")
    trainer = StandInTrainer(tmp_path)
    checkpoint.save(trainer.root / "step-000000", tiny_model(), tiny_tokenizer(), step=0)
    trainer.losses = [1.0, 0.5, 0.499, 0.498, 0.4]
    told: list[float] = []

    async def report(step: int, values: dict[str, float]) -> None:
        told.extend(loss for name, loss in values.items() if name == "valid_loss")

    log = structlog.get_logger()
    result = await warm_start(settings, loaded, trainer, report, log)
    assert result.losses == [(2, 1.0), (4, 0.5), (6, 0.499), (8, 0.498), (12, 0.4)]
    assert [factor for _, factor in trainer.batches] == [1.0] * 8 + [0.875, 0.625, 0.375, 0.125]
    assert not result.cached and trainer.saved == [2, 4, 6, 8, 12]
    again = StandInTrainer(tmp_path / "again")
    cached = await warm_start(settings, loaded, again, report, log)
    assert cached == msgspec.structs.replace(result, cached=True) and not again.batches
    assert [each.name for each in again.root.iterdir()] == ["step-000000"] and told == 2 * [1.0, 0.5, 0.499, 0.498, 0.4]
