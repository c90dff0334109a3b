"""What counts as a proof, and what does not: fresh processes, the statement apart, axioms, text rules."""

import asyncio

import pytest

from common.lean import Theorem
from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.verdicts import LeanMessage, verdict
from node.lean_proxy.verification import VerificationFailed, Verifier

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")

HONEST = [
    (AND, "intro h\nexact ⟨h.2, h.1⟩", ()),
    (AND, "  intro h\n  constructor\n  · exact h.2\n  · exact h.1", ()),
    (AND, "intro h -- a comment\n/- and (another) -/\nexact ⟨h.2, h.1⟩", ()),
    (AND, "intro h <;> first | exact ⟨h.2, h.1⟩ | skip", ()),
    (Theorem("em", "(p : Prop)", "p ∨ ¬p"), "exact Classical.em p", ("Classical.choice", "Quot.sound", "propext")),
    (Theorem("iff", "(p q : Prop) (h : p ↔ q)", "p = q"), "exact propext h", ("propext",)),
    (
        Theorem("add_zero", "(n : Nat)", "0 + n = n"),
        "induction n with\n| zero => rfl\n| succ n ih => exact congrArg _ ih",
        (),
    ),
    (Theorem("inst", "{α : Type} [Inhabited α] (P : α → Prop) (h : ∀ x, P x)", "∃ x, P x"), "exact ⟨default, h _⟩", ()),
    (Theorem("and.comm'", "(p : Prop)", "p → p"), "exact fun h => h", ()),
    (Theorem("forty_nine", "", "∃ n : Nat, n * n = 49"), "exists 7", ()),
    (Theorem("calc'", "(a b c : Nat) (h : a = b) (h' : b = c)", "a = c"), "calc a = b := h\n  _ = c := h'", ()),
]

REJECTED = [
    ("intro h\nexact ⟨h.1, h.2⟩", "Lean rejects the proof at line 2"),
    ("intro h\nconstructor\n· exact h.2", "unsolved goals"),
    ("intro h", "unsolved goals"),
    ("intro h\nsorry", "`sorry`"),
    ("intro h\nexact sorryAx _ true", "`sorryAx`"),
    ("intro h\nexact «sorryAx» _ true", "`sorryAx`"),
    ("intro h\nadmit", "`admit`"),
    ("stop\nintro h", "`stop`"),
    ("intro h\nexact ⟨h.2, h.1⟩\naxiom bad : False", "`axiom`"),
    ("intro h\nexact ⟨h.2, h.1⟩\n\ntheorem other : True := by\n  trivial", "`theorem`"),
    ("intro h\nexact ⟨h.2, h.1⟩)\ninductive X : Prop where (x : X", "closes what was not opened"),
    ("set_option debug.skipKernelTC true in\nexact fun h => ⟨h.2, h.1⟩", "`set_option`"),
    ("import Init\nexact fun h => ⟨h.2, h.1⟩", "`import`"),
    ("open Nat in exact fun h => ⟨h.2, h.1⟩", "`open`"),
    ("#eval 1", "a command has no place"),
    ("run_tac pure ()", "`run_tac`"),
    ("native_decide", "`native_decide`"),
    ("decide +native", "`native`"),
    ("exact?", "`exact?`"),
    ("intro h\nехаct?", "not allowed"),
    ("exact lcProof", "`lcProof`"),
    ("intro h\nexact ⟨h.2, h.1⟩\x00", "cannot be seen"),
    ("intro h\nexact ⟨h.2, h.1⟩\u202e", "cannot be seen"),
    ("intro h /- never closed", "never closed"),
    ("intro h\nexact ⟨h.2, h.1⟩ -/ sorry /-", "comment"),
    ("intro h\nexact t p q h", "termination"),
    ("intro h\nexact ⟨h.2, h.1⟩\ntermination_by 1", "unexpected token"),
    ("exact fun h => ⟨h.2, h.1⟩\n  where x := 1", "unexpected token"),
    ("", "empty"),
    ("  \n", "empty"),
    ("skip " * 40_000, "at most"),
    ("let rec f : Nat → False := fun n => f n\nexact (f 0).elim", "termination"),
    ("all_goals try simp", "unsolved goals"),
    ("exact (fun h => ⟨h.2, h.1⟩ : q ∧ p → p ∧ q)", "ype mismatch"),
    ("intro h\nexact @proofmesh_nothing p q h", "Unknown identifier"),
]

