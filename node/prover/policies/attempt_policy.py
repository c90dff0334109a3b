"""Builds the policy and the source of proofs of an attempt: those of the prover's configuration, or of the attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from common.protocol.attempts import Attempt, Purpose
from node.prover.policies.combined import ByTurns, ExploringPolicy, MixturePolicy, Part, Player, RuledPolicy, wrapped
from node.prover.policies.fixed import CLOSING, FixedPolicy, NeighbourTactics, tactics_policy
from node.prover.policies.language_model import LanguageModelPolicy, decoding_of
from node.prover.policies.names import (
    NEIGHBOURS,
    TACTICS,
    BadPolicy,
    PolicyName,
    check_method,
    has_network,
    joined,
    parse,
    writers_of,
)
from node.prover.policies.policy import InferencePolicy, NoTactics, Policy
from node.prover.policies.premises import for_people, open_source, with_premises, with_retrieved
from node.prover.policies.proofs import InferenceProofs, ListedProofs, ProofSource, SampledProofs, read_proofs
from node.prover.policies.sources import Sources, writes_proofs
from node.prover.search.parameters import SearchParameters
from node.prover.settings import ProverSettings
from node.retrieval.corpus import RetrievalError

if TYPE_CHECKING:
    from common.bus import Asking
    from common.lean import Theorem
    from common.settings import Sampling


MOST_OPEN = 64
"""Size of the cache of language models' policies, and of their proofs: attempts may name any model and template."""


