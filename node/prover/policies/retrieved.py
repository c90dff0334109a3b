"""Retrieved premises in a search: library lemmas in the prompts of language models, or as tactics that name them.

No list of tactics can name all lemmas of a library. An index (`node.retrieval`) finds the lemmas that are relevant for
a state. A model whose template has a place for premises gets them in its prompt (ReProver, arXiv 2306.15626). With
other policies, tactics with the premises are added: `apply`, `rw` and `simp`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from common.lean import Theorem
from node.llm.prompts import Premise
from node.prover.policies.fixed.policy import value
from node.prover.policies.interactive import SHARE
from node.prover.policies.mixture import MixturePolicy, Part
from node.prover.policies.models.language_model import LanguageModelPolicy
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Advice, BadAdvice, NoTactics, Policy, ranked
from node.prover.search.turns import ByTurns, wrapped
from node.retrieval.errors import RetrievalError
from node.retrieval.source import PremiseSource, Retrieved

IN_PROMPT = 32
"""Most premises for a prompt; those that do not fit are left out."""

IN_TACTICS = 6
"""Premises for tactics at a state. Each occurs in several tactics."""

ONE_BY_ONE = 4
"""Theorems that are tried one by one; `simp` gets all premises at once."""

NAME = "retrieved premises"
"""The source of these tactics in results."""

Find = Callable[[str, int], Awaitable[Sequence[Retrieved]]]
"""(state, count) -> premises, the best one first."""


def open_source(folder: str) -> PremiseSource | None:
    """The source of premises from an index in `folder`; None if `folder` is empty. Raises BadPolicy."""
    try:
        return PremiseSource(folder) if folder else None
    except RetrievalError as error:
        raise BadPolicy(f"premises: {error}") from error


def with_retrieved(
    policy: Policy | ByTurns, theorem: Theorem, source: PremiseSource | None, *, has_values: bool
) -> Policy | ByTurns:
    """The policy with retrieved premises for this theorem. `has_values`: whether the policy's values are learned."""
    if source is None or isinstance(policy, NoTactics):
        return policy

    async def find(state: str, count: int) -> Sequence[Retrieved]:
        try:
            return await source.premises(state, theorem, count)
        except RetrievalError as error:
            raise BadAdvice(f"premises: {error}") from error

    def joined(each: Policy) -> Policy:
        prompted = _prompted(each, find)
        if prompted is not each:
            return prompted
        return MixturePolicy([Part(each, has_values=has_values), Part(RetrievedPolicy(find), SHARE, name=NAME)])

    return wrapped(policy, joined)


def _prompted(policy: Policy, find: Find) -> Policy:
    """The policy with premises in the prompts of its models; the policy itself if no model has a place for them."""
    if isinstance(policy, LanguageModelPolicy):

        async def premises(state: str) -> Sequence[Premise]:
            return [Premise(each.name, each.text) for each in await find(state, IN_PROMPT)]

        return policy.with_premises(premises) if policy.reads_premises else policy
    if isinstance(policy, MixturePolicy):
        parts = [replace(part, policy=_prompted(part.policy, find)) for part in policy.parts]
        if any(new.policy is not old.policy for new, old in zip(parts, policy.parts, strict=True)):
            return MixturePolicy(parts, strict=policy.strict)
    return policy


class RetrievedPolicy:
    """A policy that proposes tactics with the names of retrieved premises."""

    def __init__(self, find: Find) -> None:
        self._find = find

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """All candidates, whatever the number of samples and the seed. Raises BadAdvice."""
        tactics = list(dict.fromkeys(moves(await self._find(state, IN_TACTICS))))
        return Advice(ranked(tactics), value(state), exhausted=True)


def moves(premises: Sequence[Retrieved]) -> Iterator[str]:
    """Tactics to try with these premises, the best first. `premises`: the best one first."""
    names = ", ".join(each.name for each in premises)
    theorems = [each.name for each in premises if each.is_proof][:ONE_BY_ONE]
    if premises:
        yield f"simp [{names}]"
    for name in theorems:
        yield f"apply {name}"
        yield f"rw [{name}]"
    if premises:
        yield f"simp_all [{names}]"
    for name in theorems:
        yield f"rw [← {name}]"
        yield f"exact {name} .."
    for each in premises[:ONE_BY_ONE]:
        if not each.is_proof:
            yield f"unfold {each.name}"
