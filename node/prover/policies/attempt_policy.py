"""Builds the policy and the source of proofs of an attempt: those of the prover's configuration, or of the attempt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from common.protocol.attempts import Attempt, Purpose
from node.prover.methods.turns import ByTurns, Player, wrapped
from node.prover.policies.exploration import ExploringPolicy
from node.prover.policies.fixed.policy import CLOSING, FixedPolicy
from node.prover.policies.fixed.tactic_list import ListedTactics, read_tactics
from node.prover.policies.guided import open_guide, with_guide
from node.prover.policies.interactive import for_people, with_premises
from node.prover.policies.mixture import MixturePolicy, Part
from node.prover.policies.models.mesh_models import MeshModels
from node.prover.policies.names import (
    INFERENCE,
    TACTICS,
    BadPolicy,
    PolicyName,
    check_corrections,
    check_method,
    has_network,
    joined,
    parse,
    writers_of,
)
from node.prover.policies.policy import InferencePolicy, NoTactics, Policy
from node.prover.policies.proofs.drafts import ProofSource
from node.prover.policies.proofs.inference_proofs import InferenceProofs
from node.prover.policies.proofs.proof_list import ListedProofs, read_proofs
from node.prover.policies.retrieved import open_source, with_retrieved
from node.prover.search.parameters import SearchParameters
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from common.bus import Bus

LIST_SHARE = 1.0
"""Share of the prior mass for a list of tactics in a mixture; a network has 1. So a tactic in one of a few samples has
about the mass of the list's best guess."""


def tactics_policy(name: PolicyName, closing: Sequence[str] = CLOSING) -> Policy:
    """A list of tactics as a policy. `closing`: first tactics of the fixed list. Raises BadPolicy for a bad file."""
    return ListedTactics(read_tactics(Path(name.where))) if name.where else FixedPolicy(closing)


def proofs_of(name: PolicyName) -> ProofSource:
    """The whole proofs of a file. Raises BadPolicy if the file cannot be used."""
    return ListedProofs(read_proofs(Path(name.where)))


def share_of(name: PolicyName) -> float:
    """The part's share of the prior mass, relative to the shares of the other parts."""
    if name.share is not None:
        return name.share
    return Part.share if name.is_network or name.is_model else LIST_SHARE


def part_of(name: PolicyName, policy: Policy, source: str = "") -> Part:
    """A part of a mixture. `source`: its name in results; empty: the policy's name."""
    return Part(policy, share_of(name), has_values=name.is_network, name=source or name.source, turn=name.turn)


def combined(parts: Sequence[Part], *, strict: bool) -> Policy | ByTurns:
    """One policy from its parts, or several that take turns; NoTactics without parts. `strict`: see MixturePolicy."""
    turns = [list(group) for _, group in groupby(parts, key=lambda part: part.turn)]
    if len(turns) > 1:
        return ByTurns(
            tuple(Player(MixturePolicy(group, strict=strict), any(p.has_values for p in group)) for group in turns)
        )
    if not parts:
        return NoTactics()
    return parts[0].policy if len(parts) == 1 else MixturePolicy(parts, strict=strict)


class AttemptPolicies:
    """Gives each attempt its policy."""

    def __init__(self, bus: Bus, settings: ProverSettings) -> None:
        """Raises BadPolicy if the configured policy cannot be used."""
        self._bus = bus
        self._settings = settings
        self._configured = parse(settings.policy, INFERENCE)
        self._files = {name: tactics_policy(name) for name in self._configured if name.kind == TACTICS and name.where}
        self._proofs = {name: proofs_of(name) for name in self._configured if name.is_proofs}
        self._models = MeshModels(bus, settings, self._configured)
        self._premises = open_source(settings.premises)
        self._guide = open_guide(settings.progress, settings.guidance)

    def policy(self, attempt: Attempt) -> Policy | ByTurns:
        """The policy of an attempt. An interactive attempt that names no policy gets a network together with the list
        of tactics. Other attempts get exactly their policy, and fail if its network fails. Raises BadPolicy."""
        names = self._names(attempt)
        check_method(names, attempt.method, attempt.then, writes=self._models.writes)
        check_corrections(names, attempt.method, attempt.correct, writes=self._models.writes)
        network, people = has_network(names), attempt.purpose is Purpose.INTERACTIVE
        parts = [self._part(name, attempt) for name in names if not self._models.writes(name)]
        policy = combined(parts, strict=not people)
        if not parts:
            return policy
        policy = with_retrieved(policy, attempt.theorem, self._premises, has_values=network)
        policy = with_guide(policy, self._guide)
        if people and not attempt.policy and all(name.is_network for name in names):
            return wrapped(policy, lambda each: for_people(each, attempt.theorem, network=True))
        if people:
            return wrapped(policy, lambda each: with_premises(each, attempt.theorem, has_values=network))
        if attempt.explore > 0:
            return wrapped(policy, lambda each: ExploringPolicy(each, attempt.explore))
        return policy

    def proofs(self, attempt: Attempt) -> ProofSource | None:
        """The source of whole proofs for the attempt; None if its policy has none. Raises BadPolicy."""
        writer = next(iter(writers_of(self._names(attempt), self._models.writes)), None)
        if writer is None:
            return None
        if writer.is_model:
            return self._models.proofs(writer, attempt.sampling)
        return InferenceProofs(self._inference(attempt)) if writer.is_network else self._proofs[writer]

    def has_values(self, attempt: Attempt) -> bool:
        """Whether the values of the attempt's policy are learned. Raises BadPolicy."""
        return has_network(self._names(attempt))

    def parameters(self, attempt: Attempt) -> SearchParameters:
        """The search parameters for the attempt's policy. Raises BadPolicy."""
        return self._settings.search.beside(network=has_network(self._names(attempt)))

    def _names(self, attempt: Attempt) -> list[PolicyName]:
        names = parse(attempt.policy, INFERENCE) if attempt.policy else self._configured
        # A message must not choose which files of this machine are read.
        files = [name for name in names if name.where and not name.is_model]
        if unknown := [name for name in files if name not in {*self._files, *self._proofs}]:
            raise BadPolicy(
                f"an attempt asks for `{joined(unknown)}`: a prover reads only files of its own configuration; add it "
                "to [prover] policy, or to `proofmesh up --policy`"
            )
        return names

    def _part(self, name: PolicyName, attempt: Attempt) -> Part:
        if name.is_model:
            return part_of(name, self._models.policy(name, attempt.sampling))
        if not name.is_network:
            return part_of(name, self._files.get(name) or tactics_policy(name))
        return part_of(name, self._inference(attempt))

    def _inference(self, attempt: Attempt) -> InferencePolicy:
        settings = self._settings
        return InferencePolicy(
            self._bus,
            weights=attempt.weights,
            timeout=settings.policy_timeout,
            patience=settings.policy_patience,
            sampling=attempt.sampling or settings.sampling,
        )
