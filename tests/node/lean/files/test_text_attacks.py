"""Lean texts that try to have something accepted that is not proved, or that means something else than it says."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from node.lean.check.files.clean import bare, cleaned
from node.lean.check.files.report import DeclarationVerdict
from node.lean.check.files.sources import collect, from_text
from node.lean.snippets.judge import FileJudge
from node.lean.snippets.snippet import Snippet
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.files.verified import Verifying

TRUE_BOOL = "instance : CoeSort Bool Prop := ⟨fun _ => True⟩"


class Given(NamedTuple):
    """A text of `text_attacks.lean`, which says what the kinds are. In an attack, theorems named `bad...` and examples
    must be rejected or rest on something of the file; those named `ok...` must be accepted and rest on nothing."""

    kind: str
    note: str
    name: str
    text: str


_TEXT = Path(__file__).with_name("text_attacks.lean").read_text()
_, *_PARTS = re.split(r"^--! (\w+) (.*)\|(.*)\n", _TEXT, flags=re.MULTILINE)
GIVEN = [
    Given(kind, note.strip(), name.strip(), text)
    for kind, note, name, text in zip(*(_PARTS[at::4] for at in range(4)), strict=True)
]


def of_kind(*kinds: str) -> list[Given]:
    return [each for each in GIVEN if each.kind in kinds]


def is_bad(verdict: DeclarationVerdict) -> bool:
    return verdict.name.rpartition(".")[2].startswith("bad") or verdict.name == "example"


@pytest.mark.lean
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
async def test_what_a_text_does_not_say_is_rejected_or_named_and_honest_theorems_beside_it_are_not(
    every: int, verifying: Verifying
) -> None:
    attacks = of_kind("attack")[::every]
    for attack, report in zip(attacks, await verifying.of_each(*(each.text for each in attacks)), strict=True):
        shown = (attack.name, report)
        assert not report.problem, shown
        bad = [each for each in report.declarations if is_bad(each)]
        assert len(bad) == len(re.findall(r"theorem bad|example [:(]", attack.text)), shown
        for each in bad:
            said = ", ".join(map(str, each.depends))
            assert not each.accepted or (said and attack.note and attack.note in said), shown
        twins = [each for each in report.declarations if each.name.rpartition(".")[2].startswith("ok")]
        assert len(twins) == attack.text.count("theorem ok"), shown
        assert all(each.accepted and not each.depends for each in twins), shown


@pytest.mark.lean
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
async def test_theorems_that_use_nothing_of_their_file_rest_on_nothing(every: int, verifying: Verifying) -> None:
    texts = [each.text for each in of_kind("honest")[::every]]
    texts.append("def one := 1\ntheorem t : 1 = 1 :=\n  rfl\n\nexample : 2 = 2 := rfl\n".replace("\n", "\r\n"))
    for text, report in zip(texts, await verifying.of_each(*texts), strict=True):
        assert len(report.declarations) == text.count("theorem ") + text.count("example :"), (text, report)
        assert all(each.accepted and not each.depends for each in report.declarations), (text, report)


@pytest.mark.lean
@pytest.mark.slow
async def test_serve_refuses_what_may_mean_something_else_and_accepts_plain_definitions() -> None:
    judge = FileJudge(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=2048)
    try:
        found = await asyncio.gather(*(judge.judge(Snippet(each.text, 60.0)) for each in GIVEN))
    finally:
        judge.close()
    for given, each in zip(GIVEN, found, strict=True):
        assert each.verdict.accepted == (given.kind in ("honest", "plain")), (given, each.verdict)


@pytest.mark.lean
async def test_an_imported_file_changes_no_statement_silently(verifying: Verifying) -> None:
    files = [
        from_text(f"{TRUE_BOOL}\ndef A.x := 1\n", "A", "A"),
        from_text("import A\nopen A\ntheorem bad : false := trivial\ntheorem ok : 1 = 1 := rfl\n", "Main", "Main"),
    ]
    last = (await verifying.together(sources=files))[-1].declarations
    found = [(each.accepted, [item.name for item in each.depends]) for each in last]
    assert found == [(True, ["the import of A"]), (True, [])]


@pytest.mark.lean
async def test_examples_are_compared_with_their_own_text_and_called_so_in_every_reason(verifying: Verifying) -> None:
    (report,) = await verifying.of_each(
        "example : 2 + 2 = 4 := by native_decide\nexample : 1 = 1 := rfl\nexample : 2 = 2 := rfl\n"
        "inductive T | a | b\nexample : (match T.a with | .a => 1 | .b => 2) = 1 := rfl\nexample : 1 = 1 := by sorry\n"
    )
    assert [each.name for each in report.declarations] == ["example"] * 5
    assert [each.accepted for each in report.declarations] == [False, True, True, True, False]
    assert "ℯ" not in "".join(f"{each.name}{each.reason}{each.depends}{each.axioms}" for each in report.declarations)


def test_the_bare_text_keeps_statements_and_where_they_stand() -> None:
    text = (
        "import A\nimport B\nopen Foo (f) in\ntheorem t : 1 = 1 := rfl\nmutual\ndef f := 1\nend\nnamespace N\n"
        "@[simp] theorem u : True := trivial\nend N\nopen Nat renaming le → lt\nset_option foo true\n"
    )
    assert [line.strip() for line in bare(cleaned(text), {"A"}, ["C", "D"]).split("\n")] == [
        "import C  import D",
        "import B",
        "namespace Foo end Foo open Foo     in",
        "theorem t : 1 = 1 := sorry",
        *("", "", ""),
        "namespace N",
        "theorem u : True := sorry",
        "end N",
        *("", "", ""),
    ]


def test_a_carriage_return_alone_stays_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "X.lean").write_bytes(b"-- a\rb\r\ntheorem t : True := trivial\r\n")
    ((source,),) = collect([tmp_path])
    assert source.text == "-- a\rb\ntheorem t : True := trivial\n"
