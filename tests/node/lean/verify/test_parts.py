"""Batches: messages are sorted by part, batches are split, proofs that depend on declarations of others are found."""

import random

import msgspec
import pytest

from node.lean.check.verify import judge as sharing
from node.lean.check.verify.checks import LeanMessage, batchable, parted_file, read_report, split_batch
from node.lean.check.verify.judge import UnreadableModule
from node.lean.olean.declarations import uses
from tests.node.lean.olean.forging import compile_text, opened

HEADER = "import A\nopen B"
PARTS = [["theorem a : P := by", "  p"], ["theorem b : Q :=\n  by q"], ["theorem c : R := by r"]]
FILE = parted_file(HEADER, PARTS, ["start", "one", "two", "three"])


def message(line: int | None, data: str, severity: str = "information") -> LeanMessage:
    place = None if line is None else {"line": line, "column": 0}
    return msgspec.convert({"severity": severity, "data": data, "pos": place}, LeanMessage)


MARKS = [message(3, "start"), message(6, "one"), message(9, "two"), message(11, "three")]


def test_what_a_proof_prints_is_no_mark():
    for forged in (message(9, "one"), message(5, "two"), message(9, "two "), message(None, "two")):
        report = read_report(FILE, [MARKS[0], MARKS[1], forged, MARKS[3]])
        assert [part.complete for part in report.parts] == [True, False, False]


def test_whatever_happens_each_proof_is_checked_again_once_and_batches_get_smaller():
    rng = random.Random(5)
    for _ in range(2000):
        number = rng.randrange(2, 12)
        to_blame = set(rng.sample(range(number), rng.randrange(number + 1)))
        cut_at = rng.choice([None, rng.randrange(number + 1)])
        groups = split_batch(number, to_blame, cut_at=cut_at)
        assert sorted(each for group in groups for each in group) == list(range(number))
        assert all(0 < len(group) < number for group in groups)
        alone = to_blame | ({cut_at} if cut_at is not None and cut_at < number else set())
        assert all([each] in groups for each in alone)


def test_only_headers_that_declare_nothing_are_shared():
    assert batchable("") and batchable("import Mathlib\nopen Nat\n\nset_option maxRecDepth 100\nuniverse u")
    for declares in ("axiom mine : False", "open Nat\ninstance : Inhabited Nat := ⟨0⟩", "openly", "section"):
        assert not batchable(declares)


TOKENS = ["Kaaaa", "Kbbbb", "Kcccc"]

ALONE = """
theorem Kaaaa.t (p : Prop) : p → p := by intro h; match h with | h => exact h
theorem Kbbbb.t : ∀ x : Nat × Nat, ∃ y, y = x := by intro x; match x with | (a, b) => exact ⟨_, rfl⟩
def Kcccc.t : Nat := 123456789012345678901234567890
"""


def dependent_proofs(olean, tokens: list[str]) -> set[int]:
    """As `sharing.dependent_proofs`, for a compiled file. Raises UnreadableModule and BadOlean."""
    with opened(olean) as module:
        return sharing.dependent_proofs(uses(module, module.reader.terms), tokens)


@pytest.mark.lean
async def test_what_belongs_to_no_proof_has_one_user_or_none(tmp_path):
    text = "theorem lemma_1 : True := trivial\ntheorem Kaaaa.t : True := lemma_1\ntheorem Kbbbb.t : 1 = 1 := rfl\n"
    assert dependent_proofs(await compile_text(text, tmp_path), TOKENS) == set()
    text += "theorem Kcccc.t : True := lemma_1\n"
    assert dependent_proofs(await compile_text(text, tmp_path), TOKENS) == {0, 2}


@pytest.mark.lean
async def test_what_belongs_to_two_or_carries_one_to_another_is_no_clean_batch(tmp_path):
    for more in (
        "theorem Kaaaa.Kbbbb.t : True := trivial\n",
        "theorem Kaaaa.u : True := trivial\ntheorem other : True := Kaaaa.u\n",
        "theorem one : True := trivial\ntheorem foo.eq_1 : True := one\n",
    ):
        with pytest.raises(UnreadableModule, match=r"cannot be assigned to a single proof|belongs to no proof"):
            dependent_proofs(await compile_text(ALONE + more, tmp_path), TOKENS)
