"""The gaps of a file, as real Lean sees them."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio

from common.lean import MOST_CHARACTERS
from node.lean.gaps.finder import DATA, NO_GOAL, ON_DATA, GapFinder
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.tables import cells

pytestmark = [pytest.mark.lean, pytest.mark.asyncio(loop_scope="module")]

FILE = Path(__file__).with_name("gaps.lean").read_text(encoding="utf-8").removesuffix("\n")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def find():
    finder = GapFinder(LeanToolchain.pocket())
    yield finder.find
    await finder.close()


async def test_the_gaps_of_a_file_are_found_with_goals_names_and_kinds(find):
    found = await find(FILE)
    assert not found.problem
    shown = [f"{gap.name} {'by' if gap.tactic else ':='} {gap.conclusion}" for gap in found.open]
    assert shown == cells("""
swap by q ¦ zero := n + 0 = n ¦ positive := 1 > 0 ¦ one by True ¦ two := 1 = 1 ¦ example by True
factorial by n - 1 < n ¦ left by True ¦ left by True ¦ 𝔸 := 𝔹 = 1 ¦ 𝔸 by 1 = 𝔹 ¦ scoped_option := p ¦ last by 0 = 0
last by n + 1 = n + 1
""")
    left = [gap for gap in found.gaps if gap.reason]
    assert [gap.name for gap in left] == ["value", "witness", "witness", "wrong", "macro", "#eval", "instance"]
    reasons = [gap.reason for gap in left]
    assert reasons[:3] == [f"{DATA}: Nat", f"{DATA}: Nat", ON_DATA]
    assert reasons[3].startswith("its command does not compile: line 22: Unknown identifier")
    assert reasons[4].startswith((DATA, NO_GOAL)) and "Aborting evaluation" in reasons[5]
    assert reasons[6] == f"{DATA}: Inhabited Nat"
    assert [error.line for error in found.errors][:1] == [22]


async def test_every_gap_is_at_its_place_and_the_place_holds_all_of_the_text_up_to_its_commands_end(find):
    found = await find(FILE)
    for gap in found.gaps:
        place, lines = gap.place(FILE), FILE.split("\n")
        assert lines[gap.line - 1][gap.column :].startswith("sorry")
        whole = place.context.text + place.before + "sorry" + place.after
        assert FILE.startswith(whole) and place.before.rpartition("\n")[2] == lines[gap.line - 1][: gap.column]
        assert place.context.text == "" or place.context.text.endswith("\n")
    documented = next(gap for gap in found.gaps if gap.name == "swap")
    assert documented.place(FILE).before.startswith("/-- A comment")
    assert found.gaps[-1].place(FILE).after == ""


async def test_what_lean_cannot_read_at_all_is_told(find):
    assert "byte order mark" in (await find("\ufefftheorem a : True := sorry\n")).problem
    assert "unknown module prefix 'Mathlib'" in (await find("import Mathlib\ntheorem a : True := sorry\n")).problem
    assert (await find("theorem a : True := trivial\n")).gaps == []


async def test_gaps_above_and_below_what_does_not_parse_are_found(find):
    text = "theorem a : True := sorry\ntheorem b : True := by by sorry\ntheorem c : 1 = 1 := sorry\n"
    found = await find(text)
    assert [gap.name for gap in found.open] == ["a", "c"] and "line 2" in found.gaps[1].reason


async def test_a_file_that_takes_too_long_is_told():
    finder = GapFinder(LeanToolchain.pocket(), seconds=1.5)
    loop = "set_option maxHeartbeats 0 in\ntheorem t : True := by\n  repeat (have h : True := trivial; clear h)\n"
    try:
        assert "does not finish" in (await finder.find(f"theorem a : True := sorry\n{loop}")).problem
        assert len((await finder.find("theorem a : True := sorry\n")).open) == 1
    finally:
        await finder.close()


async def test_a_header_of_ours_moves_no_line():
    header = "universe u\nset_option maxRecDepth 1000"
    finder = GapFinder(replace(LeanToolchain.pocket(), default_header=header))
    try:
        found = await finder.find("theorem a (α : Type u) (x : α) : x = x := by\n  sorry\nexample : 1 = true := rfl\n")
    finally:
        await finder.close()
    (gap,) = found.open
    assert (gap.line, gap.column, gap.command.line) == (2, 2, 1) and {error.line for error in found.errors} == {3}
    assert gap.place(found.text).context.text == ""


@pytest.mark.slow
async def test_gaps_are_found_in_ten_thousand_lines(find):
    random = Random(0)
    lines = [f"theorem t{number} : {random.randrange(99)} < 100 := by decide" for number in range(1000)]
    text = "".join(line + "\n-- sorry" * 9 + "\n" for line in lines) + "theorem end' (n : Nat) : n = n := sorry\n"
    assert len(text) < MOST_CHARACTERS
    (gap,) = (await find(text)).open
    assert gap.line == 10_001
