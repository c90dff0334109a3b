"""Provers of a mesh that have whole proofs to try: real broker, real lean-proxies."""

from __future__ import annotations

import json
from pathlib import Path

from common.bus import Bus
from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, Method, Purpose
from node.lean.text.script import proof_script
from tests.node.prover.nodes import played

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")


def attempt(attempt_id: str, **changes: object) -> Attempt:
    fields = {"purpose": Purpose.EVAL, "simulations": 4, "seed": 1, "method": Method.WHOLE_PROOF, "verify": True}
    return Attempt(attempt_id=attempt_id, theorem_id="swap", theorem=SWAP, **{**fields, **changes})  # type: ignore[arg-type]


async def test_a_prover_tries_the_proofs_that_it_is_configured_with(
    bus: Bus, lean_proxy: object, tmp_path: Path
) -> None:
    file = tmp_path / "proofs.jsonl"
    proofs = ["intro h\nexact h", "sorry", "intro h\nconstructor\n· exact h.2\n· exact h.1"]
    file.write_text("".join(json.dumps({"name": "swap", "proof": proof}) + "\n" for proof in proofs), encoding="utf-8")
    attempts = [
        attempt("whole"),
        attempt("later", first=2),
        attempt("searched", method=Method.MCTS),
        attempt("both", then=Method.BEST_FIRST),
        attempt("foreign", policy="proofs:/etc/passwd"),
    ]
    found = await played(bus, attempts, policy=f"proofs:{file}")
    whole = found["whole"]
    assert whole.outcome is AttemptOutcome.PROVED, whole.message
    assert whole.proof is not None and proof_script(whole.proof).splitlines()[-1] == "  · exact h.1"
    statistics = whole.statistics
    assert (statistics.solved_at_simulations, statistics.lean_attempts, statistics.without_proof) == (3, 2, 1)
    assert found["later"].statistics.solved_at_simulations == 1
    for name, reason in (
        ("searched", "they go with --method whole-proof"),
        ("both", "proposes no tactics"),
        ("foreign", "reads only files of its own configuration"),
    ):
        assert found[name].outcome is AttemptOutcome.ERROR and reason in found[name].message
    tactics = (await played(bus, [attempt("tactics")], policy="tactics"))["tactics"]
    assert tactics.outcome is AttemptOutcome.ERROR
    assert "proposes tactics only" in tactics.message
