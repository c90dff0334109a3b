"""Batches of proofs: each proof gets the same verdict as alone, whatever the other proofs are."""

import asyncio
import random
from dataclasses import replace

import pytest
import pytest_asyncio

from common.lean import Theorem
from common.protocol.messages import LeanVerifyReply
from node.lean.check.verify.verifier import Verifier
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.cheats import AND, BY_LEAN, BY_TEXT, FALSE
from tests.node.lean.verify.recorded import Proof, honest, opened, with_broken
from tests.waiting import eventually

pytestmark = [pytest.mark.lean, pytest.mark.asyncio(loop_scope="module")]

SWAP = "exact fun h => ⟨h.2, h.1⟩"

LOOP = "repeat (have := trivial)"


class Rounds:
    """Records the checks of a verifier as pairs (number of proofs, number of verdicts)."""

    def __init__(self, verifier: Verifier) -> None:
        self.seen: list[tuple[int, int]] = []
        verifier.on_checked = lambda proofs, settled, seconds: self.seen.append((proofs, settled))

    @property
    def batches(self) -> list[tuple[int, int]]:
        return [round for round in self.seen if round[0] > 1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verifier():
    async with opened() as verifier:
        yield verifier


def told(outcome: object) -> tuple[object, ...]:
    """The verdict as a tuple: accepted, reason, axioms; or that there is none, with the reason."""
    if isinstance(outcome, LeanVerifyReply):
        return outcome.accepted, outcome.reason, outcome.axioms
    return "no verdict", str(outcome)


async def accepted(verifier: Verifier, proofs: list[Proof]) -> list[bool]:
    return [told(outcome)[0] is True for outcome in await verifier.verify_many(proofs)]


async def test_honest_proofs_are_accepted_in_one_go_with_their_axioms(verifier):
    rounds = Rounds(verifier)
    unfolding = Theorem("t", "(x : Nat) (xs : List Nat)", "List.map id (x :: xs) = id x :: List.map id xs")
    proofs = [*honest(30), *((unfolding, script) for script in ("simp only [List.map]", "simp [List.map]", "rfl"))]
    proofs.append((Theorem("em", "(p : Prop)", "p ∨ ¬p"), "exact Classical.em p"))
    replies = await verifier.verify_many(proofs)
    assert [reply for reply in replies if not (isinstance(reply, LeanVerifyReply) and reply.accepted)] == []
    assert replies[-1].axioms == ("Classical.choice", "Quot.sound", "propext")
    assert {reply.lean_version for reply in replies} == {"4.35.0"} and all(reply.elapsed > 0 for reply in replies)
    assert rounds.seen == [(34, 34)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_every_cheat_is_refused_among_honest_proofs_which_stay_accepted(verifier, seed):
    cheats = [(theorem, script, reason) for group in BY_LEAN.values() for theorem, script, reason in group]
    cheats += [(FALSE, script, reason) for group in BY_TEXT.values() for script, reason in group]
    mixed = cheats + [(theorem, script, "") for theorem, script in honest(24)]
    random.Random(seed).shuffle(mixed)
    replies = await verifier.verify_many([(theorem, script) for theorem, script, _ in mixed])
    for (_, script, reason), reply in zip(mixed, replies, strict=True):
        assert isinstance(reply, LeanVerifyReply) and reply.accepted == (not reason), (script, reply)
        assert reason in reply.reason


@pytest.mark.parametrize("number", [2, pytest.param(30, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def test_verdicts_are_those_of_single_checks(number):
    proofs = [*honest(1), *with_broken(number, seed=37), (Theorem("t", "", "Missing.thing"), "rfl")]
    proofs.append((Theorem("t", "(p : Prop)", "p → ProofmeshStatement"), "exact fun _ => trivial"))
    outcomes = []
    for batch in (100, 1):
        async with opened(at_once=2, batch=batch) as verifier:
            rounds = Rounds(verifier)
            outcomes.append([told(outcome) for outcome in await verifier.verify_many(proofs)])
        assert bool(rounds.batches) is (batch > 1)
    assert {outcome[0] for outcome in outcomes[0]} == {True, False, "no verdict"}
    for proof, together, alone in zip(proofs, *outcomes, strict=True):
        assert together == alone, proof


async def test_an_ordinary_error_is_a_verdict_and_what_is_less_clear_goes_alone(verifier):
    rounds = Rounds(verifier)
    proofs = honest(12)
    proofs[5] = (FALSE, "rfl")
    proofs[8] = (FALSE, "exact ProofmeshProof.t")
    assert await accepted(verifier, proofs) == [number not in (5, 8) for number in range(12)]
    assert rounds.seen == [(12, 1), (10, 10), (1, 1)]


@pytest.mark.slow
async def test_a_proof_that_hangs_costs_its_neighbours_time_only(verifier, monkeypatch):
    await verifier.verify(AND, SWAP)
    monkeypatch.setattr(verifier.batches, "stall_seconds", 2.0)
    rounds = Rounds(verifier)
    proofs = honest(12)
    proofs[3] = (AND, LOOP)
    checking = asyncio.create_task(verifier.verify_many(proofs))
    # The neighbours have their verdicts before the one that hangs is tried alone.
    others = asyncio.create_task(accepted(verifier, [(AND, SWAP)] * 2))
    assert await others == [True, True]
    assert [proofs for proofs, _ in rounds.seen] == [14, 3, 10] and not checking.done()
    checking.cancel()
    await asyncio.wait({checking})


async def test_a_proof_that_hangs_is_refused_as_it_is_alone():
    async with opened(seconds=1.5) as verifier:
        verifier.batches.stall_seconds = 0.5
        (reply, *others) = await verifier.verify_many([(FALSE, LOOP), *honest(2)])
    assert "the proof exceeded a limit: not done after 1.5 s" in reply.reason
    assert all(other.accepted for other in others)


async def test_a_proof_that_leans_on_a_neighbours_declaration_is_judged_alone():
    # Where Lean elaborates theorems one after another it takes an auxiliary lemma that is there already: with it, a
    # proof is accepted that the kernel refuses when it stands alone.
    pocket = LeanToolchain.pocket()
    toolchain = replace(pocket, command=(*pocket.command, "-DElab.async=false"))
    theorem = Theorem("t", "", "∀ p : Prop, p ∨ ¬p", header="open Classical")
    proofs = [(theorem, "as_aux_lemma => exact fun p => Classical.em p"), (theorem, "decide +kernel")]
    async with opened(toolchain) as verifier:
        rounds = Rounds(verifier)
        outcomes = [told(outcome) for outcome in await verifier.verify_many(proofs)]
    assert outcomes[0][0] is True and outcomes[1][0] is False and "got stuck" in outcomes[1][1]
    assert rounds.seen == [(2, 1), (1, 1)]  # Lean had nothing against either of them


async def test_each_header_has_its_own_batches_and_one_that_declares_something_has_none(verifier):
    rounds = Rounds(verifier)
    one, other = Theorem("t", "", "1 = 1", header="open Nat"), Theorem("t", "", "zero = zero", header="open Nat")
    axiom = Theorem("t", "", "1 = 2", header="axiom mine : 1 = 2")
    proofs = [(AND, SWAP), (one, "rfl"), (axiom, "exact mine"), (AND, SWAP), (other, "rfl"), (axiom, "exact mine")]
    replies = await verifier.verify_many(proofs)
    assert [reply.accepted for reply in replies] == [True, True, False, True, True, False]
    assert "other axioms than Lean's own: mine" in replies[2].reason
    assert sorted(rounds.seen) == [(1, 1), (1, 1), (2, 2), (2, 2)]


async def test_a_single_proof_does_not_wait_and_what_comes_meanwhile_is_checked_together(verifier):
    rounds = Rounds(verifier)
    first = asyncio.create_task(verifier.verify(AND, SWAP))
    await eventually(lambda: any(verifier.folder.glob("proof-*")), timeout=30, what="the first check")
    rest = await asyncio.gather(*(verifier.verify(theorem, script) for theorem, script in honest(5)))
    assert (await first).accepted and all(reply.accepted for reply in rest)
    assert rounds.seen == [(1, 1), (5, 5)]


PARSER = (
    "let rec @[term_parser 5000] p : Lean.TrailingParserDescr := Lean.ParserDescr.trailingNode "
    '(Lean.Name.str Lean.Name.anonymous "term_=_") 50 50 (Lean.ParserDescr.binary '
    '(Lean.Name.str Lean.Name.anonymous "andthen") (Lean.ParserDescr.symbol " ≠ ") '
    '(Lean.ParserDescr.cat (Lean.Name.str Lean.Name.anonymous "term") 51)); True'
)
"""From here on, `a ≠ b` is read as `a = b`."""


@pytest.mark.parametrize("by_text", [True, False], ids=["refused by its text", "as if the rules for texts had a hole"])
async def test_a_statement_cannot_change_what_those_after_it_mean(verifier, monkeypatch, by_text):
    if not by_text:
        monkeypatch.setattr("node.lean.check.verify.verifier.statement_problem", lambda *_: "")
    proofs = [(Theorem("evil", "", PARSER), "trivial"), (Theorem("one", "", "(1 : Nat) ≠ 1"), "rfl"), *honest(3)]
    evil, false, *others = [told(outcome)[0] for outcome in await verifier.verify_many(proofs)]
    assert evil is (True if not by_text else "no verdict") and false is False and others == [True] * 3
