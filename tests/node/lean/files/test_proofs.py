"""Verifying proofs of standalone statements, behind a header with declarations, and at a place in a file."""

import asyncio
import contextlib
from contextlib import asynccontextmanager

import psutil
import pytest

from common.lean import Context, Place, Theorem
from common.protocol.messages import Busy, LeanVerifyReply, LeanVerifyRequest
from node.lean.check.files import proofs
from node.lean.check.files.proofs import ProofVerifier, declares, others_assumed
from node.lean.check.verify.checks import VerificationFailed
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.background import Elsewhere


@asynccontextmanager
async def proof_verifier():
    verifier = ProofVerifier(LeanProcessSettings(verifications=1), LeanToolchain.pocket())
    try:
        yield verifier
    finally:
        await verifier.stop()


@pytest.fixture(scope="module")
def verifier(background):
    """One for all tests, so that its processes are started once."""
    with background.opened(proof_verifier()) as verifier:
        yield Elsewhere(background, verifier)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("import Mathlib\nset_option maxHeartbeats 400\nopen BigOperators Real\n  Nat Topology", False),
        ("import A\n/- def x := 1 -/\nuniverse u v", False),
        ("", False),
        ("module\npublic import Foo\nopen Nat", True),
        ("open Nat\ndef twice (n : Nat) := n + n", True),
        ("variable (p : Nat → Prop)", True),
        ("open Nat\nnamespace Foo", True),
        ("noncomputable section", True),
        ('notation "⟪" x "⟫" => x', True),
    ],
)
def test_headers_that_declare_something_are_told_from_plain_ones(header, expected):
    assert declares(header) is expected


@pytest.mark.lean
async def test_a_statement_behind_a_header_with_definitions_and_variables_is_verified(verifier):
    header = "def twice (n : Nat) : Nat := n + n\nvariable (p : Nat → Prop)"
    theorem = Theorem("t", "(h : p (twice 1))", "p 2 ∧ twice 1 = 2", header)
    assert (await verifier.verify(theorem, "  exact ⟨h, rfl⟩")).accepted
    refused = await verifier.verify(theorem, "  exact ⟨h, h⟩")
    assert not refused.accepted and "mismatch" in refused.reason
    assert not (await verifier.verify(theorem, "  sorry")).accepted
    with pytest.raises(VerificationFailed):
        await verifier.verify(Theorem("t", "", "True", 'macro "x" : tactic => `(tactic| simp)'), "  trivial")


MODULE = """\
module
public section
@[expose] def twice (n : Nat) : Nat := n + n
private theorem open_one : twice 1 = 2 := sorry
private axiom wrong : 1 = 2
theorem hides : 1 = 2 := wrong
"""


@pytest.mark.lean
async def test_proofs_in_a_module_and_behind_its_header_are_verified_with_all_that_they_use(verifier):
    # 1. In a file: what private theorems above leave open is told, and their axioms count.
    def placed(statement):
        return Theorem("t", "", "?", place=Place(Context.of(MODULE), f"theorem t : {statement} := by\n  ", "\n"))

    assert (await verifier.verify(placed("twice 2 = 4"), "rfl")).axioms == ()
    still_open = await verifier.verify(placed("twice 1 = 2"), "exact open_one")
    assert still_open.axioms == ("sorryAx",) and "not proved yet" in still_open.reason
    refused = await verifier.verify(placed("1 = 2"), "exact hides")
    assert not refused.accepted and "wrong" in refused.reason
    # 2. Behind a header.
    header = "module\nmeta import Init\nopen Nat"
    assert (await verifier.verify(Theorem("t", "(n : Nat)", "n + 0 = n", header), "  rfl")).accepted


