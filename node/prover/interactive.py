"""Policies for people who wait: a network is joined by the list of tactics, and in a file by the file's own names.

Evaluations and training ask the policy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from common.lean import Theorem
from common.places import Context
from node.prover.fixed_policy import FixedPolicy
from node.prover.mixture import MixturePolicy, Part
from node.prover.policy import Policy
from node.prover.policy_names import INFERENCE, TACTICS
from node.prover.premises import PremisePolicy, Premises

SHARE = 0.5
"""Of the prior mass, beside a policy with 1: half of all proofs in files need nothing of the file."""


def premises_of(theorem: Theorem) -> Premises | None:
    """What stands above a gap; None for a theorem that stands by itself, and where nothing is declared above."""
    premises = _premises(theorem.place.context) if theorem.place is not None else None
    return premises if premises is not None and premises.declared else None


def with_premises(
    policy: Policy, theorem: Theorem, *, has_values: bool, unknown: Callable[[str], bool] = lambda tactic: False
) -> Policy:
    """The policy, with tactics that use the file's own names.

    `has_values`: whether the policy's values are learned; `unknown`: whether Lean does not know a tactic.
    """
    premises = premises_of(theorem)
    if premises is None:
        return policy
    return MixturePolicy(
        [Part(policy, has_values=has_values), Part(PremisePolicy(premises, unknown), SHARE, name="names of the file")]
    )


def for_people(policy: Policy, theorem: Theorem, *, network: bool) -> Policy:
    """What proves most. `network`: whether the policy is one; else it is the list of tactics itself."""
    if network:
        policy = MixturePolicy([Part(policy, has_values=True, name=INFERENCE), Part(FixedPolicy(), name=TACTICS)])
    return with_premises(policy, theorem, has_values=network)


@lru_cache(maxsize=64)
def _premises(context: Context) -> Premises:
    return Premises.of(context.text)
