"""What the banks promise in which a proof has to be searched, read off their files; Lean checks a sample of proofs."""

from __future__ import annotations

import random

import msgspec
import pytest

from common.lean import Theorem
from data.generators.build import manifest_of
from data.generators.families.accumulators import KINDS
from data.generators.families.combinators import BASES, LAWS, applied, normal
from data.generators.families.puzzles import PUZZLES as PERMUTATIONS, distances
from data.generators.families.words import DEEP
from data.generators.lean_check import load_truth, refused
from data.generators.normal_form import skeleton
from data.generators.profiles import ACCUMULATORS, COMBINATORS, PUZZLES, WORDS, Profile
from node.bank import bank
from node.learner.choosing import banks

pytestmark = pytest.mark.generators

Rows = dict[str, list[bank.BankTheorem]]

each_bank = pytest.mark.parametrize(
    ("profile", "families", "short", "least"),
    [
        (WORDS, set(DEEP), 4, 7),
        (PUZZLES, set(PERMUTATIONS), 4, 8),
        (ACCUMULATORS, set(KINDS), 9, 13),
        (COMBINATORS, set(BASES), 9, 12),
    ],
    ids=["words", "puzzles", "accumulators", "combinators"],
)
"""Banks, the families that are evaluated, the longest proofs of the warm start and the shortest ones of test."""


def rows_of(profile: Profile) -> Rows:
    return {split: bank.load_statements(split, bank.BUNDLED[profile.name]) for split in bank.SPLITS}


@each_bank
def test_its_manifest_is_the_generators(profile: Profile, families: set[str], short: int, least: int) -> None:
    made = manifest_of(scale=1.0, seed=1, profile=profile)
    directory = bank.BUNDLED[profile.name]
    found = bank.manifest_of(directory)
    assert found == msgspec.structs.replace(made, digest=bank.digest(directory)) and found.allow


@each_bank
def test_evaluated_statements_are_deep_and_those_of_the_warm_start_are_short(
    profile: Profile, families: set[str], short: int, least: int
) -> None:
    rows = rows_of(profile)
    evaluated = [*rows["valid"], *rows["test"]]
    assert len(rows["test"]) >= 190 and {row.family for row in evaluated} == families
    assert min(row.level for row in evaluated) == least and max(profile.warm_start.levels) == short
    steps = load_truth(bank.BUNDLED[profile.name])
    for row in random.Random(1).sample(evaluated, 60):
        assert len(steps[row.theorem.name].script.splitlines()) == row.level


@each_bank
def test_a_learner_takes_it_by_name(profile: Profile, families: set[str], short: int, least: int) -> None:
    assert [part.directory for part in banks.parts_of("", [profile.name])] == [bank.BUNDLED[profile.name]]


@pytest.mark.lean
@each_bank
def test_lean_accepts_a_sample_of_the_proofs(profile: Profile, families: set[str], short: int, least: int) -> None:
    rows, truth = rows_of(profile), load_truth(bank.BUNDLED[profile.name])
    everything: list[Theorem] = [row.theorem for split in bank.SPLITS for row in rows[split]]
    sample = random.Random(3).sample(everything, 20)
    assert refused([(theorem, truth[theorem.name].script) for theorem in sample]) == []


def test_no_proof_of_a_puzzle_is_shorter_than_its_level() -> None:
    for row in rows_of(PUZZLES)["test"]:
        pieces = row.theorem.conclusion.split(" = ")[0].removeprefix("P ").split()
        left, _ = distances(row.family)
        assert left[tuple(int(piece) - 1 for piece in pieces)] == row.level


@each_bank
def test_no_shape_is_in_two_splits(profile: Profile, families: set[str], short: int, least: int) -> None:
    shapes = {split: {(row.family, skeleton(row.theorem)) for row in rows} for split, rows in rows_of(profile).items()}
    assert not (shapes["train"] | shapes["valid"]) & shapes["test"] and not shapes["train"] & shapes["valid"]


def test_a_witness_of_combinators_is_reduced_to_what_the_laws_say() -> None:
    assert set("".join(BASES)) <= set(LAWS)
    assert normal(applied("S", ["K", "K", "x"])) == "x"
    assert normal(applied("B", ["C", "T", "x", "y", "z"])) == (("z", "x"), "y")
