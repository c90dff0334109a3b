"""Samples whole proofs from a language model: builds prompts, parses completions, and sends Lean's errors back."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from common.lean import Theorem
from node.lean.text.script import INDENT
from node.llm.errors import CodeError, marked_errors
from node.llm.faults import ContextExceeded
from node.llm.outputs import parse_proof
from node.llm.prompts import CountTokens, PromptTooLong, correction_prompt, proof_prompt
from node.llm.sampling import Decoding, Prompt, Sample, Sampler, SamplerError
from node.llm.templates import Template, TemplateError
from node.prover.policies.proofs.drafts import Draft, Failed, ProofRequest, ProofsUnavailable


class SampledProofs:
    """`node.prover.policies.proofs.drafts.ProofSource` over any sampler."""

    def __init__(
        self,
        sampler: Sampler,
        template: Template,
        *,
        decoding: Decoding | None = None,
        count_tokens: CountTokens | None = None,
        dropped: Counter[str] | None = None,
    ) -> None:
        """`decoding`: None for the settings of the model family's authors. `count_tokens`: the count of the model's
        tokenizer, if available. `dropped`: counts samples without a proof, by reason.

        Raises TemplateError for a template of tactics.
        """
        if template.mode != "whole-proof":
            raise TemplateError(f"the template `{template.name}` is for tactics, and the method asks for whole proofs")
        self._sampler = sampler
        self._template = template
        self._decoding = decoding or template.decoding
        self._count_tokens = count_tokens
        self.dropped: Counter[str] = Counter() if dropped is None else dropped

    @property
    def corrects(self) -> bool:
        """Whether the family has a form for corrections."""
        return bool(self._template.correction)

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """Empty if the prompt with the statement or the conversation exceeds the model's context, and for corrections
        if the model family has no form for them. Raises ProofsUnavailable."""
        if request.correct and not self.corrects:
            return ()
        try:
            prompt = self._prompt(request)
        except PromptTooLong:
            return ()
        try:
            samples = await self._sampler.sample(prompt, request.count, request.seed, self._decoding)
        except ContextExceeded:
            return ()
        except SamplerError as error:
            raise ProofsUnavailable(str(error)) from error
        drafts = [self._draft(sample, request.theorem) for sample in samples]
        self.dropped.update(draft.problem for draft in drafts if draft.problem)
        return drafts

    def _prompt(self, request: ProofRequest) -> Prompt:
        """Raises PromptTooLong."""
        prompt = proof_prompt(self._template, request.theorem, count_tokens=self._count_tokens)
        for failed in request.correct:
            errors = errors_of(request.theorem, failed)
            prompt = correction_prompt(
                self._template, prompt, failed.draft.output, errors, count_tokens=self._count_tokens
            )
        return prompt

    def _draft(self, sample: Sample, theorem: Theorem) -> Draft:
        parsed = parse_proof(self._template, sample, theorem)
        return Draft(
            parsed.text,
            problem="" if parsed.text else str(parsed.problem),
            log_probability=sample.logprob(sample.text),
            tokens=sample.token_count,
            output=sample.text,
        )


def errors_of(theorem: Theorem, failed: Failed) -> str:
    """Lean's errors in the form that the model reads, marked at their place in the statement with its proof. Errors
    about the whole proof, such as unsolved goals, are marked at the end of the statement, as Lean does."""
    statement = f"{theorem.signature} := by"
    script = failed.script or failed.draft.text
    code = f"{statement}\n{textwrap.indent(script, INDENT)}"
    above = statement.count("\n") + 1
    line = above if failed.line is None else above + 1 + failed.line
    return marked_errors(code, [CodeError(line, 0, failed.errors)])
