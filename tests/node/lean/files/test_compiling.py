"""Compiling one file to one module: commands that fail are reported and removed, the others are compiled."""

from dataclasses import replace
from pathlib import Path

import pytest

from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import collect
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.files.verified import Verifying, own_verifying

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]


LOOP = "set_option maxRecDepth 10000000 in set_option maxHeartbeats 0 in repeat rw [h]"


def named(report: FileReport) -> dict[str, DeclarationVerdict]:
    assert report.problem == "", report.problem
    return {f"{each.name}:{each.line}": each for each in report.declarations}


def accepted(report: FileReport) -> list[str]:
    return [name for name, verdict in named(report).items() if verdict.accepted]


async def test_commands_that_fail_are_told_each_and_the_others_stand(verifying: Verifying) -> None:
    text = (
        "theorem a : True := trivial\n"
        "theorem b : True := by\n  have : 1 = := rfl\n  trivial\n"  # it breaks off
        "theorem c : True := trivial\nexample (n : Nat) : n = n :=\n  have := (\ntheorem d : 1 + 1 = 2 := rfl\n"
        "garbage here\n"  # between commands, in line 9
        "theorem e : True := trivial theorem f : 1 = 2 := sorry\n example : True := trivial\n example : 1 = 1 := rfl\n"
        "def down : Nat → Nat\n  | 0 => 0\n  | n + 1 => down (n / 2)\ndecreasing_by sorry\n"  # line 13
        "theorem g : 1 = 2 := rfl\ntheorem h : 1 = 2 := g\ntheorem i : 2 = 1 := h.symm\n"  # line 17
        "#guard_msgs in example : 1 = 1 := rfl\n"  # line 20
        "/-- doc -/\ntheorem j : True := trivial\n/- plain -/\n#guard_msgs in\nexample : 2 = 2 := rfl\n"
        "/-- info: 1 : Nat -/\n/- plain -/\n#guard_msgs in\n#check 1\n"
        "#guard_msgs (drop all) in example : 1 = 2 := sorry\n"
        "open Nowhere\ntheorem k : True := trivial\n"  # line 31: it may change what others mean
    )
    found = named(*await verifying.of_each(text))
    reasons = {
        "b:2": "unexpected token ':='",
        "example:6": "unexpected token 'theorem'",
        "garbage here:9": "expected command",
        "f:10": "sorry",
        "down:13": "sorry",
        "g:17": "Not a definitional equality",
        "h:18": "it uses a declaration that is not accepted",
        "i:19": "it uses a declaration that is not accepted",
        "example:30": "sorry",
        "open Nowhere:31": "unknown namespace",
        "k:32": "it may depend on the command in line 31, which fails",
    }
    assert {name: each.accepted for name, each in found.items()} == {
        **dict.fromkeys(("a:1", "c:5", "d:8", "e:10", "example:11", "example:12"), True),
        **dict.fromkeys(("example:20", "j:21", "example:25"), True),
        **dict.fromkeys(reasons, False),
    }
    for name, reason in reasons.items():
        assert reason in found[name].reason, (name, found[name])


async def test_text_above_the_first_command_is_told_and_what_follows_is_judged_by_itself(verifying: Verifying) -> None:
    texts = ("lemma z : 1 = 1 := rfl\n", "-- ∀\nlemma z : 1 = 1 := rfl\nlemma y : 1 = 1 := rfl\n")
    rest = "theorem a : 1 = 2 := rfl\ntheorem b : True := trivial\n"
    for report in await verifying.of_each(*(above + rest for above in texts)):
        unread, a, b = report.declarations
        assert unread.name.startswith("lemma z") and unread.reason == "unexpected identifier; expected command"
        assert "Not a definitional equality" in a.reason and b.accepted


async def test_endless_commands_are_left_out_and_their_neighbours_are_not() -> None:
    before, behind = "theorem a : True := trivial\n", "theorem b : True := trivial\n"
    endless = "theorem endless (f : Nat → Nat) (h : ∀ x, f x = f (x + 1)) : f 0 = 1 := by\n"
    text = f"{before}{endless}  {LOOP}\n{behind}"
    macro = 'syntax "spin!" : term\nmacro_rules | `(spin!) => `(spin! + 1)\ntheorem m : spin! = 1 := rfl\n' + behind
    async with own_verifying(seconds=2) as verifying:
        report, blamed = await verifying.of_each(text, macro)
    assert accepted(report) == ["a:1", "b:4"]
    reason = named(report)["endless:2"].reason
    assert "it exceeded a limit: not done after" in reason and "imports" not in reason
    # A macro that does not end is blamed on what uses it.
    assert accepted(blamed) == ["b:4"] and "it exceeded a limit" in named(blamed)["m:3"].reason


async def test_a_time_limit_is_for_the_text_and_slow_imports_are_added_to_it() -> None:
    pocket = LeanToolchain.pocket()
    late = 'case "$*" in *module.olean*) sleep 2.2;; esac; exec "$@"'  # a library on a slow disk
    slow = replace(pocket, command=("sh", "-c", late, "sh", *pocket.command))
    async with own_verifying(slow, seconds=2) as verifying:
        (report,) = await verifying.of_each("import Init\ntheorem a : 1 = 1 := rfl\n")
    assert accepted(report) == ["a:2"]


MEMORY = "#eval (List.replicate 400000000 7).length\n"
OUTPUT = 'def wide : Nat → String → String | 0, s => s | n + 1, s => wide n (s ++ s)\n#eval wide 23 "0123456789"\n'
OVERFLOW = "partial def f (n : Nat) : Nat := f (n + 1) + 1\n#eval f 0\n"


@pytest.mark.parametrize(
    ("hungry", "memory_mb", "told"),
    [
        (MEMORY, 256, "MB of memory"),
        pytest.param(OUTPUT, 512, "MB of output", marks=pytest.mark.slow),
        pytest.param(OVERFLOW, 4096, "Lean crashes at it: signal 6", marks=pytest.mark.slow),
    ],
    ids=["memory", "output", "crash"],
)
async def test_a_command_that_uses_too_much_is_left_out_alone(hungry: str, memory_mb: int, told: str) -> None:
    text = f"theorem a : True := trivial\n{hungry}theorem b : 1 + 1 = 2 := rfl\n"
    async with own_verifying(memory_mb=memory_mb) as verifying:
        (report,) = await verifying.of_each(text)
    assert {each.name for each in report.declarations if each.accepted} >= {"a", "b"}
    assert [told in each.reason for each in report.declarations if each.reason] == [True]


async def test_a_missing_import_and_a_circle_stop_their_own_files(tmp_path: Path, verifying: Verifying) -> None:
    theorem = "theorem t : True := trivial\n"
    for name, needed in {"A": "B", "B": "A", "C": "", "D": "Missing", "E": "C"}.items():
        text = f"import {needed}\n" if needed else ""
        (tmp_path / f"{name}.lean").write_text(text + ("" if name == "E" else theorem))
    (group,) = collect([tmp_path])
    problems = {Path(each.file).stem: each.problem for each in await verifying.together(sources=group)}
    assert [name for name, problem in problems.items() if not problem] == ["C", "E"]
    assert "circular imports" in problems["A"] + problems["B"]
    assert "unknown module prefix 'Missing'" in problems["D"]


async def test_a_file_whose_imports_alone_take_too_long_says_so() -> None:
    async with own_verifying(seconds=0.005) as verifying:
        (report,) = await verifying.of_each("import Pocket.Logic\ntheorem a : True := trivial\n")
    assert "its imports alone take longer than the time limit: allow more seconds" in str(report)
