"""`prove` and `eval` with a language model on a server: real Lean, and a server on loopback with fixed tactics."""

from __future__ import annotations

import random
from functools import partial

import pytest

from common.output.command import Exit
from node.command.proofs import prove as prove_command
from tests.commands import Called, Run
from tests.node.llm.server import Payload, Server, in_a_thread

pytestmark = pytest.mark.lean

MODEL = "ByteDance-Seed/BFS-Prover-V1-7B"

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
FALSE = "theorem false (p q : Prop) : p → q"

ALONE = ("--closing", "--searching")
"""Nothing but the search: no closing tactics, no search of the library."""


@pytest.fixture
def prove(called: Called) -> Run:
    """The command in this process."""
    return partial(called, prove_command.main)


def by_state(payload: Payload, chance: random.Random) -> str:
    """Step by step: usually a tactic that works for the state in the prompt, sometimes one that does not."""
    goal = payload["prompt"].removesuffix(":::").rpartition("⊢")[2].strip()
    right = {"p ∧ q → q ∧ p": "intro h", "q ∧ p": "constructor", "q": "exact h.2", "p": "exact h.1"}[goal]
    return right if chance.random() < 0.7 else chance.choice(("omega", "sorry", "nonsense tactic", ""))


def test_a_model_proves_a_theorem_in_several_steps_while_its_server_fails_now_and_then(prove: Run) -> None:
    model = Server(model=MODEL, texts=by_state, fault=lambda number: "unavailable" if number % 3 == 1 else "")
    with in_a_thread(model) as server:
        code, out, err = prove(*ALONE, "--policy", f"openai:{server.url}#{MODEL}", "--models.wait", "0.05", SWAP)
    assert code == Exit.DONE and out.startswith("theorem swap") and "accepted by Lean" in err, err
    assert "by language model" in err and f"{MODEL}: " in err and "unavailable" in err
    assert server.did["unavailable"] >= 1 and server.did["answered"] >= 4
    assert server.sent[0]["prompt"] == "p q : Prop\n⊢ p ∧ q → q ∧ p:::"
