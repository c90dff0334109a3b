"""What the banks promise in which a proof has to be searched, read off their files; Lean checks a sample of proofs."""

from __future__ import annotations

import random

import msgspec
import pytest

from common.lean import Theorem
from data.generators.build import manifest_of
from data.generators.families.puzzles import PUZZLES as PERMUTATIONS, distances
from data.generators.families.words import DEEP
from data.generators.lean_check import load_truth, refused
from data.generators.profiles import PUZZLES, WORDS, Profile
from node.bank import bank
from node.learner.choosing import banks

pytestmark = pytest.mark.generators

Rows = dict[str, list[bank.BankTheorem]]

each_bank = pytest.mark.parametrize(
    ("profile", "families", "least"), [(WORDS, set(DEEP), 7), (PUZZLES, set(PERMUTATIONS), 8)], ids=["words", "puzzles"]
)


def rows_of(profile: Profile) -> Rows:
    return {split: bank.load_statements(split, bank.BUNDLED[profile.name]) for split in bank.SPLITS}


@each_bank
def test_its_manifest_is_the_generators_and_allows_rewriting_alone(
    profile: Profile, families: set[str], least: int
) -> None:
    made = manifest_of(scale=1.0, seed=1, profile=profile)
    directory = bank.BUNDLED[profile.name]
    found = bank.manifest_of(directory)
    assert found == msgspec.structs.replace(made, digest=bank.digest(directory)) and found.allow == ("rfl", "rw")


@each_bank
def test_evaluated_statements_are_deep_and_those_of_the_warm_start_are_short(
    profile: Profile, families: set[str], least: int
) -> None:
    rows = rows_of(profile)
    evaluated = [*rows["valid"], *rows["test"]]
    assert len(rows["test"]) >= 200 and {row.family for row in evaluated} == families
    assert min(row.level for row in evaluated) == least and max(profile.warm_start.levels) == 4
    steps = load_truth(bank.BUNDLED[profile.name])
    for row in random.Random(1).sample(evaluated, 60):
        assert len(steps[row.theorem.name].script.splitlines()) == row.level


@each_bank
def test_a_learner_takes_it_by_name(profile: Profile, families: set[str], least: int) -> None:
    assert [part.directory for part in banks.parts_of("", [profile.name])] == [bank.BUNDLED[profile.name]]


@pytest.mark.lean
@each_bank
def test_lean_accepts_a_sample_of_the_proofs(profile: Profile, families: set[str], least: int) -> None:
    rows, truth = rows_of(profile), load_truth(bank.BUNDLED[profile.name])
    everything: list[Theorem] = [row.theorem for split in bank.SPLITS for row in rows[split]]
    sample = random.Random(3).sample(everything, 20)
    assert refused([(theorem, truth[theorem.name].script) for theorem in sample]) == []


def test_no_proof_of_a_puzzle_is_shorter_than_its_level() -> None:
    for row in rows_of(PUZZLES)["test"]:
        pieces = row.theorem.conclusion.split(" = ")[0].removeprefix("P ").split()
        left, _ = distances(row.family)
        assert left[tuple(int(piece) - 1 for piece in pieces)] == row.level