BAD_STATEMENTS = [
    (Theorem("t", "(p : Prop)", "q"), "Unknown identifier `q`"),
    (Theorem("t", "", "Nat"), "mismatch"),
    (Theorem("t", "(n : Nat", "n = n"), "never closed"),
    (Theorem("t", "(p : Prop) : p := trivial theorem x", "p"), "no place in a statement"),
    (Theorem("t", "", "True := by trivial\naxiom bad : False\ntheorem x : True"), "no place in a statement"),
    (Theorem("t", "", "True)) (x : (True"), "closes what was not opened"),
    (Theorem("t", "", "True", header="import Nowhere"), "Nowhere"),
]


@pytest.fixture(scope="module")
def toolchain():
    return LeanToolchain.pocket()


@pytest.fixture
def verifier(toolchain):
    verifier = Verifier(toolchain, at_once=2, seconds=60, memory_mb=2048)
    yield verifier
    verifier.close()


async def test_honest_proofs_are_accepted_with_their_axioms(verifier):
    verdicts = await asyncio.gather(*(verifier.verify(theorem, script) for theorem, script, _ in HONEST))
    for (theorem, script, axioms), reply in zip(HONEST, verdicts, strict=True):
        assert reply.accepted, f"{theorem.name}: {script}\n{reply.reason}"
        assert reply.axioms == axioms and reply.lean_version == "4.35.0"


async def test_what_is_no_proof_is_rejected_with_its_reason(verifier):
    verdicts = await asyncio.gather(*(verifier.verify(AND, script) for script, _ in REJECTED))
    for (script, reason), reply in zip(REJECTED, verdicts, strict=True):
        assert not reply.accepted, script
        assert reason in reply.reason, f"{script[:200]!r}\n{reply.reason}"


async def test_a_statement_that_lean_refuses_has_no_verdict(verifier):
    for theorem, says in BAD_STATEMENTS:
        with pytest.raises(VerificationFailed) as failure:
            await verifier.verify(theorem, "trivial")
        assert failure.value.kind == "bad-statement" and says in str(failure.value), theorem


async def test_an_axiom_of_the_header_is_no_proof(verifier):
    theorem = Theorem("t", "", "1 = 2", header="axiom mine : 1 = 2")
    reply = await verifier.verify(theorem, "exact mine")
    assert not reply.accepted and "other axioms than Lean's own: mine" in reply.reason


async def test_the_scratch_folder_holds_statements_only_and_goes_in_the_end(toolchain):
    verifier = Verifier(toolchain, at_once=1, seconds=60, memory_mb=2048)
    folder = verifier.folder
    assert folder.stat().st_mode & 0o077 == 0
    for script in ("exact fun h => ⟨h.2, h.1⟩", "skip"):
        await verifier.verify(AND, script)
    assert [len(list(kept.iterdir())) for kept in folder.iterdir()] == [2]  # Statement.lean and Statement.olean
    verifier.close()
    assert not folder.exists()


async def test_a_proof_that_never_ends_is_rejected(toolchain):
    verifier = Verifier(toolchain, at_once=1, seconds=2, memory_mb=2048)
    reply = await verifier.verify(AND, "repeat (have := trivial)")
    verifier.close()
    assert not reply.accepted and "not done after 2 s" in reply.reason


async def test_a_proof_that_eats_memory_is_rejected(toolchain):
    verifier = Verifier(toolchain, at_once=1, seconds=60, memory_mb=200)
    eats = "have h : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"
    reply = await verifier.verify(AND, eats)
    verifier.close()
    assert not reply.accepted and "more than 200 MB of memory" in reply.reason


@pytest.mark.parametrize(
    ("messages", "reason", "axioms"),
    [
        ([("info", "'ProofmeshCheck' does not depend on any axioms")], "", ()),
        ([("info", "'ProofmeshCheck' depends on axioms: [propext,\n Quot.sound]")], "", ("Quot.sound", "propext")),
        ([("info", "'ProofmeshCheck' depends on axioms: [sorryAx]")], "uses sorry", ("sorryAx",)),
        (
            [("info", "'ProofmeshCheck' depends on axioms: [propext, x]")],
            "other axioms than Lean's own: x",
            ("propext", "x"),
        ),
        ([("error", "type mismatch"), ("info", "'ProofmeshCheck' does not depend on any axioms")], "type mismatch", ()),
        ([("info", "'Other' does not depend on any axioms")], "did not say", ()),
        ([], "did not say", ()),
    ],
)
def test_the_verdict_is_read_from_leans_messages(messages, reason, axioms):
    told, found = verdict([LeanMessage(severity, data) for severity, data in messages])
    assert (reason in told if reason else told == "") and found == axioms
