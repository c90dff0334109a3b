"""Requests of a whole-proof attempt to its source: for first proofs, and for corrections. Each has its own seed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from common.life.waiting import all_results
from common.protocol.attempts import Attempt
from common.seeds import derive_seed
from node.prover.agents.account import Account
from node.prover.agents.agent import identity
from node.prover.policies.proofs.drafts import Draft, Failed, ProofRequest, ProofSource


@dataclass(frozen=True, slots=True)
class Refuted:
    """A sample that failed."""

    number: int
    """Its place among the attempt's samples."""
    history: tuple[Failed, ...]
    """The samples that it corrected, and itself as the last one."""


class DraftRequests:
    """Requests the proofs of one attempt, and counts their costs."""

    def __init__(self, attempt: Attempt, source: ProofSource, account: Account) -> None:
        self._attempt = attempt
        self._source = source
        self._account = account
        self._asked = 0
        """First proofs requested so far."""

    async def first(self, count: int) -> Sequence[Draft]:
        """The next first proofs; fewer than `count` if the source has no more. Raises ProofsUnavailable, BusError."""
        attempt, asked = self._attempt, self._asked
        self._asked += count
        seed = derive_seed(attempt.seed, identity(attempt), "proofs", asked)
        return await self._propose(
            ProofRequest(attempt.theorem, attempt.theorem_id, count, attempt.first + asked, seed)
        )

    async def corrections(self, refuted: Sequence[Refuted], round: int) -> list[tuple[Draft, tuple[Failed, ...]]]:
        """New versions of samples that failed, each with its history. Empty if the source cannot correct proofs.

        Raises ProofsUnavailable, BusError.
        """
        attempt = self._attempt
        requests = [
            ProofRequest(
                attempt.theorem,
                attempt.theorem_id,
                count=1,
                first=0,
                seed=derive_seed(attempt.seed, identity(attempt), "correction", each.number, round),
                correct=each.history,
            )
            for each in refuted
        ]
        replies = await all_results(self._propose(request) for request in requests)
        return [
            (draft, request.correct) for request, drafts in zip(requests, replies, strict=True) for draft in drafts[:1]
        ]

    async def _propose(self, request: ProofRequest) -> Sequence[Draft]:
        began = time.perf_counter()
        drafts = await self._source.propose(request)
        self._account.seconds_policy += time.perf_counter() - began
        self._account.samples += len(drafts)
        self._account.tokens += sum(draft.tokens for draft in drafts)
        return drafts
