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


def test_a_message_belongs_to_the_part_in_whose_lines_it_stands():
    wrong = [message(5, "no", "error"), message(8, "not this", "error"), message(7, "hm", "warning")]
    report = read_report(FILE, [*wrong, *MARKS])
    assert [part.errors for part in report.parts] == [["no"], ["not this"], []]
    assert [len(part.messages) for part in report.parts] == [1, 2, 0]
    assert all(part.complete for part in report.parts) and report.reached == 3 and report.stray_errors == ()


def test_a_part_without_its_marks_is_not_complete():
    for missing, complete in [(0, [0, 1, 1]), (1, [0, 0, 1]), (2, [1, 0, 0]), (3, [1, 1, 0])]:
        report = read_report(FILE, [mark for number, mark in enumerate(MARKS) if number != missing])
        assert [part.complete for part in report.parts] == [bool(each) for each in complete]
        assert report.reached == complete.index(0)


def test_what_a_proof_prints_is_no_mark():
    for forged in (message(9, "one"), message(5, "two"), message(9, "two "), message(None, "two")):
        report = read_report(FILE, [MARKS[0], MARKS[1], forged, MARKS[3]])
        assert [part.complete for part in report.parts] == [True, False, False]


def test_errors_of_the_header_or_without_a_place_belong_to_nobody():
    for line in (1, 2, None, 12):
        assert read_report(FILE, [*MARKS, message(line, "lost", "error")]).stray_errors == ("lost",)


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
