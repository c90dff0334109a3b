"""Mixtures of banks by weight."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.lean import Context, Place, Theorem
from node.bank import bank
from node.bank.importing import Imported, write as write_imported
from node.learner.choosing import data
from node.learner.choosing.banks import BankPart, BanksError, load as load_banks, parse, parts_of
from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
from node.learner.settings import LearnerSettings
from tests.node.learner.builders import choose, write_bank, write_rows


def write(folder: Path, **splits: list[tuple[str, str]]) -> Path:
    """A bank of (name, conclusion) without transitions."""
    for split, statements in splits.items():
        rows = [
            {"name": name, "binders": "", "conclusion": conclusion, "family": folder.name, "level": 1}
            for name, conclusion in statements
        ]
        write_rows(folder / f"{split}.jsonl.gz", rows)
    return folder


def settings(*banks: str, **changes: Any) -> LearnerSettings:
    found = LearnerSettings(banks=list(banks), **changes)
    found.warm_start.checkpoint = "some/where"
    return found


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("pocket", BankPart("pocket")),
        ("pocket*0.5", BankPart("pocket", 0.5)),
        ("my/bank*2", BankPart("my/bank", 2.0)),
        ("bank:my/bank", BankPart("my/bank")),
    ],
)
def test_a_bank_is_a_folder_and_a_weight(text: str, part: BankPart) -> None:
    assert parse(text) == part


@pytest.mark.parametrize(
    ("one", "several", "says"),
    [
        ("a", ["b"], "bank and banks are both given"),
        ("", ["a", "./a*2"], "named more than once"),
        ("", [""], "write FOLDER or FOLDER"),
        ("", ["a*0"], "more than 0"),
    ],
)
def test_banks_in_no_known_form_are_refused(one: str, several: list[str], says: str) -> None:
    with pytest.raises(BanksError, match=says):
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
    assert alone.digest == bank.digest(one) != loaded.digest
    assert set(alone.factors or []) == {1.0}
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
    assert [row.theorem.name for row in loaded.train] == ["b", "c", "e"]
    assert [row.theorem.name for row in loaded.test] == ["f"]
    assert loaded.notes == [
        "1 train statements (first a) and 0 transitions are left out of training: evaluations have the same statements",
        "1 train statements are left out: another of the banks has them, too",
    ]


@pytest.mark.parametrize("split", ["test", "valid"])
def test_no_split_that_is_held_out_is_trained_on_whichever_is_scored(tmp_path: Path, split: str) -> None:
    one = write(tmp_path / "one", train=[("a", "1 = 1"), ("b", "2 = 2"), ("c", "3 = 3")], valid=[("v", "4 = 4")])
    two = write(tmp_path / "two", train=[("d", "5 = 5")], valid=[("w", "1 = 1")], test=[("t", "2 = 2")])
    loaded = load_banks([BankPart(str(one)), BankPart(str(two))], split, scored=True)
    assert [each.theorem.name for each, _ in loaded.train] == ["c", "d"]
    assert {each.theorem.name for each in loaded.scored} == ({"t"} if split == "test" else {"v", "w"})


def test_gaps_of_two_files_that_read_alike_are_two_statements(tmp_path):
    texts = {"train": "variable (p : Prop) (h : p)\n", "test": "variable (p : Nat → Prop) (n : Nat) (h : p n)\n"}
    places = {split: Place(Context.of(text), "theorem t : p := by\n  ", "\n") for split, text in texts.items()}
    gaps = [Imported(Theorem(split, "", "p", place=place), split, "s", "f") for split, place in places.items()]
    assert write_imported(gaps, tmp_path / "bank").scored == 0
    content = load_banks([BankPart(str(tmp_path / "bank"))], "test", scored=True)
    assert [each.theorem.name for each, _ in content.train] == ["train"] and len(content.scored) == 1
    assert write_imported([*gaps, replace(gaps[0], split="test")], tmp_path / "other").scored == 1