def part_of(name: PolicyName, policy: Policy, source: str = "") -> Part:
    """A part of a mixture. `source`: its name in results; empty: the policy's name.

    A list of tactics has the default share of a network, so a tactic in one of a few samples has about the mass of the
    list's best guess.
    """
    share = Part.share if name.share is None else name.share
    return Part(policy, share, has_values=name.is_network, name=source or name.source, turn=name.turn)


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
    """Gives each attempt its policy, its source of whole proofs, and its search parameters."""

    def __init__(
        self,
        asking: Asking,
        settings: ProverSettings,
        sources: Sources,
        *,
        unknown: Callable[[Theorem, str], bool] = lambda theorem, tactic: False,
    ) -> None:
        """`unknown`: True for tactics that Lean does not know with a theorem's imports. Raises BadPolicy if the
        configured policy cannot be used."""
        self._asking = asking
        self._settings = settings
        self._sources = sources
        self._unknown = unknown
        self._lists: dict[PolicyName, Policy] = {}
        self._listed_proofs: dict[PolicyName, ProofSource] = {}
        self._configured = self.parse(settings.policy) if settings.policy else []
        self.add(self._configured)
        self._model_policy = lru_cache(MOST_OPEN)(self._opened_policy)
        self._model_proofs = lru_cache(MOST_OPEN)(self._opened_proofs)
        self._premises = open_source(settings.premises)

    def parse(self, policy: str) -> list[PolicyName]:
        """The parts of a policy. Raises BadPolicy."""
        return parse(policy, self._sources.network)

    def add(self, names: Iterable[PolicyName], closing: Sequence[str] = CLOSING) -> None:
        """Let attempts use these lists of tactics and files of proofs. `closing`: first tactics of the fixed list.
        Raises BadPolicy for a bad file."""
        for name in names:
            if name.kind in (TACTICS, NEIGHBOURS):
                self._lists[name] = tactics_policy(name, closing)
            elif name.is_proofs:
                self._listed_proofs[name] = ListedProofs(read_proofs(Path(name.where)))

    async def open(self) -> None:
        """Load the index of premises, which otherwise happens at its first use. Raises BadPolicy."""
        if self._premises is not None:
            try:
                await self._premises.open()
            except RetrievalError as error:
                raise BadPolicy(f"premises: {error}") from error
            except ModuleNotFoundError as error:
                raise BadPolicy(f"premises: needs {error.name}: pip install 'proofmesh[trainers]'") from error

    def forget_models(self) -> None:
        """Drop the policies and sources of proofs of language models, which were closed."""
        self._model_policy.cache_clear()
        self._model_proofs.cache_clear()

    def policy(self, attempt: Attempt) -> Policy | ByTurns:
        """The policy of an attempt, without the tactics that the rule of its theorem refuses. Raises BadPolicy."""
        policy, rule = self._unruled(attempt), attempt.theorem.rule
        return policy if rule is None else wrapped(policy, lambda each: RuledPolicy(each, rule))

    def _unruled(self, attempt: Attempt) -> Policy | ByTurns:
        """The policy of an attempt. An interactive attempt that names no policy gets a network together with the list
        of tactics. Other attempts get exactly their policy, and fail if its network fails. Raises BadPolicy."""
        names, theorem = self._names(attempt), attempt.theorem
        check_method(names, attempt.method, attempt.then, attempt.correct, self._writes)
        network, people = has_network(names), attempt.purpose is Purpose.INTERACTIVE
        parts = [self._part(name, attempt) for name in names if not self._writes(name)]
        policy = combined(parts, strict=not people)
        if not parts:
            return policy
        policy = with_retrieved(policy, theorem, self._premises, has_values=network)
        if people and not attempt.policy and all(name.is_network for name in names):
            return wrapped(policy, lambda each: for_people(each, theorem))
        if people:

            def unknown(tactic: str) -> bool:
                return self._unknown(theorem, tactic)

            return wrapped(policy, lambda each: with_premises(each, theorem, has_values=network, unknown=unknown))
        if attempt.explore > 0:
            return wrapped(policy, lambda each: ExploringPolicy(each, attempt.explore, theorem.rule))
        return policy

    def proofs(self, attempt: Attempt) -> ProofSource | None:
        """The source of whole proofs for the attempt; None if its policy has none. Raises BadPolicy."""
        writer = next(iter(writers_of(self._names(attempt), self._writes)), None)
        if writer is None:
            return None
        if writer.is_model:
            return self._model_proofs(writer, attempt.sampling or self._settings.sampling)
        if writer.is_network:
            return InferenceProofs(self._inference(writer, attempt))
        return self._listed_proofs[writer]

    def has_values(self, attempt: Attempt) -> bool:
        """Whether the values of the attempt's policy are learned. Raises BadPolicy."""
        return has_network(self._names(attempt))

    def parameters(self, attempt: Attempt) -> SearchParameters:
        """The search parameters for the attempt's policy. Raises BadPolicy."""
        return self._settings.search.beside(network=self.has_values(attempt))

    def _names(self, attempt: Attempt) -> list[PolicyName]:
        names = self.parse(attempt.policy) if attempt.policy else self._configured
        # A message must not choose which files of this machine are read.
        files = [name for name in names if name.where and not (name.is_model or name.is_network)]
        if unknown := [name for name in files if name not in {*self._lists, *self._listed_proofs}]:
            raise BadPolicy(
                f"an attempt asks for `{joined(unknown)}`: a prover reads only files of its own configuration; add it "
                "to [prover] policy, or to `proofmesh up --policy`"
            )
        return names

    def _writes(self, name: PolicyName) -> bool:
        """Whether a part of a policy writes whole proofs and proposes no tactics. Raises BadPolicy."""
        return writes_proofs(name, self._sources.template(name) if name.is_model else None)

    def _part(self, name: PolicyName, attempt: Attempt) -> Part:
        if name.is_model:
            policy = self._model_policy(name, attempt.sampling or self._settings.sampling)
            return part_of(name, policy, self._sources.model(name).name)
        if name.is_network:
            return part_of(name, self._inference(name, attempt))
        listed = self._lists.get(name) or tactics_policy(name)
        if isinstance(listed, FixedPolicy | NeighbourTactics):  # they choose among more tactics than they propose
            listed = listed.under(attempt.theorem.rule)
        return part_of(name, listed)

    def _inference(self, name: PolicyName, attempt: Attempt) -> InferencePolicy:
        settings = self._settings
        return InferencePolicy(
            self._asking,
            weights=self._sources.weights(name, attempt.weights),
            timeout=settings.policy_timeout,
            patience=settings.policy_patience,
            sampling=attempt.sampling or settings.sampling,
            temperature=settings.search.prior_temperature,
            resampling=settings.search.resampling_temperature,
        )

    def _opened_policy(self, name: PolicyName, sampling: Sampling) -> LanguageModelPolicy:
        model = self._sources.model(name)
        return LanguageModelPolicy(
            model.sampler,
            model.template,
            sampling=sampling,
            resampling=self._settings.search.resampling_temperature,
            dropped=model.dropped,
        )

    def _opened_proofs(self, name: PolicyName, sampling: Sampling) -> SampledProofs:
        model = self._sources.model(name)
        decoding = decoding_of(model.template, sampling)
        return SampledProofs(model.sampler, model.template, decoding=decoding, dropped=model.dropped)
