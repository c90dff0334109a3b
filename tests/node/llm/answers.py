"""What servers of language models answer in tests of searches: the tactics and proofs of one small theorem."""

import random

from tests.node.llm.server import Payload

BFS = "ByteDance-Seed/BFS-Prover-V1-7B"
GOEDEL = "Goedel-LM/Goedel-Prover-V2-8B"

RIGHT = {"p ∧ q → q ∧ p": "intro h", "q ∧ p": "constructor", "q": "exact h.2", "p": "exact h.1"}


def step(payload: Payload, chance: random.Random) -> str:
    """What fits the goal in the prompt."""
    return RIGHT.get(payload["prompt"].removesuffix(":::").rpartition("⊢")[2].strip(), "omega")


def whole(payload: Payload, chance: random.Random) -> str:
    """A proof that is right for one theorem, once it has heard Lean's errors."""
    heard = "Error Message: " in payload["messages"][-1]["content"]
    proof = "exact fun h => ⟨h.2, h.1⟩" if heard else "exact fun h => h.3"
    return f"The plan.\n\n```lean4\ntheorem swap (p q : Prop) : p ∧ q → q ∧ p := by\n  {proof}\n```"
