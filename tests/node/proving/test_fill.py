"""The flow of filling a file, with real Lean and a prover that does what a test asks for."""

import asyncio

import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import LeanVerifyReply
from node.play.attempts import ProvingFailed
from node.proving.fill import Filler, FillMemory, FillOptions
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

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        raise AssertionError("a file is verified as a whole")


class Silent:
    """Progress that nobody sees."""

    def began(self, gap: object) -> None: ...
    def ended(self, result: object) -> None: ...
    def verifying(self, proofs: int) -> None: ...


@pytest.fixture
async def lean(filling):
    return await filling.finder.find(TEXT), filling.verifier


def states(done) -> dict[str, str]:
    return {result.gap.name: str(result.state) for result in done.results}


async def test_what_is_found_is_verified_and_remembered_and_what_is_refused_is_not_found_again(lean, tmp_path):
    file, verifier = lean
    memory = FillMemory(tmp_path, ())
    stopping = asyncio.Event()
    options = FillOptions(Budget(), at_once=2, way="test")
    first = Prover({"a": "rfl", "b": "rfl", "c": "", "e": ""})
    done = await Filler(first, verifier, options, Silent(), stopping).fill(file, memory)
    assert states(done) == {"a": "filled", "b": "refused", "c": "open", "d": "left alone", "e": "open"}
    assert [edit.new for edit in done.edits] == ["by rfl"] and first.most_at_once == 2
    second = Prover({})
    again = await Filler(second, verifier, options, Silent(), stopping).fill(file, memory)
    assert second.asked == [] and again.edits == done.edits
    assert states(again) == {"a": "filled", "b": "open", "c": "open", "d": "left alone", "e": "open"}
    third = Prover({"b": "", "c": "rfl", "e": ""})
    larger = FillOptions(Budget(seconds=99), way="test", wanted=lambda gap: gap.name != "a")
    more = await Filler(third, verifier, larger, Silent(), stopping).fill(file, memory)
    assert third.asked == ["b", "c", "e"]
    assert states(more) == {"b": "open", "c": "filled", "d": "left alone", "e": "open"}


async def test_stopping_keeps_what_is_found_and_a_search_that_fails_says_nothing_about_its_gap_nor_the_others(
    lean, tmp_path
):
    file, verifier = lean
    memory, stopping = FillMemory(tmp_path, ()), asyncio.Event()
    prover = Prover({"a": "rfl", "b": ProvingFailed("the mesh is gone"), "c": None, "e": "rfl"})
    filler = Filler(prover, verifier, FillOptions(Budget()), Silent(), stopping)
    filling = asyncio.create_task(filler.fill(file, memory))
    await prover.busy.wait()
    stopping.set()
    done = await filling
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
