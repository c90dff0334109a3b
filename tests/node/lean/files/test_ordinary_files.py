"""Ordinary Lean, a file for each subject, is accepted and traced completely."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.command import trace
from node.lean.check.files.sources import collect
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.commands import Called
from tests.node.lean.files.verified import Verifying, own_verifying, verdicts

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]

ORDINARY = sorted((Path(__file__).parents[1] / "toolchain" / "pocket" / "ordinary").glob("*.lean"))
SAMPLE = [file for file in ORDINARY if file.stem == "Sections"]


MODULE = "module @[expose] public section "
"""Put before a text, it makes it a module that hides nothing but what is private. No line moves."""


@pytest.mark.parametrize(
    ("files", "start"),
    [
        pytest.param(SAMPLE, "", id="some"),  # modules of the default tests are in test_modules.py
        pytest.param(ORDINARY, "", marks=pytest.mark.slow, id="all"),
        pytest.param(ORDINARY, MODULE, marks=pytest.mark.slow, id="all as modules"),
    ],
)
async def test_every_theorem_of_the_ordinary_files_is_accepted(files: Sequence[Path], start: str) -> None:
    if start:  # in this one, a public statement unfolds what is private
        files = [each for each in files if each.stem != "Sections"]
    sources = [replace(each, text=start + each.text) for group in collect(files) for each in group]
    async with own_verifying(await LeanToolchain.pocket().confined()) as verifying:
        reports = await verifying.together(sources=sources)
    found = [(report.file, each.line, each.reason) for report in reports for each in report.declarations]
    assert not [each for each in found if each[2]] and not any(report.problem for report in reports)
    assert len(reports) == len(files) and len(found) >= 9 * len(files)


@pytest.mark.slow
def test_every_ordinary_file_is_traced_whole(called: Called, tmp_path: Path) -> None:
    answer = called(trace.main, ORDINARY[0].parent, "--out", tmp_path / "out")
    assert answer.code == 0 and f"{len(ORDINARY)} files (0 of an earlier run, 0 failed); " in answer.out, answer
    assert "(0 that Lean does not accept)" in answer.out


async def test_verdicts_name_definitions_and_syntax_that_a_statement_needs_and_its_axioms(verifying: Verifying) -> None:
    (report,) = await verifying.of_each(
        "def double (n : Nat) : Nat := n + n\n"
        "def unused (n : Nat) : Nat := n theorem before : 1 = 1 := rfl\n"
        'notation "twice" n => double n\n'
        "structure Pair where\n  left : Nat\n  right : Nat\n"
        "theorem plain (n : Nat) : n + 0 = n := rfl\n"
        "theorem used (n : Nat) : (twice n) = n + n := rfl\n"
        "theorem of_pair (p : Pair) : p.left = p.1 := rfl\n"
        "theorem in_proof_alone : True := have _ := unused 1; trivial\n"
        "axiom odd : 1 = 2\ndef one : 1 = 2 := odd\ntheorem two : 2 = 1 := one.symm\n"
    )
    notation = 'notation "twice" n => double n (notation, line 3)'
    found = verdicts([report])
    needed = {"used": ["double (def, line 1)", notation], "of_pair": ["Pair (structure, line 4)", notation]}
    needed |= {name: [] for name in ("before", "plain", "in_proof_alone", "two")}  # they mean the same without the rest
    assert {name: [str(item) for item in each.depends] for name, each in found.items()} == needed
    rejected = {name: each.reason for name, each in found.items() if each.reason}
    assert rejected == {"two": "it uses other axioms than Lean's own: odd"}
