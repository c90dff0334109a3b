"""What the bank `witness` promises, read off its files; Lean checks a sample of its proofs."""

from __future__ import annotations

import random

import msgspec
import pytest

from common.lean import Theorem
from data.generators.build import manifest_of
from data.generators.lean_check import load_truth, refused
from data.generators.normal_form import normal_form, skeleton
from data.generators.profiles import WITNESS
from node.bank import bank
from node.learner.choosing import banks

pytestmark = pytest.mark.generators

DIRECTORY = bank.BUNDLED["witness"]


@pytest.fixture(scope="module")
def theorems() -> dict[str, list[Theorem]]:
    return {split: [row.theorem for row in bank.load_statements(split, DIRECTORY)] for split in bank.SPLITS}


def test_the_manifest_is_the_generators() -> None:
    made = manifest_of(scale=1.0, seed=1, profile=WITNESS)
    assert bank.manifest_of(DIRECTORY) == msgspec.structs.replace(made, digest=bank.digest(DIRECTORY))


def test_no_shape_is_in_two_splits_and_no_statement_is_there_twice(theorems: dict[str, list[Theorem]]) -> None:
    forms = [normal_form(theorem) for split in bank.SPLITS for theorem in theorems[split]]
    assert len(forms) == len(set(forms))
    shapes = {split: {skeleton(theorem) for theorem in theorems[split]} for split in bank.SPLITS}
    assert not shapes["train"] & shapes["test"] and not shapes["train"] & shapes["valid"]


def test_no_statement_is_one_that_pocket_is_evaluated_on(theorems: dict[str, list[Theorem]]) -> None:
    evaluated = {
        normal_form(row.theorem) for split in ("valid", "test") for row in bank.load_statements(split, bank.DIRECTORY)
    }
    assert not evaluated & {normal_form(theorem) for split in bank.SPLITS for theorem in theorems[split]}


def test_a_learner_takes_it_by_name_beside_pocket() -> None:
    parts = banks.parts_of("", ["pocket*0.5", "witness"])
    assert [part.directory for part in parts] == [bank.DIRECTORY, DIRECTORY]


@pytest.mark.lean
def test_lean_accepts_a_sample_of_the_proofs(theorems: dict[str, list[Theorem]]) -> None:
    truth = load_truth(DIRECTORY)
    everything = [theorem for split in bank.SPLITS for theorem in theorems[split]]
    assert {theorem.name for theorem in everything} == set(truth)
    sample = random.Random(3).sample(everything, 20)
    assert refused([(theorem, truth[theorem.name].script) for theorem in sample]) == []
