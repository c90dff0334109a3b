"""Sources of whole proofs and a toy Lean that takes some of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from common.lean import Branch, Outcome, OutcomeKind, ProofTree, Step
from common.protocol.attempts import Attempt, AttemptResult, Method
from node.prover.agent import Playing
from node.prover.policies.proofs import Draft, ProofRequest
from node.prover.whole_proof import WholeProofAgent
from tests.node.prover.toys import attempt as any_attempt

GOALS = Outcome(OutcomeKind.GOALS, (Branch("⊢ True"),))


class Listed:
    """Gives proofs in their order, after a random number of turns of the event loop. Corrects `bad N` to `bad N+1`."""

    def __init__(self, *proofs: str, jitter: int = 0) -> None:
        self.proofs = proofs
        self.asked: list[ProofRequest] = []
        self._random = random.Random(jitter)

    async def propose(self, request: ProofRequest) -> list[Draft]:
        self.asked.append(request)
        for _ in range(self._random.randrange(5)):
            await asyncio.sleep(0)
        if request.correct:
            number = int(request.correct[-1].draft.text.split()[-1])
            return [Draft(f"bad {number + 1}", tokens=7)]
        given = self.proofs[request.first : request.first + request.count]
        return [Draft(text, "" if text else "no code", tokens=10) for text in given]


class Lean:
    """Takes `good`, and nothing else, for a proof; `lost` is lost and `hang` not finished."""

    def __init__(self, good: Sequence[str] = ("good",)) -> None:
        self.good = good
        self.ran: list[str] = []

    async def open(self) -> str:
        return "⊢ t"

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        assert path == ()
        self.ran += tactics
        await asyncio.sleep(0)
        return {tactic: self._outcome(tactic) for tactic in tactics}

    def _outcome(self, tactic: str) -> Outcome:
        if tactic in self.good:
            return Outcome(OutcomeKind.PROVED)
        if tactic.startswith(("lost", "hang")):
            return Outcome(OutcomeKind.LOST if tactic.startswith("lost") else OutcomeKind.TIMEOUT)
        return GOALS if tactic.startswith("half") else Outcome(OutcomeKind.ERROR, message=f"unknown tactic {tactic}")


class Verifier:
    """Accepts these scripts, and keeps all that it was asked about."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = accepted
        self.seen: list[str] = []

    async def __call__(self, proof: ProofTree) -> str:
        self.seen.append(proof.tactic)
        return "" if proof.tactic in self.accepted else f"refused: {proof.tactic}"


def attempt(**changes: object) -> Attempt:
    return any_attempt(**{"simulations": 20, "samples": 4, "method": Method.WHOLE_PROOF, **changes})  # type: ignore[arg-type]


async def play(
    source: Listed, lean: Lean | None = None, verify: Verifier | None = None, **changes: object
) -> AttemptResult:
    return await WholeProofAgent(attempt(**changes), source, lean or Lean(), Playing("p", verify=verify)).play()
