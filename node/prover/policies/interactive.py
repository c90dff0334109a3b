"""Policies for interactive attempts: adds the fixed list of tactics to a network, and names of the file to both.

Evaluations and training use the policy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from common.lean import Theorem
from common.places import Context
from node.prover.policies.fixed.policy import FixedPolicy
from node.prover.policies.mixture import MixturePolicy, Part
from node.prover.policies.names import INFERENCE, TACTICS
from node.prover.policies.policy import Policy
from node.prover.policies.premises import PremisePolicy, Premises

SHARE = 0.5
"""Share of the prior mass for tactics with names of the file; the policy has 1. Half of all proofs in files need no
name of the file."""


def premises_of(theorem: Theorem) -> Premises | None:
    """The declarations above a `sorry`. None for a theorem outside a file, or when nothing is declared above."""
    premises = _premises(theorem.place.context) if theorem.place is not None else None
    return premises if premises is not None and premises.declared else None


def with_premises(
    policy: Policy, theorem: Theorem, *, has_values: bool, unknown: Callable[[str], bool] = lambda tactic: False
) -> Policy:
    """The policy, with tactics that use the names declared in the file.

    `has_values`: whether the policy's values are learned. `unknown`: True for tactics that Lean does not know.
    """
    premises = premises_of(theorem)
    if premises is None:
        return policy
    return MixturePolicy(
        [Part(policy, has_values=has_values), Part(PremisePolicy(premises, unknown), SHARE, name="names of the file")]
    )


def for_people(policy: Policy, theorem: Theorem, *, network: bool) -> Policy:
    """The policy that proves most. `network`: whether `policy` is a network; otherwise it is the list of tactics."""
    if network:
        policy = MixturePolicy([Part(policy, has_values=True, name=INFERENCE), Part(FixedPolicy(), name=TACTICS)])
    return with_premises(policy, theorem, has_values=network)


@lru_cache(maxsize=64)
def _premises(context: Context) -> Premises:
    return Premises.of(context.text)
