"""Policies of this process without Lean, and theorems in the Lean of this process."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from common.bus import Here
from common.lean import ProofTree, Theorem
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import LeanVerifyReply
from common.settings import PLAIN, Sampling
from node.lean.opened import OpenedLean
from node.llm.settings import ModelSettings
from node.play.here import LocalSources
from node.prover.environment import LeanEnvironment, Verification
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.combined import ByTurns
from node.prover.policies.names import OWN
from node.prover.policies.policy import Policy
from node.prover.policies.proofs import ProofSource
from node.prover.search.parameters import SearchParameters
from node.prover.settings import ProverSettings


@dataclass(frozen=True)
class OpenedPolicy:
    """A policy with what a search needs besides."""

    policy: Policy | ByTurns
    proofs: ProofSource | None
    parameters: SearchParameters
    network: bool
    sources: LocalSources


@asynccontextmanager
async def open_policy(
    policy: str,
    *,
    sampling: Sampling = PLAIN,
    models: ModelSettings | None = None,
    strict: bool = False,
    whole: bool = False,
    note: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[OpenedPolicy]:
    """`strict`: as evaluations use it, where a part that fails is the end; otherwise as people do. `whole`: for the
    method whole-proof, followed by a search."""
    here = Here()
    sources = LocalSources(here, OWN, 1, models, note)
    policies = AttemptPolicies(here, ProverSettings(policy="", sampling=sampling), sources)
    try:
        names = policies.parse(policy)
        for name in names:
            await sources.open(name)
        policies.add(names)
        purpose = Purpose.EVAL if strict else Purpose.INTERACTIVE
        plays = {"method": "whole-proof", "then": "mcts"} if whole else {}
        theorem = Theorem("t", "", "True")
        attempt = Attempt("a", "t", theorem, purpose, 1, 0, policy=policy, **plays)  # type: ignore[arg-type]
        yield OpenedPolicy(
            policies.policy(attempt),
            policies.proofs(attempt),
            policies.parameters(attempt),
            policies.has_values(attempt),
            sources,
        )
    finally:
        await sources.stop()


def here_of(lean: OpenedLean) -> Here:
    """Answers requests to this Lean."""
    here = Here()
    lean.serve(here)
    return here


def environment_of(lean: OpenedLean, theorem: Theorem) -> LeanEnvironment:
    """The theorem in this Lean."""
    seconds = lean.settings.resolved_tactic_seconds()
    return LeanEnvironment(here_of(lean), theorem, tactic_timeout=seconds, patience=600.0)


async def verified(lean: OpenedLean, theorem: Theorem, proof: ProofTree | str) -> LeanVerifyReply:
    """Lean's verdict in fresh processes."""
    return await Verification(here_of(lean), theorem, timeout=60.0, patience=600.0).verdict(proof)
