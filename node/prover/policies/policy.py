"""The policy interface, which gives tactics and a value for a state, and the policy of a network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from common.protocol import subjects
from common.protocol.messages import TacticReply, TacticRequest
from common.sampling import PLAIN, Sampling
from node.prover.search.prior import Proposal, merge_samples

if TYPE_CHECKING:
    from common.bus import Asking


@dataclass(frozen=True, slots=True)
class Advice:
    """A policy's tactics and value for a state."""

    proposals: list[Proposal]
    value: float
    """V: minus the expected number of remaining tactics."""
    exhausted: bool = False
    """True if the policy has no further tactic for this state."""
    weights: int = 0
    """Weight version of the network; 0 for a policy without weights."""
    samples: int | None = None
    """Number of sampled tactics, duplicates and incomplete ones included; None: as many as proposals."""
    tokens: int | None = None
    """Tokens of these samples; None: not counted."""

    @property
    def drawn(self) -> int:
        """Number of sampled tactics."""
        return len(self.proposals) if self.samples is None else self.samples


class Policy(Protocol):
    """Proposes tactics and a value for a state. Equal arguments and equal weights give equal advice."""

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """`samples`: number of tactics to sample, duplicates included. Raises BusError."""


class BadAdvice(ValueError):
    """A policy's reply cannot be used, for example because the value is not finite."""


class StateTooLong(BadAdvice):
    """The goals of this state exceed the policy's context. Other states of the same theorem may fit."""

    def __init__(self, text: str, value: float) -> None:
        """`value`: the value that the search uses for this state."""
        super().__init__(text)
        self.value = value

    def advice(self) -> Advice:
        """Advice without tactics: the policy is exhausted at this state."""
        return Advice([], self.value, exhausted=True, samples=0)


class NoTactics:
    """The policy of a name that has parts for whole proofs only."""

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """Raises BadAdvice."""
        raise BadAdvice("this policy gives whole proofs and no tactics: use the method whole-proof")


class InferencePolicy:
    """Tactics and values of a network, from inference nodes or in this process. Its `ask` also gives whole proofs
    (`node.prover.policies.proofs.inference_proofs`) and conjectures."""

    def __init__(
        self,
        asking: Asking,
        *,
        weights: int | None,
        timeout: float,
        patience: float,
        sampling: Sampling = PLAIN,
    ) -> None:
        """`weights`: requested version, None for the latest. `timeout`: seconds before a request is sent again.
        `patience`: seconds to wait for a reply in total, without broker outages."""
        self._asking = asking
        self._weights = weights
        self._timeout = timeout
        self._patience = patience
        self._sampling = sampling

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """Incomplete samples are dropped here, so they never reach Lean. Raises BusError, BadAdvice."""
        reply = await self.ask(state, samples, seed)
        if not math.isfinite(reply.value):
            raise BadAdvice(f"weights {reply.weights} gave the value {reply.value} for the state {state[:80]!r}")
        return Advice(
            merge_samples(reply.tactics),
            reply.value,
            weights=reply.weights,
            samples=len(reply.tactics),
            tokens=reply.tokens,
        )

    async def ask(
        self, state: str, samples: int, seed: int, *, proof: bool = False, conjecture: bool = False
    ) -> TacticReply:
        """Request samples for a state; with `proof`, whole proofs of a statement; with `conjecture`, conjectures.

        Raises BusError.
        """
        request = TacticRequest(
            state=state,
            samples=samples,
            seed=seed,
            weights=self._weights,
            sampling=self._sampling,
            proof=proof,
            conjecture=conjecture,
        )
        return await self._asking.ask(
            subjects.TACTIC_REQUEST, request, TacticReply, timeout=self._timeout, patience=self._patience
        )
