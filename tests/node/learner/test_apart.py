"""What evaluations have is not trained on: neither as a statement, under whatever name, nor as a transition."""

from pathlib import Path
from typing import Any

import pytest

from node.bank import bank
from node.learner.choosing import data
from node.learner.settings import LearnerSettings
from tests.node.learner.builders import write_rows as write


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
def test_what_an_evaluation_states_is_left_out_of_training_in_all_its_forms_and_said_in_one_line(
    tmp_path: Path, split: Any
) -> None:
    bank = tmp_path / "bank"
    swapped = statement("swapped", "{Q : Nat → Prop} (hn : ∀ (y : Nat), ¬ Q y) (m : Nat) (h : ∃ z, Q z)", "m = 0")
    harder = statement("harder", "(n : Nat) (h : 1 < n)", "n ≠ 0")
    write(bank / "train.jsonl.gz", [*OTHERS, SAME, RENAMED, swapped, harder])
    scored = statement("s2", "(P : Nat → Prop) (m : Nat) (h : ∃ x, P x) (none : ∀ x, ¬ P x)", "m  = 0")
    write(bank / f"{split}.jsonl.gz", [SCORED, scored])
    leaks = [
        transition("scored", "⊢ False"),  # a step of its own proof
        transition("same", "⊢ True"),  # of the same statement under another name
        transition("t1", "n : Nat\nh : 0 < n\n⊢ n ≠ 0"),  # the statement itself, met elsewhere
        transition("t2", "⊢ ∀ (n : Nat)  (h : 0 < n), n ≠ 0"),
        transition("t3", "x m✝ : Nat\nhx : 0 < m✝\n⊢ m✝ ≠ 0") | {"theorem": "renamed"},
        transition("t4", "a : Nat\nleft : 0 < a\n⊢ a ≠ 0"),
    ]
    write(bank / "transitions.jsonl.gz", [*HARMLESS, *leaks])
    settings = LearnerSettings(bank=str(bank))
    settings.evaluation.split = split
    loaded = data.load(settings, tmp_path / "segments")
    assert {row.theorem.name for row in loaded.train} == {each["name"] for each in [*OTHERS, harder]}
    assert len(loaded.supervised) + len(loaded.validation) == len(HARMLESS)
    assert loaded.notes == [
        "3 train statements (first same) and 6 transitions are left out of training: "
        "evaluations have the same statements"
    ]


def test_a_bank_whose_transitions_were_left_out_shares_no_warm_start_with_the_whole_one(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    write(folder / "train.jsonl.gz", [*OTHERS, SAME])
    write(folder / "test.jsonl.gz", [SCORED])
    write(folder / "valid.jsonl.gz", [statement("other", "", "0 = 0 ∧ True")])
    write(folder / "transitions.jsonl.gz", [*HARMLESS, transition("same", "⊢ True")])
    digests = set()
    for split in ("test", "valid"):
        settings = LearnerSettings(bank=str(folder))
        settings.evaluation.split = split  # type: ignore[assignment]
        digests.add(data.load(settings, tmp_path / "segments").digest)
    assert len(digests) == 1 and bank.digest(folder) not in digests


def test_transitions_of_one_bank_give_away_no_statement_of_another(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one / "train.jsonl.gz", [*OTHERS, SAME])
    write(one / "transitions.jsonl.gz", [*HARMLESS, transition("same", "⊢ True")])
    write(two / "test.jsonl.gz", [SCORED])
    settings = LearnerSettings(banks=[str(one), str(two)])
    settings.evaluation.every = 5
    loaded = data.load(settings, tmp_path / "segments")
    assert len(loaded.supervised) + len(loaded.validation) == len(HARMLESS)
    assert [row.theorem.name for row in loaded.beside] == ["scored"]


def test_statements_of_evaluations_beside_learning_come_from_all_banks_and_are_among_the_others(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name / "train.jsonl.gz", [statement(f"{name}-t", "", f"{len(name)} = {name!r}")])
        rows = [statement(f"{name[0]}{index}", "", f"{index} < {name!r}") for index in range(20)]
        write(tmp_path / name / "test.jsonl.gz", rows)
    settings = LearnerSettings(banks=[str(tmp_path / "one"), str(tmp_path / "two")])
    settings.warm_start.checkpoint = "some/where"
    settings.evaluation.every, settings.evaluation.statements, settings.evaluation.beside_statements = 5, 20, 8
    loaded = data.load(settings, tmp_path / "segments")
    assert len(loaded.beside) == 8 and {row.family for row in loaded.beside} == {"o", "t"}
    assert loaded.scored == loaded.test, "every one of the few is among the many"
    settings.evaluation.every = 0
    assert data.load(settings, tmp_path / "segments").beside == []
