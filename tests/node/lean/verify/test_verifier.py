"""Verification of single proofs: fresh processes, the statement compiled separately, axioms, text rules."""

import asyncio
import errno
import re
from unittest.mock import Mock

import pytest
import pytest_asyncio

from common.lean import Theorem
from node.lean.check.verify import checks
from node.lean.check.verify.verifier import VerificationFailed, Verifier
from tests.node.lean.cheats import AND, BY_TEXT, FALSE
from tests.node.lean.verify.recorded import opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

HONEST = [
    (AND, "intro h\nexact ⟨h.2, h.1⟩", ()),
    (AND, "  intro h\n  constructor\n  · exact h.2\n  · exact h.1", ()),
    (AND, "intro h -- a comment\n/- and (another) -/\nexact ⟨h.2, h.1⟩", ()),
    (AND, "intro h <;> first | exact ⟨h.2, h.1⟩ | skip", ()),
    (Theorem("em", "(p : Prop)", "p ∨ ¬p"), "exact Classical.em p", ("Classical.choice", "Quot.sound", "propext")),
    (Theorem("iff", "(p q : Prop) (h : p ↔ q)", "p = q"), "exact propext h", ("propext",)),
    (
        Theorem("zero", "(n : Nat)", "0 + n = n"),
        "induction n with\n| zero => rfl\n| succ n h => exact congrArg _ h",
        (),
    ),
    (Theorem("inst", "{α : Type} [Inhabited α] (P : α → Prop) (h : ∀ x, P x)", "∃ x, P x"), "exact ⟨default, h _⟩", ()),
    (Theorem("and.comm'", "(p : Prop)", "p → p"), "exact fun h => h", ()),
    (Theorem("forty_nine", "", "∃ n : Nat, n * n = 49"), "exists 7", ()),
    (Theorem("calc'", "(a b c : Nat) (h : a = b) (h' : b = c)", "a = c"), "calc a = b := h\n  _ = c := h'", ()),
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verifier():
    async with opened(at_once=2) as verifier:
        yield verifier


@pytest.mark.lean
async def test_honest_proofs_are_accepted_with_their_axioms(verifier):
    verdicts = await asyncio.gather(*(verifier.verify(theorem, script) for theorem, script, _ in HONEST))
    for (theorem, script, axioms), reply in zip(HONEST, verdicts, strict=True):
        assert reply.accepted, f"{theorem.name}: {script}\n{reply.reason}"
        assert reply.axioms == axioms and reply.lean_version == "4.35.0"


async def test_what_only_pretends_to_be_a_proof_never_reaches_lean(verifier):
    for script, reason in [cheat for group in BY_TEXT.values() for cheat in group]:
        for theorem in (AND, FALSE):
            reply = await verifier.verify(theorem, script)
            assert not reply.accepted, script
            assert reason in reply.reason, f"{script[:200]!r}\n{reply.reason}"
            assert reply.elapsed == 0 and reply.lean_version == ""


async def refused(verifier: Verifier, theorem: Theorem, script: str, says: str) -> None:
    """There is no verdict, because of the statement."""
    with pytest.raises(VerificationFailed, match=re.escape(says)) as failure:
        await verifier.verify(theorem, script)
    assert failure.value.kind == "bad-statement"


async def test_a_header_cannot_switch_checks_off_or_run_code(verifier):
    for header, says in [
        ("set_option debug.skipKernelTC true", "would switch a check off"),
        ("open Nat set_option debug.byAsSorry true", "would switch a check off"),
        ("initialize (pure ())", "runs code"),
        ("macro_rules | `(tactic| rfl) => `(tactic| decide)", "runs code"),
        ("set_option «debug».skipKernelTC true", "would switch a check off"),
    ]:
        await refused(verifier, Theorem("t", "", "1 = 2", header=header), "decide +kernel", says)


@pytest.mark.lean
async def test_a_statement_that_lean_refuses_has_no_verdict(verifier):
    for theorem, says in BAD_STATEMENTS:
        await refused(verifier, theorem, "trivial", says)


@pytest.mark.lean
async def test_the_scratch_folder_holds_statements_only_and_goes_in_the_end():
    async with opened() as verifier:
        folder = verifier.folder
        assert folder.stat().st_mode & 0o077 == 0
        for script in ("exact fun h => ⟨h.2, h.1⟩", "skip"):
            await verifier.verify(AND, script)
        # Statement.lean and Statement.olean, and the empty folder of the child that reads compiled files
        assert sorted(len(list(kept.iterdir())) for kept in folder.iterdir()) == [0, 2]
    assert not folder.exists()


@pytest.mark.lean
async def test_a_statement_whose_file_could_not_be_written_is_compiled_when_the_disk_has_room_again(monkeypatch):
    async with opened() as verifier:
        with monkeypatch.context() as full:
            full.setattr(checks, "make_folder", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
            with pytest.raises(OSError, match="No space left"):
                await verifier.verify(AND, "exact fun h => ⟨h.2, h.1⟩")
        assert (await verifier.verify(AND, "exact fun h => ⟨h.2, h.1⟩")).accepted


@pytest.mark.lean
async def test_a_proof_that_eats_memory_is_rejected():
    eats = "have h : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"
    async with opened(memory_mb=200) as verifier:
        reply = await verifier.verify(AND, eats)
    assert not reply.accepted and "more than 200 MB of memory" in reply.reason
