"""Names in verdicts, and the dependencies of a compiled file's declarations."""

from collections.abc import Iterator

import pytest

from node.lean.check.files.report import FileReport
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain


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
