"""Compiling one file to one module: commands that fail are reported and removed, the others are compiled."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import collect
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]


LOOP = "set_option maxRecDepth 10000000 in set_option maxHeartbeats 0 in repeat rw [h]"


@pytest.fixture
def verifier() -> Iterator[FileVerifier]:
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=1024)
    yield verifier
    verifier.close()


@pytest.fixture
def impatient() -> Iterator[FileVerifier]:
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=3, memory_mb=1024)
    yield verifier
    verifier.close()


def named(report: FileReport) -> dict[str, DeclarationVerdict]:
    assert report.problem == "", report.problem
    return {f"{each.name}:{each.line}": each for each in report.declarations}


def accepted(report: FileReport) -> list[str]:
    return [name for name, verdict in named(report).items() if verdict.accepted]


async def test_a_theorem_that_breaks_off_is_one_verdict_and_the_rest_stands(verifier: FileVerifier) -> None:
    text = (
        "theorem a : True := trivial\n"
        "theorem b : True := by\n  have : 1 = := rfl\n  trivial\n"
        "theorem c : True := trivial\nexample (n : Nat) : n = n :=\n  have := (\ntheorem d : 1 + 1 = 2 := rfl\n"
    )
    report = await verifier.verify_text(text)
    found = named(report)
    assert list(found) == ["a:1", "b:2", "c:5", "example:6", "d:8"]
    assert accepted(report) == ["a:1", "c:5", "d:8"]
    assert "unexpected token ':='" in found["b:2"].reason
    assert "unexpected token 'theorem'" in found["example:6"].reason


async def test_text_between_commands_is_told_and_the_theorem_before_it_stands(verifier: FileVerifier) -> None:
    report = await verifier.verify_text("theorem a : True := trivial\ngarbage here\ntheorem b : True := trivial\n")
    assert accepted(report) == ["a:1", "b:3"]
    assert "expected command" in named(report)["garbage here:2"].reason


async def test_text_above_the_first_command_is_told_and_what_follows_is_judged_by_itself(
    verifier: FileVerifier,
) -> None:
    texts = ("lemma z : 1 = 1 := rfl\n", "-- ∀\nlemma z : 1 = 1 := rfl\nlemma y : 1 = 1 := rfl\n")
    rest = "theorem a : 1 = 2 := rfl\ntheorem b : True := trivial\n"
    for report in await asyncio.gather(*(verifier.verify_text(above + rest) for above in texts)):
        unread, a, b = report.declarations
        assert unread.name.startswith("lemma z") and unread.reason == "unexpected identifier; expected command"
        assert "Not a definitional equality" in a.reason and b.accepted


async def test_what_uses_a_theorem_that_fails_is_told_apart_from_what_fails_by_itself(verifier: FileVerifier) -> None:
    text = "theorem a : 1 = 2 := rfl\ntheorem b : 1 = 2 := a\ntheorem c : 2 = 1 := b.symm\ntheorem d : 2 = 3 := rfl\n"
    found = named(await verifier.verify_text(text))
    assert [each.reason.startswith("it uses a declaration that is not accepted") for each in found.values()] == [
        False,
        True,
        True,
        False,
    ]


async def test_guarded_examples_are_compiled_and_judged(verifier: FileVerifier) -> None:
    text = (
        "#guard_msgs in example : 1 = 1 := rfl\n"
        "/-- doc -/\ntheorem a : True := trivial\n/- plain -/\n#guard_msgs in\nexample : 2 = 2 := rfl\n"
        "/-- info: 1 : Nat -/\n/- plain -/\n#guard_msgs in\n#check 1\n"
        "#guard_msgs (drop all) in example : 1 = 2 := sorry\n"
    )
    report = await verifier.verify_text(text)
    assert list(named(report)) == ["example:1", "a:2", "example:6", "example:11"]
    assert accepted(report) == ["example:1", "a:2", "example:6"]
    assert not [each for each in report.messages if each.severity == "error"]


async def test_behind_a_command_that_may_change_what_others_mean_nothing_is_judged(verifier: FileVerifier) -> None:
    text = "theorem a : True := trivial\nopen Nowhere\ntheorem b : True := trivial\nexample : True := trivial\n"
    report = await verifier.verify_text(text)
    assert accepted(report) == ["a:1"]
    assert "it may depend on the command in line 2, which fails" in named(report)["b:3"].reason


async def test_two_theorems_in_one_line_and_indented_examples_have_a_verdict_each(verifier: FileVerifier) -> None:
    text = (
        "theorem a : True := trivial theorem b : 1 = 2 := sorry\n example : True := trivial\n example : 1 = 1 := rfl\n"
    )
    report = await verifier.verify_text(text)
    assert len(report.declarations) == 4
    assert accepted(report) == ["a:1", "example:2", "example:3"]


async def test_a_definition_that_is_not_finished_is_told_by_its_own_name(verifier: FileVerifier) -> None:
    text = (
        "def down : Nat → Nat\n  | 0 => 0\n  | n + 1 => down (n / 2)\ndecreasing_by sorry\n"
        "theorem a : True := trivial\n"
    )
    report = await verifier.verify_text(text)
    assert accepted(report) == ["a:5"]
    assert [(each.name, each.line) for each in report.declarations if each.reason] == [("down", 1)]


async def test_endless_commands_are_left_out_and_their_neighbours_are_not(impatient: FileVerifier) -> None:
    proof = f"theorem endless (f : Nat → Nat) (h : ∀ x, f x = f (x + 1)) : f 0 = 1 := by\n  {LOOP}\n"
    text = (
        f"theorem a : True := trivial\n{proof}theorem b : True := trivial\n"
        "partial def spin (n : Nat) : Nat := spin (n + 1)\ntheorem c : True := trivial\n#eval spin 0\n"
        "theorem d : True := trivial\n"
    )
    macro = (
        'syntax "spin!" : term\nmacro_rules | `(spin!) => `(spin! + 1)\n'
        "theorem m : spin! = 1 := rfl\ntheorem b : True := trivial\n"
    )
    report, blamed = await asyncio.gather(impatient.verify_text(text), impatient.verify_text(macro))
    assert accepted(report) == ["a:1", "b:4", "c:6", "d:8"]
    assert {name for name, each in named(report).items() if "it exceeded a limit: not done after" in each.reason} == {
        *("endless:2", "#eval spin 0:7")
    }
    # A macro that does not end is blamed on what uses it.
    assert accepted(blamed) == ["b:4"]
    assert "it exceeded a limit" in named(blamed)["m:3"].reason


async def test_too_much_memory_and_output_are_verdicts_of_their_command() -> None:
    text = (
        "theorem a : True := trivial\n#eval (List.replicate 400000000 7).length\ntheorem b : True := trivial\n"
        'def wide : Nat → String → String | 0, s => s | n + 1, s => wide n (s ++ s)\n#eval wide 23 "0123456789"\n'
        "theorem c : True := trivial\n"
    )
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=512)
    try:
        report = await verifier.verify_text(text)
    finally:
        verifier.close()
    assert accepted(report) == ["a:1", "b:3", "c:6"]
    reasons = [each.reason for each in report.declarations if each.reason]
    assert ["MB of memory" in reasons[0], "MB of output" in reasons[1]] == [True, True]


async def test_a_missing_import_and_a_circle_stop_their_own_files(verifier: FileVerifier, tmp_path: Path) -> None:
    theorem = "theorem t : True := trivial\n"
    for name, text in (
        ("A", "import B\n"),
        ("B", "import A\n"),
        ("C", ""),
        ("D", "import Missing\n"),
        ("E", "import C\n"),
    ):
        (tmp_path / f"{name}.lean").write_text(text + ("" if name == "E" else theorem))
    (group,) = collect([tmp_path])
    problems = {Path(each.report.file).stem: each.report.problem async for each in verifier.verify(group)}
    assert [name for name, problem in problems.items() if not problem] == ["C", "E"]
    assert "circular imports" in problems["A"] + problems["B"]
    assert "unknown module prefix 'Missing'" in problems["D"]


@pytest.mark.slow
async def test_a_command_that_crashes_lean_is_left_out_and_the_rest_stands() -> None:
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=1, seconds=60, memory_mb=4096)
    overflow = "partial def f (n : Nat) : Nat := f (n + 1) + 1\n#eval f 0\n"
    try:
        report = await verifier.verify_text(f"theorem a : True := trivial\n{overflow}theorem b : 1 + 1 = 2 := rfl\n")
    finally:
        verifier.close()
    assert accepted(report) == ["a:1", "b:4"]
    assert "Lean crashes at it: signal 6" in named(report)["#eval f 0:3"].reason
