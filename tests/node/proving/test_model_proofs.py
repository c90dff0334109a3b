"""A language model on a server that writes whole proofs: from the name of the policy to what Lean accepts."""

import random
from dataclasses import replace

import pytest

from node.lean.opened import OpenedLean
from node.play.policies import check
from node.prover.policies.names import BadPolicy
from node.proving.answers import answer
from node.proving.prover import Budget, local_prover
from node.proving.settings import ProvingSettings
from node.proving.statements import read_target
from tests.node.llm.server import Payload, Server, running

SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
GOEDEL = "Goedel-LM/Goedel-Prover-V2-8B"


def fenced(proof: str) -> str:
    return f"The plan.\n\n```lean4\n{SWAP} := by\n  {proof}\n```"


def corrected(payload: Payload, chance: random.Random) -> str:
    """Wrong at first; right once it has heard what Lean says of that."""
    last = payload["messages"][-1]["content"]
    return fenced("exact fun h => ⟨h.2, h.1⟩" if "Error Message: " in last else "exact fun h => h.3")


@pytest.mark.lean
async def test_a_model_proves_once_it_has_heard_leans_errors(opened_lean: OpenedLean) -> None:
    notes: list[str] = []
    async with running(Server(model=GOEDEL, texts=corrected)) as server:
        settings = ProvingSettings(
            policy=f"openai:{server.url}#{GOEDEL}", method="whole-proof", closing=[], searching=[], samples=2
        )
        few = Budget(seconds=60, simulations=4)
        async with local_prover(opened_lean, settings, note=notes.append) as prover:
            found = await answer(prover, read_target([SWAP]), few)
            assert (found.outcome, found.reason) == ("failed", "4 simulations; duplicates: 3")
        async with local_prover(opened_lean, replace(settings, correct=1), note=notes.append) as prover:
            found = await answer(prover, read_target([SWAP]), few)
            assert found.outcome == "proved", found.reason
            assert (found.by, found.simulations) == ("language model", 3)
        assert len(server.sent[-1]["messages"]) == 3
        assert "<error>  exact fun h => h.3</error>" in server.sent[-1]["messages"][-1]["content"]
    assert any("samples" in note for note in notes)


def test_a_model_goes_with_the_method_that_its_template_is_for() -> None:
    server = "openai:http://127.0.0.1:1"
    check(f"{server}#{GOEDEL}", "whole-proof", correct=2)
    for policy, method, then, correct, says in [
        (f"{server}#{GOEDEL}", "mcts", "", 0, "gives whole proofs: they go with --method whole-proof"),
        (f"{server}#BFS-Prover-V2-7B", "whole-proof", "", 0, "proposes tactics only"),
        (f"{server}#{GOEDEL}", "whole-proof", "mcts", 0, "proposes no tactics"),
        (f"{server}#{GOEDEL}+proofs:a", "whole-proof", "", 0, "has 2 parts that write whole proofs"),
        (f"{server}#DeepSeek-Prover-V1.5-RL", "whole-proof", "", 1, "has no form for corrections"),
    ]:
        with pytest.raises(BadPolicy, match=says):
            check(policy, method, then, correct)
    check(f"{server}#{GOEDEL}+{server}#BFS-Prover-V2-7B", "whole-proof", "best-first")
