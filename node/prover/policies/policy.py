"""The policy interface, which gives tactics and a value for a state, and the policy of a network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from common.protocol import subjects
from common.protocol.messages import SampledTactic, TacticReply, TacticRequest
from common.settings import PLAIN, Sampling

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

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """`samples`: number of tactics to sample, duplicates included. `again`: the state was sampled before, so that
        a network should vary its samples more. Raises BusError."""


TEMPERATURE = 200.0
"""τ of AlphaProof's pseudocode. It is so high that sample counts decide, and log-probabilities hardly matter."""


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

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """Raises BadAdvice."""
        raise BadAdvice("this policy gives whole proofs and no tactics: use the method whole-proof")


class InferencePolicy:
    """Tactics and values of a network, from inference nodes or in this process. Its `ask` also gives whole proofs
    (`node.prover.policies.proofs`) and conjectures."""

    def __init__(
        self,
        asking: Asking,
        *,
        weights: int | None,
        timeout: float,
        patience: float,
        sampling: Sampling = PLAIN,
        temperature: float = TEMPERATURE,
        resampling: float = 0.0,
    ) -> None:
        """`weights`: requested version, None for the latest. `timeout`: seconds before a request is sent again.
        `patience`: seconds to wait for a reply in total, without broker outages. `temperature`: τ of `merge_samples`.
        `resampling`: lowest temperature at which a state is sampled again.
        """
        self._asking = asking
        self._weights = weights
        self._timeout = timeout
        self._patience = patience
        self._sampling = sampling
        self._temperature = temperature
        self._again = replace(sampling, temperature=max(sampling.temperature, resampling))

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """Incomplete samples are dropped here, so they never reach Lean. Raises BusError, BadAdvice."""
        reply = await self.ask(state, samples, seed, again=again)
        if not math.isfinite(reply.value):
            raise BadAdvice(f"weights {reply.weights} gave the value {reply.value} for the state {state[:80]!r}")
        return Advice(
            merge_samples(reply.tactics, self._temperature),
            reply.value,
            weights=reply.weights,
            samples=len(reply.tactics),
            tokens=reply.tokens,
        )

    async def ask(
        self,
        state: str,
        samples: int,
        seed: int,
        *,
        again: bool = False,
        proof: bool = False,
        conjecture: bool = False,
    ) -> TacticReply:
        """Request samples for a state; with `proof`, whole proofs of a statement; with `conjecture`, conjectures.

        Raises BusError.
        """
        request = TacticRequest(
            state=state,
            samples=samples,
            seed=seed,
            weights=self._weights,
            sampling=self._again if again else self._sampling,
            proof=proof,
            conjecture=conjecture,
        )
        return await self._asking.ask(
            subjects.TACTIC_REQUEST, request, TacticReply, timeout=self._timeout, patience=self._patience
        )


# ----------------------------------------------------------------------------------------------------------------------
# Priors of tactics, from the samples of a policy.


@dataclass(frozen=True, slots=True)
class Proposal:
    """A distinct tactic and its prior mass. The search normalises the masses over the legal tactics of a state."""

    tactic: str
    mass: float
    log_probability: float | None = None
    """Log-probability of the tactic's text under the policy; None: the policy has none."""
    source: str = ""
    """The parts of a mixture that propose it, joined by `+`; empty: the policy is not a mixture."""


def ranked(tactics: Sequence[str]) -> list[Proposal]:
    """Proposals from an ordered list of distinct tactics. Prior mass falls from 1 to 1/2, so the order breaks ties."""
    return [Proposal(tactic, 1.0 - 0.5 * rank / len(tactics)) for rank, tactic in enumerate(tactics)]


def merge_samples(samples: Iterable[SampledTactic], temperature: float = TEMPERATURE) -> list[Proposal]:
    """The distinct tactics of the samples, in order of first occurrence, with their prior masses.

    mass(a) = Σ exp(log p_i / τ) over the samples i equal to a, which is count(a) · exp(Σ_tokens log p / τ)
    (AlphaProof, pseudocode; τ = `temperature`). Incomplete and blank samples are dropped.
    """
    mass: dict[str, float] = {}
    log_probability: dict[str, float] = {}
    for sample in samples:
        tactic = sample.tactic.strip()
        if sample.complete and tactic:
            mass[tactic] = mass.get(tactic, 0.0) + math.exp(sample.log_probability / temperature)
            log_probability[tactic] = max(log_probability.get(tactic, -math.inf), sample.log_probability)
    return [Proposal(tactic, total, log_probability[tactic]) for tactic, total in mass.items()]


def log_probabilities(proposals: Sequence[Proposal]) -> list[float]:
    """The log-probability of each proposal. If any is missing, the logarithms of the normalised priors, for all
    proposals: the two kinds cannot be compared within one state."""
    from_policy = [proposal.log_probability for proposal in proposals if proposal.log_probability is not None]
    if len(from_policy) == len(proposals):
        return from_policy
    total = sum(proposal.mass for proposal in proposals)
    return [math.log(proposal.mass / total) if proposal.mass > 0 else -math.inf for proposal in proposals]
