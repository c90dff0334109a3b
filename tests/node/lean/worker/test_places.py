"""Candidates in the gap of a file's command, with all that stands above it in scope."""

from random import Random

import pytest
import pytest_asyncio

from common.lean import Context, OutcomeKind, Place, Step, Theorem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import WorkerOptions
from node.lean.worker.runner import BadHeader, Runner

pytestmark = [pytest.mark.lean, pytest.mark.asyncio(loop_scope="module")]

CONTEXT = """
namespace Foo
section
variable (p q : Prop) {α : Type}
include p
def double (n : Nat) : Nat := n + n
theorem double_two : double 2 = 4 := rfl
theorem auto (x : β) : x = x := rfl
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runner():
    runner = Runner(LeanToolchain.pocket(), WorkerOptions())
    yield runner
    await runner.stop()


def at(command: str, *, tactic: bool = True, context: str = CONTEXT) -> Theorem:
    before, after = command.split("sorry")
    return Theorem("t", "", "?", place=Place(Context.of(context), before, after, tactic))


async def outcomes(runner: Runner, theorem: Theorem, *tactics: str, path: tuple[Step, ...] = ()):
    """Kind of each candidate's outcome, or what is wrong with the place."""
    plan = BatchPlan(theorem, path, dict(enumerate(tactics)))
    await runner.run(plan, timeout=20)
    if plan.bad_statement:
        return plan.bad_statement
    return plan.state, [plan.outcomes[index].kind.value for index in range(len(tactics))]


SWAP, ZERO = "theorem t (h : p ∧ q) : q ∧ p :=", "theorem t (n : Nat) : 0 + n = n :="


@pytest.mark.parametrize(
    ("command", "tactic", "state", "right", "wrong"),
    [
        (f"{SWAP} by\n  constructor\n  · sorry\n  · exact h.1\n", True, "q", "exact h.2", "simp"),
        (f"{SWAP} ⟨sorry, h.1⟩\n", False, "q", "exact h.2", "exact h.1"),
        ("theorem t (n : Nat) : double n = n + n := by sorry\n", True, "double n = n + n", "rfl", "exact double_two"),
        (f"{ZERO} by\n  have h : n = n := sorry\n  omega\n", False, "n = n", "rfl", "exact n"),
        ("theorem t (h : p) : p ∧ p := by\n  constructor <;> sorry\n", True, "p", "assumption", "constructor"),
        ("theorem t : ∃ n : Nat, n = double 1 := ⟨2, sorry⟩\n", False, "2 = double 1", "rfl", "omega"),
        ("private theorem t (h : p) : p := by\n  sorry\n", True, "p", "exact h", "exact q"),
    ],
)
async def test_a_gap_shows_its_goal_and_takes_what_proves_it(runner, command, tactic, state, right, wrong):
    theorem = at(command, tactic=tactic)
    shown, (first, second) = await outcomes(runner, theorem, right, wrong)
    assert shown.endswith(f"⊢ {state}") and first == "proved" and second != "proved"


async def test_a_proof_that_uses_itself_in_a_circle_is_no_proof(runner):
    theorem = at("theorem t : ∀ n : Nat, 0 + n = n\n  | 0 => rfl\n  | n + 1 => sorry\n", tactic=False)
    shown, kinds = await outcomes(runner, theorem, "exact t (n + 1)", "rw [← Nat.add_assoc, t n]")
    assert "⊢ 0 + (n + 1) = n + 1" in shown and kinds == ["error", "proved"]


async def test_errors_behind_the_gap_do_not_count_and_errors_above_it_are_told(runner):
    behind = at("theorem t (h : p) : p ∧ q := by\n  constructor\n  · sorry\n  · exact nothing_of_this_name\n")
    assert await outcomes(runner, behind, "exact h") == ("p q : Prop\nh : p\n⊢ p", ["proved"])
    above = at("theorem t (h : p) : p ∧ q := by\n  exact nothing_of_this_name\n  sorry\n")
    assert "nothing_of_this_name" in await outcomes(runner, above)


async def test_errors_in_the_text_above_are_the_files_own(runner):
    context = "def good := 1\ndef bad : Nat := true\n#eval bad\n"
    theorem = at("theorem t : good = 1 := sorry\n", tactic=False, context=context)
    assert await outcomes(runner, theorem, "rfl") == ("⊢ good = 1", ["proved"])
    with pytest.raises(BadHeader, match="NoSuchModule"):
        await outcomes(runner, at("theorem t : True := sorry\n", tactic=False, context="import NoSuchModule\n"), "rfl")


async def test_contexts_that_change_with_every_request_are_read_as_they_are(runner):
    """In one process, and in turn with theorems that have headers of ours."""
    random, lines, before = Random(2), [], runner.restarts
    for _ in range(10):
        change = random.random()
        if change < 0.4 and len(lines) < 6:
            lines.append(f"def value{len(lines)} : Nat := {random.randrange(9)}")
        elif change < 0.6:
            lines = lines[: random.randrange(len(lines) + 1)]
        context = "".join(line + "\n" for line in ["set_option autoImplicit false", *lines])
        number = random.randrange(len(lines) + 1)
        value = int(lines[number].split()[-1]) if number < len(lines) else 0
        command = f"theorem t : value{number} = {value} := by\n  sorry\n"
        found = await outcomes(runner, at(command, context=context), "rfl", "exact absurd rfl")
        expected = (f"⊢ value{number} = {value}", ["proved", "error"])
        assert found == expected if number < len(lines) else f"identifier `value{number}`" in found, found
        if change > 0.9:
            plan = BatchPlan(Theorem("t", "", "1 = 1"), (), {0: "rfl"})
            await runner.run(plan, timeout=20)
            assert plan.outcomes[0].kind is OutcomeKind.PROVED
    assert runner.restarts == before
