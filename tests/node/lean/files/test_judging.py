"""Names in verdicts, and the dependencies of a compiled file's declarations."""

from collections.abc import Iterator

import pytest

from node.lean.check.files.commands import Text
from node.lean.check.files.judging import first_line, name_in, shown_name, unsupported
from node.lean.check.files.report import FileReport
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain


def test_private_names_are_shown_without_their_mark() -> None:
    assert shown_name("_private.A.B.0.C.t") == "C.t"
    assert shown_name("C.t") == "C.t"


def test_a_command_is_named_as_the_file_names_it() -> None:
    for written, name in (
        ("@[simp] theorem a.b (n : Nat) : n = n := rfl\n", "a.b"),
        ("example : 1 = 2 := rfl\n", "example"),
        ("def «x y» : Nat := 1\n", "«x y»"),
        ("#eval 1\n", ""),
    ):
        text = Text(written)
        assert name_in(text, text.command(0, len(written))) == name, written


def test_the_beginning_of_a_command_is_short_and_as_written() -> None:
    written = "example :\n  1 = 2 := " + "rfl " * 40
    text = Text(written)
    shown = first_line(text, text.command(0, len(written)))
    assert shown.startswith("example : 1 = 2 := rfl")
    assert len(shown) == 60


def test_axioms_beside_the_permitted_ones_are_told_in_order() -> None:
    assert unsupported(["a"], ["c", "a", "b"]) == ["b", "c"]


@pytest.fixture
def verifier() -> Iterator[FileVerifier]:
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=1, seconds=60, memory_mb=1024)
    yield verifier
    verifier.close()


def depends(report: FileReport) -> dict[str, list[str]]:
    assert report.problem == "", report.problem
    return {each.name: [str(item) for item in each.depends] for each in report.declarations}


@pytest.mark.lean
@pytest.mark.timeout(300)
async def test_a_statement_that_needs_its_file_names_its_definitions_and_all_syntax_above_it(
    verifier: FileVerifier,
) -> None:
    text = (
        "def double (n : Nat) : Nat := n + n\n"
        "def unused (n : Nat) : Nat := n theorem before : 1 = 1 := rfl\n"
        'notation "twice" n => double n\n'
        "structure Pair where\n  left : Nat\n  right : Nat\n"
        "theorem plain (n : Nat) : n + 0 = n := rfl\n"
        "theorem used (n : Nat) : (twice n) = n + n := rfl\n"
        "theorem of_pair (p : Pair) : p.left = p.1 := rfl\n"
        "theorem in_proof_alone : True := have _ := unused 1; trivial\n"
    )
    report = await verifier.verify_text(text)
    notation = 'notation "twice" n => double n (notation, line 3)'
    assert depends(report) == {
        "before": [],
        "plain": [],  # it means the same without the rest of the file
        "used": ["double (def, line 1)", notation],
        "of_pair": ["Pair (structure, line 4)", notation],
        "in_proof_alone": [],
    }
    assert report.accepted


@pytest.mark.lean
@pytest.mark.timeout(300)
async def test_axioms_of_the_file_reach_all_that_rests_on_them(verifier: FileVerifier) -> None:
    text = "axiom odd : 1 = 2\ndef one : 1 = 2 := odd\ntheorem two : 2 = 1 := one.symm\ntheorem three : 1 = 1 := rfl\n"
    report = await verifier.verify_text(text)
    assert {each.name: each.reason for each in report.declarations} == {
        "two": "it uses other axioms than Lean's own: odd",
        "three": "",
    }
