"""What a learner is trained on and measured on: banks and their mixtures, what is kept apart, the warm start."""

import gzip
import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from common.lean import Context, Place, Theorem
from node.bank import bank
from node.bank.bank import BankTransition
from node.bank.importing import Imported, write as write_imported
from node.learner.choosing import data
from node.learner.choosing.banks import BankPart, load as load_banks, parse, parts_of
from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
from node.learner.errors import DataError
from node.learner.learning.warm_start import key, warm_start
from node.learner.settings import LearnerSettings
from node.model import checkpoint
from tests.node.learner.builders import choose, write_bank, write_rows
from tests.node.learner.stand_in import StandInTrainer
from tests.node.model.tiny import tiny_model, tiny_tokenizer

LEFT_OUT = "are left out of training: evaluations have the same statements"


def test_a_warm_start_can_use_a_share_of_the_theorems_and_the_same_are_held_out_everywhere() -> None:
    rows = [BankTransition(f"t{index % 200}", 1, "f", f"s{index}", f"rw [h{index % 200}]", 1) for index in range(2000)]
    whole, held_out = data.split_held_out(rows)
    assert len(whole) + len(held_out) == 2000 and 0 < len(held_out) < 600
    assert data.split_held_out(rows[:1]) in (([whole[0]], []), ([], [held_out[0]]))
    part, same = data.split_held_out(rows, 0.4)
    assert same == held_out and 0.25 < len(part) / len(whole) < 0.55
    assert {each.state for each in part} < {each.state for each in whole}
    tactics = {each.tactic for each in part}
    assert len(part) == 10 * len(tactics), "a theorem is used with all its steps or not at all"
    assert data.split_held_out(rows, 0.0)[0] == []


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


def test_one_name_for_two_statements_and_no_others_than_those_to_be_scored_are_refused(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, checkpoint="some/where")
    train, test = (tmp_path / "bank" / f"{split}.jsonl.gz" for split in ("train", "test"))
    test.write_bytes(gzip.compress(gzip.decompress(test.read_bytes()).replace(b"test_0", b"train_0")))
    with pytest.raises(DataError, match="1 names belong to several statements each, first 'train_0'"):
        data.load(settings, tmp_path / "segments")
    settings.plan.evaluate = True
    test.write_bytes(train.read_bytes())
    with pytest.raises(DataError, match="no train statements"):
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


async def test_a_warm_start_ends_when_its_loss_falls_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert not result.cached and not result.cut and trainer.saved == [2, 4, 6, 8, 12]
    again = StandInTrainer(tmp_path / "again")
    cached = await warm_start(settings, loaded, again, report, log)
    assert cached == msgspec.structs.replace(result, cached=True) and not again.batches
    assert [each.name for each in again.root.iterdir()] == ["step-000000"] and told == 2 * [1.0, 0.5, 0.499, 0.498, 0.4]


async def test_a_warm_start_that_its_time_limit_ends_is_not_kept_for_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    settings = LearnerSettings(bank=str(write_bank(tmp_path / "bank")))
    settings.warm_start.seconds = 0.0
    loaded = data.load(settings, tmp_path / "segments")

    async def report(step: int, values: dict[str, float]) -> None: ...

    for folder in ("first", "second"):
        trainer = StandInTrainer(tmp_path / folder)
        checkpoint.save(trainer.root / "step-000000", tiny_model(), tiny_tokenizer(), step=0)
        trainer.losses = [1.0]
        result = await warm_start(settings, loaded, trainer, report, structlog.get_logger())
        assert result.cut and not result.cached and trainer.batches


# --- mixtures of banks by weight --------------------------------------------------------------------------------------
def write(folder: Path, **splits: list[tuple[str, str]]) -> Path:
    """A bank of (name, conclusion) without transitions."""
    for split, statements in splits.items():
        rows = [statement(name, "", conclusion) | {"family": folder.name} for name, conclusion in statements]
        write_rows(folder / f"{split}.jsonl.gz", rows)
    return folder


