"""Requests conjectures for a seed from the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.bus import RemoteFailure
from common.protocol.messages import FailureKind, OversizedMessage
from common.sampling import Sampling
from node.model.conjectures import conjecture_prompt
from node.prover.policies.policy import InferencePolicy
from node.stp.records import Seed

if TYPE_CHECKING:
    from common.bus import Asking

TIMEOUT = 60.0
"""Seconds after which a request is retried."""

OLD_NODE = "an inference node of an older version answered a request for conjectures with tactics; update the node"


class ConjecturingError(Exception):
    """The served network cannot write conjectures; the text says why and what to do."""


@dataclass(frozen=True)
class Output:
    """One output of the network for a seed."""

    text: str
    """`example BINDERS : CONCLUSION`, if the network follows its training."""
    complete: bool
    """False if the output was cut off, is empty, or is not valid text."""
    tokens: int
    """Number of tokens, including the end token."""


async def conjecture(
    asking: Asking, seed: Seed, *, samples: int, rng_seed: int, weights: int, sampling: Sampling, patience: float
) -> list[Output]:
    """The network's outputs in sample order, including duplicates. Equal arguments give equal outputs. The list is
    empty if the seed exceeds the network's context.

    `weights`: the version that must answer; `patience`: seconds to wait for a reply, not counting time without a
    broker. Raises BusError, ConjecturingError.
    """
    prompt = conjecture_prompt(seed.lemma.statement, seed.theorem.signature, seed.proof)
    inference = InferencePolicy(asking, weights=weights, timeout=TIMEOUT, patience=patience, sampling=sampling)
    try:
        reply = await inference.ask(prompt, samples, rng_seed, conjecture=True)
    except OversizedMessage:
        return []
    except RemoteFailure as failure:
        if failure.kind is FailureKind.MALFORMED:
            raise ConjecturingError(failure.reason) from failure
        raise
    if any(sample.tokens is None for sample in reply.tactics):
        raise ConjecturingError(OLD_NODE)
    return [Output(sample.tactic, sample.complete, sample.tokens or 0) for sample in reply.tactics]
