"""A language model as a policy: samples tactics with the model family's prompt, and merges them into proposals."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from string import Formatter

import msgspec

from common.life import metrics
from common.protocol.messages import SampledTactic
from common.settings import PLAIN, Sampling
from node.llm.outputs import parse_tactic, score
from node.llm.prompts import Premise, PromptTooLong, tactic_prompt, with_own_names
from node.llm.sampling import ContextExceeded, Decoding, Prompt, Sample, Sampler, SamplerError
from node.llm.templates import Template
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Advice, BadAdvice, Proposal, StateTooLong, merge_samples

VALUE = -8.0
"""Value of every state, because a language model has none. Only differences between values matter in a search."""

SHORTER = 0.8
"""If a prompt exceeds the server's context, the limit for it and all later prompts becomes this part of its length."""

_dropped = metrics.counter("llm_parse_failures", "Samples without a tactic, by reason", ("template", "problem"))
_unread = metrics.counter("llm_states_unread", "States whose goals alone are too long for the model", ("template",))
_shortened = metrics.counter("llm_states_shortened", "Prompts that left hypotheses of their state out", ("template",))


FindPremises = Callable[[str], Awaitable[Sequence[Premise]]]
"""From a state to relevant premises, the best one first."""


class LanguageModelPolicy:
    """`node.prover.policies.policy.Policy` with a language model behind any sampler."""

    def __init__(
        self,
        sampler: Sampler,
        template: Template,
        *,
        sampling: Sampling = PLAIN,
        resampling: float = 0.0,
        value: float = VALUE,
        dropped: Counter[str] | None = None,
    ) -> None:
        """`sampling`: with `PLAIN`, the settings of the model family's authors are used. Its stop texts are added to
        the family's. `resampling`: lowest temperature at which a state is sampled again. `dropped`: counts samples
        without a tactic, by reason.

        Raises BadPolicy for a template of whole proofs.
        """
        if template.mode != "tactic":
            raise BadPolicy(
                f"the template `{template.name}` asks for whole proofs, and this search for tactics: name a template "
                "of tactics after the model (MODEL@TEMPLATE)"
            )
        self._sampler = sampler
        self._template = template
        self._decoding = decoding_of(template, sampling)
        self._again = replace(self._decoding, temperature=max(self._decoding.temperature, resampling))
        self._value = value
        self._premises: FindPremises | None = None
        self.dropped: Counter[str] = Counter() if dropped is None else dropped
        self.shortened = 0
        """Number of prompts that left out hypotheses of their state."""

    @property
    def reads_premises(self) -> bool:
        """Whether the family's prompt has a place for premises."""
        return any(field == "premises" for _, field, _, _ in Formatter().parse(self._template.template))

    def with_premises(self, premises: FindPremises) -> LanguageModelPolicy:
        """The same model, with premises in its prompts."""
        policy = copy.copy(self)
        policy._premises = premises
        return policy

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """Raises BadAdvice if the model gave no samples, and StateTooLong if the goals exceed its context."""
        try:
            drawn = await self._drawn(state, samples, seed, self._again if again else self._decoding)
        except PromptTooLong as error:
            _unread.labels(self._template.name).inc()
            raise StateTooLong(str(error), self._value) from error
        except SamplerError as error:
            raise BadAdvice(str(error)) from error
        return Advice(
            self._proposals(state, drawn),
            self._value,
            exhausted=self._again.temperature == 0,  # greedy decoding gives the same samples again
            samples=len(drawn),
            tokens=sum(sample.token_count for sample in drawn),
        )

    async def _drawn(self, state: str, samples: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        """Samples for a state, whose prompt is shortened until it fits the server's context. Raises SamplerError,
        PromptTooLong."""
        premises = await self._premises(state) if self._premises is not None else ()
        while True:
            prompt = tactic_prompt(self._template, state, premises=premises)
            try:
                drawn = await self._sampler.sample(prompt, samples, seed, decoding)
            except ContextExceeded:
                self._shorten(prompt)
                continue
            if prompt.dropped:
                self.shortened += 1
                _shortened.labels(self._template.name).inc()
            return drawn

    def _shorten(self, prompt: Prompt) -> None:
        """Lower the prompt limit, because the server's context is smaller than the family's."""
        limits = self._template.limits
        text = prompt.text + "".join(message.content for message in prompt.messages)
        tokens = math.ceil(len(text.encode(errors="surrogatepass")) / limits.token_bytes)
        # Never less than one token: then the goals alone are too long, and `tactic_prompt` says so.
        shorter = max(1, min(limits.prompt - 1, int(SHORTER * tokens)))
        self._template = msgspec.structs.replace(self._template, limits=msgspec.structs.replace(limits, prompt=shorter))

    def _proposals(self, state: str, drawn: Sequence[Sample]) -> list[Proposal]:
        """Distinct tactics with their prior mass, from the family's log-probabilities, or from sample counts if there
        are none."""
        parsed = [(sample, parse_tactic(self._template, sample)) for sample in drawn]
        for _, each in parsed:
            if not each.text:
                problem = str(each.problem or "empty")
                self.dropped[problem] += 1
                _dropped.labels(self._template.name, problem).inc()
        tactics = [
            (with_own_names(self._template, state, each.text), score(self._template, sample, each))
            for sample, each in parsed
            if each.text
        ]
        has_score = {tactic: score is not None for tactic, score in tactics}
        merged = merge_samples(SampledTactic(tactic, score or 0.0) for tactic, score in tactics)
        return [each if has_score[each.tactic] else replace(each, log_probability=None) for each in merged]


def decoding_of(template: Template, sampling: Sampling) -> Decoding:
    """The decoding settings: the user's temperature and top_p if set, otherwise the family's. The length limit is the
    family's."""
    own = template.decoding
    stop = tuple(dict.fromkeys((*own.stop, *sampling.stop)))
    if sampling.temperature == PLAIN.temperature and sampling.top_p == PLAIN.top_p:
        return replace(own, stop=stop)
    return Decoding(sampling.temperature, sampling.top_p, own.max_tokens, stop)
