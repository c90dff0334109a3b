"""What the bank `words` promises, read off its files; Lean checks a sample of its proofs."""

from __future__ import annotations

import random

import msgspec
import pytest

from common.lean import Theorem
from data.generators.build import manifest_of
from data.generators.families.words import DEEP
from data.generators.lean_check import load_truth, refused
from data.generators.profiles import WORDS
from node.bank import bank
from node.learner.choosing import banks

pytestmark = pytest.mark.generators

DIRECTORY = bank.BUNDLED["words"]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[bank.BankTheorem]]:
    return {split: bank.load_statements(split, DIRECTORY) for split in bank.SPLITS}


def test_the_manifest_is_the_generators_and_allows_rewriting_alone() -> None:
    made = manifest_of(scale=1.0, seed=1, profile=WORDS)
    found = bank.manifest_of(DIRECTORY)
    assert found == msgspec.structs.replace(made, digest=bank.digest(DIRECTORY)) and found.allow == ("rfl", "rw")


def test_evaluated_statements_are_deep_and_those_of_the_warm_start_are_short(
    rows: dict[str, list[bank.BankTheorem]],
) -> None:
    evaluated = [*rows["valid"], *rows["test"]]
    assert len(rows["test"]) >= 200 and {row.family for row in evaluated} == set(DEEP)
    assert min(row.level for row in evaluated) == 7 and max(WORDS.warm_start.levels) == 4
    steps = load_truth(DIRECTORY)
    for row in random.Random(1).sample(evaluated, 60):
        assert len(steps[row.theorem.name].script.splitlines()) == row.level


def test_a_learner_takes_it_by_name() -> None:
    assert [part.directory for part in banks.parts_of("", ["words"])] == [DIRECTORY]


@pytest.mark.lean
def test_lean_accepts_a_sample_of_the_proofs(rows: dict[str, list[bank.BankTheorem]]) -> None:
    truth = load_truth(DIRECTORY)
    everything: list[Theorem] = [row.theorem for split in bank.SPLITS for row in rows[split]]
    sample = random.Random(3).sample(everything, 20)
    assert refused([(theorem, truth[theorem.name].script) for theorem in sample]) == []
