"""Which proofs a file is verified with, by real Lean."""

import pytest

from node.proving.fill_check import Checked, Fill, applied, edits_of

pytestmark = pytest.mark.lean


@pytest.fixture
def check(filling):
    """Finds the gaps of a text, puts scripts into them in order (None: the gap stays), and verifies."""

    async def run(text: str, *scripts: str | None) -> tuple[Checked, str]:
        found = await filling.finder.find(text)
        pairs = zip(found.open, scripts, strict=True)
        checked = await filling.verifier.check(found, {gap: Fill((script,)) for gap, script in pairs if script})
        return checked, applied(text, edits_of(found, checked.fills))

    return run


async def test_bad_proofs_are_taken_out_with_the_reason_and_the_good_ones_of_the_same_theorem_stay(check):
    text = (
        'macro "cheat" : tactic => `(tactic| exact sorryAx _ false)\naxiom wrong : 1 = 2\n'
        "theorem t : 1 = 1 ∧ 1 = 2 := ⟨sorry, sorry⟩\n"
        "theorem a : 1 = 1 := sorry\n"
    )
    checked, filled = await check(text, "rfl", "exact wrong", "cheat")
    assert filled == text.replace("⟨sorry, sorry⟩", "⟨(by rfl), sorry⟩")
    refused = {gap.name: reason for gap, reason in checked.refused.items()}
    assert len(checked.refused) == 2 and refused["a"] == "it uses sorry itself, where no gap is left"
    assert "other axioms" in refused["t"]


async def test_an_open_gap_of_the_same_theorem_or_of_one_above_is_no_fault_and_is_told_nor_is_a_definition(check):
    text = (
        "theorem a : 1 = 1 := sorry\ntheorem b : 1 = 1 ∧ 2 = 2 := ⟨sorry, sorry⟩\ntheorem c : 1 = 1 := sorry\n"
        "def two : {n : Nat // n > 1} := ⟨2, sorry⟩\n"
        "def down (n : Nat) : Nat := if n = 0 then 0 else down (n - 1)\ntermination_by n\ndecreasing_by sorry\n"
    )
    checked, filled = await check(text, None, "rfl", None, "exact a", "decide", "omega")
    assert filled.count("sorry") == 2 and not checked.refused
    assert list(checked.rests.values()) == ["a"]
    told = {gap.name for gap, axioms in checked.axioms.items() if "sorryAx" in axioms}
    assert told == {"b", "c"} and {gap.name for gap in checked.fills} == {"b", "c", "two", "down"}


async def test_a_form_that_breaks_the_file_gives_way_to_the_safe_one(check):
    """As it is written first, only the first of the two tactics would run on both goals."""
    text = "theorem a (p q : Prop) : (p → p) ∧ (q → q) := by\n  constructor <;> sorry\n"
    checked, filled = await check(text, "intro h; exact h")
    assert not checked.refused and "<;> (\n" in filled and "sorry" not in filled


async def test_a_proof_with_which_another_command_fails_is_taken_out(check):
    guarded = "/-- info: 'a' depends on axioms: [sorryAx] -/\n#guard_msgs in\n#print axioms a\n"
    text = f"theorem a : 1 = 1 := sorry\n{guarded}theorem b : 2 = 2 := sorry\n"
    checked, filled = await check(text, "rfl", "rfl")
    assert filled == text.replace("2 = 2 := sorry", "2 = 2 := by rfl")
    (reason,) = checked.refused.values()
    assert "another command of the file fails with it" in reason
