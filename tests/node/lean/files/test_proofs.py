"""Verifying proofs of standalone statements, behind a header with declarations, and at a place in a file."""

import asyncio
import contextlib

import psutil
import pytest

from common.lean import Context, Place, Theorem
from common.protocol.messages import Busy, LeanVerifyReply, LeanVerifyRequest
from node.lean.check.files import proofs
from node.lean.check.files.proofs import ProofVerifier, declares
from node.lean.check.verify.checks import VerificationFailed
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain


@pytest.fixture
async def verifier():
    verifier = ProofVerifier(LeanProcessSettings(verifications=1), LeanToolchain.pocket())
    yield verifier
    await verifier.stop()


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
    refused = await verifier.verify(Theorem("t", "", "1 = 2", MODULE), "  exact hides")
    assert not refused.accepted and "wrong" in refused.reason


@pytest.mark.lean
async def test_many_proofs_behind_such_a_header_wait_without_processes_and_further_ones_get_busy(verifier, monkeypatch):
    monkeypatch.setattr(proofs, "WAITING", 2)
    at_once = 0

    async def count():
        nonlocal at_once
        while True:
            judges = 0
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                    judges += "node.lean.check.files.judge" in child.cmdline()
            at_once = max(at_once, judges)
            await asyncio.sleep(0.05)

    theorem = Theorem("t", "", "twice 1 = 2", "def twice (n : Nat) : Nat := n + n")
    request = LeanVerifyRequest(theorem=theorem, script="  rfl")
    counting = asyncio.create_task(count())
    replies = await asyncio.gather(*(verifier.answer(request) for _ in range(30)))
    counting.cancel()
    accepted = [reply for reply in replies if isinstance(reply, LeanVerifyReply) and reply.accepted]
    assert len(accepted) == 3 and sum(isinstance(reply, Busy) for reply in replies) == 27
    assert at_once == 1
    assert isinstance(await verifier.answer(request), LeanVerifyReply)  # there is room again


@pytest.mark.lean
async def test_a_statement_in_a_namespace_is_verified_there(verifier):
    theorem = Theorem(
        "t", "(n : Nat)", "succ n ≠ 0 ∧ twice n = n + n", "open Nat\nnamespace Foo\ndef twice (n : Nat) := n + n"
    )
    assert (await verifier.verify(theorem, "  exact ⟨nofun, rfl⟩")).accepted
    plain = Theorem("t", "(n : Nat)", "succ n ≠ 0", "open Nat\nnamespace Foo")
    assert (await verifier.verify(plain, "  nofun")).accepted
    assert not (await verifier.verify(plain, "  rfl")).accepted


@pytest.mark.lean
async def test_a_proof_at_its_place_is_verified_with_all_that_stands_around_it(verifier):
    context = Context.of("namespace A\ntheorem one : 1 = 1 := rfl\ntheorem open_one : 1 = 2 := sorry\n")
    theorem = Theorem(
        "t", "", "?", place=Place(context, "theorem two : 1 = 1 ∧ True := by\n  constructor\n  · ", "\n  · trivial\n")
    )
    verdict = await verifier.verify(theorem, "  exact one")
    assert verdict.accepted and verdict.axioms == () and verdict.rechecked
    assert not (await verifier.verify(theorem, "  exact open_one")).accepted  # it states something else
    rests = Theorem("t", "", "?", place=Place(context, "theorem two : 1 = 2 := ", "\n", tactic=False))
    verdict = await verifier.verify(rests, "  exact open_one")
    assert verdict.accepted and verdict.axioms == ("sorryAx",) and "above" in verdict.reason