def settings(*banks: str, **changes: Any) -> LearnerSettings:
    found = LearnerSettings(banks=list(banks), **changes)
    found.warm_start.checkpoint = "some/where"
    return found


def test_a_bank_is_a_folder_and_a_weight_and_perhaps_families() -> None:
    two = frozenset({"a b", "c"})
    parts = [("pocket", 1.0), ("pocket", 0.5), ("my/bank", 2.0), ("my/bank", 1.0), ("b", 1.0, two), ("b", 0.5, two)]
    texts = ("pocket", "pocket*0.5", "my/bank*2", "bank:my/bank", "b[a b,c]", "b[c, a b ]*0.5")
    assert [parse(text) for text in texts] == [BankPart(*part) for part in parts]


def test_banks_whose_folders_have_the_same_name_have_labels_of_their_own() -> None:
    parts = parts_of("", ["a/bank", "b/bank*2", "pocket", "c/bank[x]"])
    assert [part.label for part in parts] == ["bank", "bank-2", "pocket", "bank-3"]


@pytest.mark.parametrize(
    ("one", "several", "says"),
    [
        ("a", ["b"], "bank and banks are both given"),
        ("", ["a", "./a*2"], "named more than once"),
        ("", [""], "write FOLDER, FOLDER"),
        ("", ["a*0"], "more than 0"),
        ("", ["a[]"], "name no family"),
        ("", ["a[b]", "a[c]"], "named more than once"),
    ],
)
def test_banks_in_no_known_form_are_refused(one: str, several: list[str], says: str) -> None:
    with pytest.raises(bank.BankError, match=says):
        parts_of(one, several)


def test_a_mixture_holds_the_statements_of_all_its_banks(tmp_path: Path) -> None:
    one = write_bank(tmp_path / "one")
    two = write(tmp_path / "two", train=[("train_0", "1 = 1"), ("new", "2 = 2")], test=[("test_0", "3 = 3")])
    loaded = data.load(settings(f"{one}*1", f"{two}*3"), tmp_path / "segments")
    names = [row.theorem.name for row in loaded.train]
    assert len(names) == 26 and names[-2:] == ["train_0_two", "new"]
    assert {row.family for row in loaded.test} == {"logic", "nat", "two"} and len(loaded.test) == 9
    assert len(loaded.supervised) + len(loaded.validation) == 400 and loaded.notes == []
    alone = data.load(settings(str(one)), tmp_path / "segments")
    assert alone.digest == bank.digest(one) != loaded.digest and set(alone.factors or []) == {1.0}
    assert set(loaded.bank_of) == {row.theorem.name for row in loaded.test} and alone.bank_of == {}
    assert [name for name, label in loaded.bank_of.items() if label == "two"] == ["test_0_two"]


def test_new_theorems_are_attempted_in_proportion_to_their_banks_weights(tmp_path: Path) -> None:
    large = write(tmp_path / "large", train=[(f"l{index}", f"{index} = {index}") for index in range(90)])
    small = write(tmp_path / "small", train=[(f"s{index}", f"{index} + 1 = 1 + {index}") for index in range(10)])
    loaded = data.load(settings(f"{large}*1", f"{small}*3"), tmp_path / "segments")
    matchmaker = Matchmaker([row.theorem.name for row in loaded.train], MatchmakerSettings(), 1, loaded.factors)
    drawn = Counter(choose(matchmaker, number).theorem_id[0] for number in range(2000))  # type: ignore[union-attr]
    assert 0.22 < drawn["l"] / 2000 < 0.28
    for index in range(10):
        matchmaker.recorded(f"s{index}", True, "proved")  # disproved: nothing of the small bank is left
    assert {choose(matchmaker, number).theorem_id[0] for number in range(50)} == {"l"}  # type: ignore[union-attr]


