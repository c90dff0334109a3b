"""The lean-proxy as a process of its own, over a real broker."""

import pytest

from common import subjects
from common.bus import RemoteFailure
from common.lean import OutcomeKind, ProofTree, Step, Theorem
from common.messages import LeanRunReply, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest
from common.script import proof_script

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


async def run(bus, theorem, path, tactics, timeout=5.0):
    request = LeanRunRequest(theorem=theorem, path=tuple(path), tactics=tuple(tactics), timeout=timeout)
    return await bus.request_patiently(subjects.LEAN_RUN, request, LeanRunReply, timeout=60, deadline=60)


async def verify(bus, theorem, script):
    request = LeanVerifyRequest(theorem=theorem, script=script)
    return await bus.request_patiently(subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=60, deadline=60)


async def test_a_proof_found_step_by_step_is_accepted(bus, lean_proxy):
    opened = await run(bus, AND, (), ())
    assert opened.state == "p q : Prop\n⊢ p ∧ q → q ∧ p" and opened.outcomes == ()

    (intro,) = (await run(bus, AND, (), ["intro h"])).outcomes
    first = Step("intro h", 0, intro.layout)
    (split,) = (await run(bus, AND, [first], ["constructor"])).outcomes
    assert split.layout == ((0,), (1,))
    closed = []
    for number, tactic in enumerate(["exact h.2", "exact h.1"]):
        path = [first, Step("constructor", number, split.layout)]
        reply = await run(bus, AND, path, [tactic])
        assert reply.state == split.branches[number].state
        assert reply.outcomes[0].kind is OutcomeKind.PROVED
        closed.append(ProofTree(tactic))

    proof = ProofTree("intro h", intro.layout, (ProofTree("constructor", split.layout, tuple(closed)),))
    verdict = await verify(bus, AND, proof_script(proof))
    assert verdict.accepted and verdict.reason == "" and verdict.axioms == () and verdict.lean_version == "4.35.0"


async def test_outcomes_come_in_the_order_of_the_tactics_duplicates_included(bus, lean_proxy):
    tactics = ["intro h", "exact h", "intro h", "sorry", "exact fun h => ⟨h.2, h.1⟩", "simp ("]
    reply = await run(bus, AND, (), tactics)
    kinds = [outcome.kind.value for outcome in reply.outcomes]
    assert kinds == ["goals", "error", "goals", "refused", "proved", "error"]
    assert "sorry" in reply.outcomes[3].message


BAD_STATEMENTS = [
    ("(p : Prop)", "p ∧ q", "Unknown identifier `q`"),
    ("(n : Nat", "n = n", "never closed"),
    ("", "True := trivial theorem x : False", "no place in a statement"),
    ("", "1 +", "expected term"),
    ("", "Nat", "Type mismatch"),
]


async def test_a_bad_statement_is_a_failure_with_leans_own_message(bus, lean_proxy):
    for binders, conclusion, says in BAD_STATEMENTS:
        for ask in (run(bus, Theorem("t", binders, conclusion), (), ["simp"]), verify_bad(bus, binders, conclusion)):
            with pytest.raises(RemoteFailure) as failure:
                await ask
            assert failure.value.kind == "bad-statement"
            assert says in str(failure.value)


async def verify_bad(bus, binders, conclusion):
    return await verify(bus, Theorem("t", binders, conclusion), "simp")


async def test_a_path_that_does_not_replay_loses_its_candidates(bus, lean_proxy):
    reply = await run(bus, AND, [Step("intro nothing nowhere no", 0)], ["simp", "rfl"])
    assert [outcome.kind for outcome in reply.outcomes] == [OutcomeKind.LOST] * 2
    assert "did not replay" in reply.outcomes[0].message


async def test_verification_says_why_not(bus, lean_proxy):
    verdict = await verify(bus, AND, "intro h\nexact ⟨h.1, h.2⟩")
    assert not verdict.accepted and "Lean rejects the proof at line 2" in verdict.reason
