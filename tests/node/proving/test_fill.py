"""The flow of filling a file, with real Lean and a prover that does what a test asks for; and which proofs a file is
verified with."""

import asyncio

import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome
from node.lean.text.allowed import rule_of
from node.play.attempts import ProvingFailed
from node.proving.fill import FilledFile, Filler, FillMemory, FillOptions
from node.proving.fill_check import Checked, Fill, applied, edits_of
from node.proving.prover import Budget, Found

pytestmark = pytest.mark.lean

TEXT = """\
theorem a : 1 = 1 := sorry
theorem b : 1 = 2 := sorry
theorem c : 2 = 2 := sorry
def d : Nat := sorry
theorem e : 3 = 3 := sorry
"""


class Prover:
    """Finds what it is told to, by the theorem's name; an exception is raised, and None never comes to an end."""

    def __init__(self, found: dict[str, str | Exception | None]) -> None:
        self._found = found
        self.asked: list[str] = []
        self.most_at_once = self._now = 0
        self.busy = asyncio.Event()
        """Set when it has begun what never ends."""

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        self.asked.append(theorem.name)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(0)
            script = self._found[theorem.name]
            if isinstance(script, Exception):
                raise script
            if script is None:
                self.busy.set()
                await asyncio.Event().wait()
            if not script:
                return Found(AttemptOutcome.FAILED, reason="nothing fits")
            return Found(AttemptOutcome.PROVED, (script,), by="the test")
        finally:
            self._now -= 1


class Silent:
    """Progress that nobody sees."""

    def began(self, gap: object) -> None: ...
    def ended(self, result: object) -> None: ...
    def verifying(self, proofs: int) -> None: ...


def states(done) -> dict[str, str]:
    return {result.gap.name: str(result.state) for result in done.results}


async def test_what_is_found_is_verified_and_remembered_and_what_is_refused_is_not_found_again(filling, tmp_path):
    file, memory = await filling.finder.find(TEXT), FillMemory(tmp_path, ())

    async def filled(prover: Prover, options: FillOptions) -> FilledFile:
        return await Filler(prover, filling.verifier, options, Silent(), asyncio.Event()).fill(file, memory)

    options = FillOptions(Budget(), at_once=2, way="test")
    first = Prover({"a": "rfl", "b": "rfl", "c": "", "e": ""})
    done = await filled(first, options)
    assert states(done) == {"a": "filled", "b": "refused", "c": "open", "d": "left alone", "e": "open"}
    assert [edit.new for edit in done.edits] == ["by rfl"] and first.most_at_once == 2
    second = Prover({})
    again = await filled(second, options)
    assert second.asked == [] and again.edits == done.edits
    assert states(again) == {"a": "filled", "b": "open", "c": "open", "d": "left alone", "e": "open"}
    third = Prover({"b": "", "c": "rfl", "e": ""})
    larger = FillOptions(Budget(seconds=99), way="test", wanted=lambda gap: gap.name != "a")
    more = await filled(third, larger)
    assert third.asked == ["b", "c", "e"]
    assert states(more) == {"b": "open", "c": "filled", "d": "left alone", "e": "open"}


async def test_a_proof_that_the_rules_refuse_fills_nothing_whoever_found_it_and_whenever(filling, tmp_path):
    file, memory = await filling.finder.find(TEXT), FillMemory(tmp_path, ())

    async def filled(prover: Prover, *ban: str) -> dict[str, str]:
        options = FillOptions(Budget(), way=f"test {ban}", rule=rule_of((), ban), wanted=lambda gap: gap.name in "ac")
        return states(await Filler(prover, filling.verifier, options, Silent(), asyncio.Event()).fill(file, memory))

    commands = await filled(Prover({"a": "rfl\n@[simp] theorem x : True := trivial\n#eval 1", "c": "rfl"}))
    assert commands == {"a": "open", "c": "filled"}
    for hidden in ('exact (fun _ => rfl) 0x0notation:max "2" => 3', "iterate 0x1sorry"):
        assert await filled(Prover({"a": hidden}), "ring", hidden[:5]) == {"a": "open", "c": "filled"}
    named = await filled(Prover({"a": "exact (let rec two : Nat := 3; rfl)"}), "omega")
    assert named == {"a": "open", "c": "filled"}
    banned = Prover({"a": "rfl", "c": "decide"})
    assert (await filled(banned, "rfl"))["c"] == "filled" and banned.asked == ["a", "c"], "a proof from before the ban"


async def test_stopping_keeps_what_is_found_and_a_search_that_fails_says_nothing_about_its_gap_nor_the_others(
    filling, tmp_path
):
    memory, stopping = FillMemory(tmp_path, ()), asyncio.Event()
    prover = Prover({"a": "rfl", "b": ProvingFailed("the mesh is gone"), "c": None, "e": "rfl"})
    filler = Filler(prover, filling.verifier, FillOptions(Budget()), Silent(), stopping)
    running = asyncio.create_task(filler.fill(await filling.finder.find(TEXT), memory))
    await prover.busy.wait()
    stopping.set()
    done = await running
    assert states(done) == {"a": "filled", "b": "open", "c": "not tried", "d": "left alone", "e": "not tried"}
    assert done.results[1].reason.endswith("the mesh is gone")
    assert len(done.edits) == 1 and len(list(tmp_path.iterdir())) == 1, "what is not known is tried again"


async def test_a_module_is_filled_and_what_its_private_theorems_leave_open_stays_open(filling, tmp_path):
    text = "module\npublic section\n@[expose] def two := 2\ntheorem a : two = 2 := sorry\n"
    text += "private theorem b : two = 3 := sorry\ntheorem c : two = 3 := sorry\ntheorem d : 1 = 1 := by\n  sorry\n"
    prover = Prover({"a": "rfl", "b": "rfl", "c": "exact b", "d": "rfl"})
    filler = Filler(prover, filling.verifier, FillOptions(Budget()), Silent(), asyncio.Event())
    done = await filler.fill(await filling.finder.find(text), FillMemory(tmp_path, ()))
    assert states(done)["a"] == states(done)["d"] == "filled" and states(done)["b"] == "refused"
    (rests,) = [(result.rests, result.axioms) for result in done.results if result.gap.name == "c"]
    assert states(done)["c"] == "filled" and rests == ("b", ("sorryAx",))


# --- verification -----------------------------------------------------------------------------------------------------
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


async def test_a_form_that_breaks_the_file_gives_way_and_a_proof_with_which_another_command_fails_is_taken_out(check):
    """As it is written first, only the first of the two tactics would run on both goals."""
    text = "theorem a (p q : Prop) : (p → p) ∧ (q → q) := by\n  constructor <;> sorry\n"
    checked, filled = await check(text, "intro h; exact h")
    assert not checked.refused and "<;> (\n" in filled and "sorry" not in filled
    guarded = "/-- info: 'a' depends on axioms: [sorryAx] -/\n#guard_msgs in\n#print axioms a\n"
    text = f"theorem a : 1 = 1 := sorry\n{guarded}theorem b : 2 = 2 := sorry\n"
    checked, filled = await check(text, "rfl", "rfl")
    assert filled == text.replace("2 = 2 := sorry", "2 = 2 := by rfl")
    (reason,) = checked.refused.values()
    assert "another command of the file fails with it" in reason