def judges() -> set[int]:
    """The children that read compiled files."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if "node.lean.check.files.judge" in child.cmdline():
                found.add(child.pid)
    return found


@pytest.mark.lean
async def test_many_proofs_behind_such_a_header_wait_without_processes_and_further_ones_get_busy(monkeypatch):
    monkeypatch.setattr(proofs, "WAITING", 1)
    of_other_tests, seen = judges(), []

    async def look():
        while True:
            seen.append(len(judges() - of_other_tests))
            await asyncio.sleep(0.05)

    theorem = Theorem("t", "", "twice 1 = 2", "def twice (n : Nat) : Nat := n + n")
    request = LeanVerifyRequest(theorem=theorem, script="  rfl")
    async with proof_verifier() as verifier:
        looking = asyncio.create_task(look())
        replies = await asyncio.gather(*(verifier.answer(request) for _ in range(30)))
        looking.cancel()
        accepted = [reply for reply in replies if isinstance(reply, LeanVerifyReply) and reply.accepted]
        assert len(accepted) == 2 and sum(isinstance(reply, Busy) for reply in replies) == 28
        assert max(seen) == 1
        assert isinstance(await verifier.answer(request), LeanVerifyReply)  # there is room again


@pytest.mark.lean
async def test_a_statement_in_a_namespace_is_verified_there(verifier):
    theorem = Theorem(
        "t", "(n : Nat)", "succ n ≠ 0 ∧ twice n = n + n", "open Nat\nnamespace Foo\ndef twice (n : Nat) := n + n"
    )
    assert (await verifier.verify(theorem, "  exact ⟨nofun, rfl⟩")).accepted


@pytest.mark.lean
async def test_a_proof_at_its_place_is_verified_with_all_that_stands_around_it(verifier):
    context = Context.of("namespace A\ntheorem one : 1 = 1 := rfl\ntheorem open_one : 1 = 2 := sorry\n")
    theorem = Theorem(
        "t", "", "?", place=Place(context, "theorem two : 1 = 1 ∧ True := by\n  constructor\n  · ", "\n  · trivial\n")
    )
    verdict = await verifier.verify(theorem, "  exact one")
    assert verdict.accepted and verdict.axioms == () and verdict.rechecked
    assert not (await verifier.verify(theorem, "  exact open_one")).accepted  # it states something else


# --- one gap, while others of its command stay open -------------------------------------------------------------------

GAPS = """namespace Foo
variable (p q : Prop)
include q
theorem unproved (h : p) : q := sorry
"""


def at(command: str, *, tactic: bool = True) -> Theorem:
    """The gap at the first `?` of a command."""
    before, after = command.split("?", 1)
    return Theorem("t", "", "?", place=Place(Context.of(GAPS), before, after, tactic))


def test_only_code_is_taken_for_another_gap():
    place = at(
        'theorem t : a ∧ b := by -- sorry\n  exact ⟨sorry, ?⟩ /- sorry -/; have sorry\' := "sorry"\n  sorry\n'
    ).place
    assert place is not None
    assumed, count = others_assumed(place)
    assert count == 2 and assumed.before.count("sorry") == 1 and assumed.after.count("sorry") == 3
    alone = at("theorem t : a := ?\n").place
    assert alone is not None and others_assumed(alone) == (alone, 0)


@pytest.mark.lean
async def test_a_gap_is_judged_by_itself_while_others_of_its_command_stay_open(verifier):
    tactics = at(
        "theorem t (h : p) : p ∧ p ∧ p := by\n  constructor\n  · sorry\n  constructor\n  · ?\n  all_goals sorry\n"
    )
    right = await verifier.verify(tactics, "  exact h")
    assert right.accepted and right.axioms == ("sorryAx",) and "2 other `sorry`" in right.reason, right
    wrong = await verifier.verify(tactics, "  exact trivial")
    assert not wrong.accepted and "mismatch" in wrong.reason.lower(), wrong
    terms = at("theorem t (h : p) : p ∧ 1 = 2 ∧ p := ⟨?, sorry, h⟩\n", tactic=False)
    right = await verifier.verify(terms, "  exact h")
    assert right.accepted and "1 other `sorry` of its command is left" in right.reason, right


@pytest.mark.lean
async def test_a_proof_that_is_itself_unfinished_is_not_accepted_beside_other_gaps(verifier):
    theorem = at("theorem t (h : p) : q ∧ p := ⟨?, sorry⟩\n", tactic=False)
    for script, told in [
        ("exact @«proofmesh other gap» _", "proofmesh other gap"),
        ("exact proofmesh_other_gap", "proofmesh other gap"),
        ("sorry", "sorry"),
    ]:
        verdict = await verifier.verify(theorem, f"  {script}")
        assert not verdict.accepted and told in verdict.reason, (script, verdict)


@pytest.mark.lean
async def test_a_gap_alone_in_its_command_makes_it_a_theorem(verifier):
    verdict = await verifier.verify(at("theorem t (h : p) : p ∧ p := by\n  ?\n"), "  constructor\n  all_goals exact h")
    assert verdict.accepted and not verdict.reason and not verdict.axioms and verdict.rechecked, verdict


@pytest.mark.lean
async def test_a_theorem_above_that_is_not_proved_may_be_used_and_that_is_said(verifier):
    command = at("theorem t (h : p) : q ∧ p := ⟨?, h⟩\n", tactic=False)
    verdict = await verifier.verify(command, "  exact unproved p q h")
    assert verdict.accepted and "sorryAx" in verdict.axioms, verdict
    assert "a theorem above that is not proved yet" in verdict.reason
