"""Files of many parts: messages are sorted by part, and batches are split."""

import random

import msgspec

from node.lean.check.verify.checks import LeanMessage, batchable, parted_file, read_report, split_batch

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