def test_a_banks_weight_counts_for_supervised_transitions_and_evaluations_too(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    for folder, count in ((large, 90), (small, 30)):
        rows = [statement(f"{folder.name}{index}", "", f"{index} = {folder.name!r}") for index in range(2 * count)]
        write_rows(folder / "train.jsonl.gz", rows[:count])
        write_rows(folder / "test.jsonl.gz", rows[count:])
        steps = [transition(row["name"], f"⊢ {folder.name} {row['name']}") for row in rows[:count]]
        write_rows(folder / "transitions.jsonl.gz", steps)
    found = LearnerSettings(banks=[str(large), f"{small}*2"], budget_factors=[f"{small}*4"])
    found.evaluation.statements = 36
    loaded = data.load(found, tmp_path / "run")
    assert Counter(loaded.bank_of[row.theorem.name] for row in loaded.test) == {"large": 12, "small": 24}
    copies = Counter(loaded.supervised)
    times = Counter(copies.values())
    assert set(times) in ({1, 5}, {1, 6}, {1, 7}) and times[1] > 70, (
        "about a third of the transitions, twice the weight"
    )
    assert len(loaded.supervised) - times[1] == pytest.approx(2 * times[1], rel=0.1)
    assert {name.rstrip("0123456789") for name in loaded.budget_factors} == {"small"}
    assert set(loaded.budget_factors.values()) == {4.0} and len(loaded.budget_factors) == 60
    found.evaluation.statements = 1000
    assert len(data.load(found, tmp_path / "run").test) == 120
    found.warm_start.theorems = 0.01
    few = data.load(found, tmp_path / "run")
    assert len(set(few.supervised)) == len(copies), "small banks give all their theorems"
    with pytest.raises(DataError, match="none of the run's banks"):
        data.load(LearnerSettings(banks=[str(large)], budget_factors=[f"{small}*4"]), tmp_path / "run")


def test_of_a_bank_the_named_families_alone_are_used_and_all_that_it_holds_out_stays_out(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    rows = [statement("s0", "", "0 = 1"), statement("s1", "", "9 = 9 ∧ True")]
    write_rows(folder / "train.jsonl.gz", [*OTHERS, SAME, *rows])
    write_rows(folder / "test.jsonl.gz", [SCORED, statement("t99", "", "9 = 9 ∧ True")])
    write_rows(folder / "transitions.jsonl.gz", [each | {"family": "t"} for each in HARMLESS])
    loaded = data.load(settings(f"{folder}[s]"), tmp_path / "run")
    assert [row.theorem.name for row in (*loaded.train, *loaded.test)] == ["s0", "scored"]
    assert not loaded.supervised and loaded.digest != data.load(settings(str(folder)), tmp_path / "run").digest
    with pytest.raises(DataError, match="of the families u, v; it has s, t"):
        data.load(settings(f"{folder}[u, v, t]"), tmp_path / "run")


def test_a_choice_of_statements_keeps_the_proportion(tmp_path: Path) -> None:
    large = write(tmp_path / "large", train=[(f"l{index}", f"{index} = {index}") for index in range(90)])
    small = write(tmp_path / "small", train=[(f"s{index}", f"{index} + 1 = 1 + {index}") for index in range(30)])
    loaded = data.load(settings(str(large), f"{small}*2", statements=40), tmp_path / "segments")
    shares: Counter[str] = Counter()
    for row, factor in zip(loaded.train, loaded.factors or [], strict=True):
        shares[row.family] += factor  # type: ignore[assignment]
    assert len(loaded.train) == 40 and shares["small"] == pytest.approx(2 * shares["large"])


def test_no_bank_trains_on_what_another_is_scored_on(tmp_path: Path) -> None:
    one = write(tmp_path / "one", train=[("a", "1 = 1"), ("b", "2 = 2"), ("c", "2 = 2")])
    two = write(tmp_path / "two", train=[("d", "2 = 2"), ("e", "3 = 3")], test=[("f", "1 = 1")])
    loaded = data.load(settings(str(one), str(two)), tmp_path / "segments")
    assert [row.theorem.name for row in (*loaded.train, *loaded.test)] == ["b", "c", "e", "f"]
    several = "1 train statements are left out: another of the banks has them, too"
    assert loaded.notes == [f"1 train statements (first a) and 0 transitions {LEFT_OUT}", several]


def test_a_statement_that_fits_into_no_message_is_left_out_with_a_note(tmp_path: Path) -> None:
    large = f"{'1 + ' * 150_000}1 = 0"
    folder = write(
        tmp_path / "one", train=[("a", "1 = 1"), ("b", large)], test=[("c", "2 = 2"), ("d", large + " ∨ True")]
    )
    loaded = data.load(settings(str(folder)), tmp_path / "segments")
    assert [row.theorem.name for row in (*loaded.train, *loaded.test)] == ["a", "c"]
    assert [note.rpartition(" ")[2] for note in loaded.notes] == ["b", "d"]


@pytest.mark.parametrize("split", ["test", "valid"])
def test_no_split_that_is_held_out_is_trained_on_whichever_is_scored(tmp_path: Path, split: str) -> None:
    one = write(tmp_path / "one", train=[("a", "1 = 1"), ("b", "2 = 2"), ("c", "3 = 3")], valid=[("v", "4 = 4")])
    two = write(tmp_path / "two", train=[("d", "5 = 5")], valid=[("w", "1 = 1")], test=[("t", "2 = 2")])
    loaded = load_banks([BankPart(str(one)), BankPart(str(two))], split, scored=True)
    assert [each.theorem.name for each, _ in loaded.train] == ["c", "d"]
    assert {each.theorem.name for each, _ in loaded.scored} == ({"t"} if split == "test" else {"v", "w"})


def test_gaps_of_two_files_that_read_alike_are_two_statements(tmp_path):
    texts = {"train": "variable (p : Prop) (h : p)\n", "test": "variable (p : Nat → Prop) (n : Nat) (h : p n)\n"}
    places = {split: Place(Context.of(text), "theorem t : p := by\n  ", "\n") for split, text in texts.items()}
    gaps = [Imported(Theorem(split, "", "p", place=place), split, "s", "f") for split, place in places.items()]
    assert write_imported(gaps, tmp_path / "bank").scored == 0
    content = load_banks([BankPart(str(tmp_path / "bank"))], "test", scored=True)
    assert [each.theorem.name for each, _ in content.train] == ["train"] and len(content.scored) == 1
    assert write_imported([*gaps, replace(gaps[0], split="test")], tmp_path / "other").scored == 1


# --- what evaluations have is not trained on, neither as a statement, under whatever name, nor as a transition --------
def statement(name: str, binders: str, conclusion: str) -> dict[str, Any]:
    return {"name": name, "binders": binders, "conclusion": conclusion, "family": name[0], "level": 1}


def transition(theorem: str, state: str) -> dict[str, Any]:
    return {"theorem": theorem, "level": 1, "family": "f", "state": state, "tactic": "simp", "remaining_steps": 1}


SCORED = statement("scored", "(n : Nat) (h : 0 < n)", "n ≠ 0")
SAME = SCORED | {"name": "same"}
RENAMED = statement("renamed", "(k : Nat) (pos : 0 < k)", "k ≠ 0")
OTHERS = [statement(f"t{number}", "", f"{number} = {number}") for number in range(40)]
HARMLESS = [transition(f"t{number}", f"⊢ {number} = {number}") for number in range(40)]


@pytest.mark.parametrize("split", ["test", "valid"])
def test_what_an_evaluation_states_is_left_out_of_training_in_all_forms_and_said(tmp_path: Path, split: Any) -> None:
    bank = tmp_path / "bank"
    swapped = statement("swapped", "{Q : Nat → Prop} (hn : ∀ (y : Nat), ¬ Q y) (m : Nat) (h : ∃ z, Q z)", "m = 0")
    harder = statement("harder", "(n : Nat) (h : 1 < n)", "n ≠ 0")
    write_rows(bank / "train.jsonl.gz", [*OTHERS, SAME, RENAMED, swapped, harder])
    scored = statement("s2", "(P : Nat → Prop) (m : Nat) (h : ∃ x, P x) (none : ∀ x, ¬ P x)", "m  = 0")
    write_rows(bank / f"{split}.jsonl.gz", [SCORED, scored])
    leaks = [
        transition("scored", "⊢ False"),  # a step of its own proof
        transition("same", "⊢ True"),  # of the same statement under another name
        transition("t1", "n : Nat\nh : 0 < n\n⊢ n ≠ 0"),  # the statement itself, met elsewhere
        transition("t2", "⊢ ∀ (n : Nat)  (h : 0 < n), n ≠ 0"),
        transition("t3", "x m✝ : Nat\nhx : 0 < m✝\n⊢ m✝ ≠ 0") | {"theorem": "renamed"},
        transition("t4", "a : Nat\nleft : 0 < a\n⊢ a ≠ 0"),
    ]
    write_rows(bank / "transitions.jsonl.gz", [*HARMLESS, *leaks])
    settings = LearnerSettings(bank=str(bank))
    settings.evaluation.split = split
    loaded = data.load(settings, tmp_path / "segments")
    assert {row.theorem.name for row in loaded.train} == {each["name"] for each in [*OTHERS, harder]}
    assert len(loaded.supervised) + len(loaded.validation) == len(HARMLESS)
    assert loaded.notes == [f"3 train statements (first same) and 6 transitions {LEFT_OUT}"]


def test_a_bank_whose_transitions_were_left_out_shares_no_warm_start_with_the_whole_one(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    write_rows(folder / "train.jsonl.gz", [*OTHERS, SAME])
    write_rows(folder / "test.jsonl.gz", [SCORED])
    write_rows(folder / "valid.jsonl.gz", [statement("other", "", "0 = 0 ∧ True")])
    write_rows(folder / "transitions.jsonl.gz", [*HARMLESS, transition("same", "⊢ True")])
    digests = set()
    for split in ("test", "valid"):
        settings = LearnerSettings(bank=str(folder))
        settings.evaluation.split = split  # type: ignore[assignment]
        digests.add(data.load(settings, tmp_path / "segments").digest)
    assert len(digests) == 1 and bank.digest(folder) not in digests


def test_transitions_of_one_bank_give_away_no_statement_of_another(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_rows(one / "train.jsonl.gz", [*OTHERS, SAME])
    write_rows(one / "transitions.jsonl.gz", [*HARMLESS, transition("same", "⊢ True")])
    write_rows(two / "test.jsonl.gz", [SCORED])
    settings = LearnerSettings(banks=[str(one), str(two)])
    settings.evaluation.every = 5
    loaded = data.load(settings, tmp_path / "segments")
    assert len(loaded.supervised) + len(loaded.validation) == len(HARMLESS)
    assert [row.theorem.name for row in loaded.beside] == ["scored"]


def test_statements_of_evaluations_beside_learning_come_from_all_banks_and_are_among_the_others(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_rows(tmp_path / name / "train.jsonl.gz", [statement(f"{name}-t", "", f"{len(name)} = {name!r}")])
        rows = [statement(f"{name[0]}{index}", "", f"{index} < {name!r}") for index in range(20)]
        write_rows(tmp_path / name / "test.jsonl.gz", rows)
    settings = LearnerSettings(banks=[str(tmp_path / "one"), str(tmp_path / "two")])
    settings.warm_start.checkpoint = "some/where"
    settings.evaluation.every, settings.evaluation.statements, settings.evaluation.beside_statements = 5, 20, 8
    loaded = data.load(settings, tmp_path / "segments")
    assert len(loaded.beside) == 8 and {row.family for row in loaded.beside} == {"o", "t"}
    assert loaded.scored == loaded.test, "every one of the few is among the many"
    settings.evaluation.every = 0
    assert data.load(settings, tmp_path / "segments").beside == []
