"""Whole proofs before Lean checks them: requests, drafts and scripts, and the sources of proofs: a file, a network that
was trained on them, and a language model."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import msgspec

from common.lean import TacticRule, Theorem
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.lexing import lex
from node.lean.text.rules import proof_problem
from node.lean.text.script import INDENT
from node.llm.outputs import CodeError, marked_errors, parse_proof
from node.llm.prompts import PromptTooLong, correction_prompt, proof_prompt
from node.llm.sampling import ContextExceeded, Decoding, Prompt, Sample, Sampler, SamplerError
from node.llm.templates import Template, TemplateError
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import InferencePolicy


@dataclass(frozen=True, slots=True)
class Draft:
    """One proof as its source wrote it, or an output without a proof."""

    text: str
    """The block of tactics after `:= by`. Its lines keep their indentation relative to each other."""
    problem: str = ""
    """The reason why the output has no proof; empty if it has one."""
    log_probability: float | None = None
    """Log-probability of the whole output; None: unknown."""
    tokens: int = 0
    """Tokens of the output; 0: unknown."""
    output: str = ""
    """The model's whole output, for correction prompts."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A draft that Lean or the text rules refused, and the errors."""

    draft: Draft
    script: str
    """The script that Lean checked; empty if the text rules refused the draft."""
    errors: str
    """The error messages of Lean or of the text rules."""
    line: int | None = None
    """The line of the script (from 0) with the error; None: the error is about the whole script."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A request to a source of proofs."""

    theorem: Theorem
    theorem_id: str
    """Its name in the benchmark."""
    count: int
    """Requested number of proofs, duplicates included."""
    first: int
    """Number of first proofs of this theorem that were requested before, in this attempt or an earlier one."""
    seed: int
    correct: tuple[Failed, ...] = ()
    """The history of a correction: the draft to correct is the last. Empty for a request of first proofs."""


class ProofsUnavailable(RuntimeError):
    """A source failed to give proofs, for a reason that is independent of the theorem."""


class ProofSource(Protocol):
    """Writes whole proofs of theorems. Equal requests give equal drafts if the source is deterministic."""

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """As many drafts as requested, or fewer if the source has no more. Raises ProofsUnavailable, BusError."""


def normalised(text: str) -> str:
    """A block of tactics in normal form: without common indentation, comments and empty lines.

    Proofs with the same normal form are duplicates. A text with unclosed comments or brackets keeps its comments.
    """
    lexed = lex(text)
    bare = text if lexed.problem else lexed.bare
    lines = [line.rstrip() for line in bare.split("\n")]
    return textwrap.dedent("\n".join(line for line in lines if line))


_CONTINUES = ("|", "<;>", ")", "]", "}", "⟩", ",", "else ", "at ", "with ")
"""Beginnings of lines in the first column that continue the tactic of the line above."""


def beginning(script: str, line: int) -> str:
    """The complete tactics of a script above one of its lines (from 0); empty if there are none."""
    lines = script.split("\n")
    starts = [
        number
        for number, text in enumerate(lines[: line + 1])
        if not text.startswith(" ") and not text.startswith(_CONTINUES)
    ]
    return "\n".join(lines[: starts[-1]]) if starts else ""


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a draft, or the reason why there is none."""

    text: str
    """The script for Lean; empty if Lean must not check the draft."""
    problem: str = ""
    """The reason why the script is empty."""
    refused: bool = False
    """True if the draft has a proof that the text rules forbid."""


def script_of(draft: Draft, rule: TacticRule | None = None) -> Script:
    """The script that Lean checks for a draft. A draft is a block of tactics, so it cannot change the statement.

    `rule`: the tactics that the proof may have.
    """
    if draft.problem or not draft.text.strip():
        return Script("", draft.problem or "an empty proof")
    text = normalised(draft.text)
    if problem := proof_problem(text, rule):
        return Script("", problem, refused=bool(text))
    return Script(text)


# ----------------------------------------------------------------------------------------------------------------------
# A source of whole proofs from a file, for example the outputs of another prover. One row is one proof:
#
#     {"name": "mathd_algebra_10", "proof": "norm_num"}
#
# The rows of one theorem are its samples, in order. A second attempt continues after the rows of the first. A `proof`
# is a block of tactics, or a Lean text that contains the theorem and its proof; the statement in that text is ignored.
# An empty `proof` is an output without a proof, and counts as a sample.


class _Row(msgspec.Struct, frozen=True):
    """A row of the file. Other fields are ignored."""

    name: str
    proof: str | None
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class ListedProofs:
    """A source of the proofs in a file."""

    def __init__(self, rows: Mapping[str, Sequence[Draft]]) -> None:
        self._rows = rows

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """The theorem's next rows. No corrections."""
        if request.correct:
            return ()
        rows = self._rows.get(request.theorem_id, ())
        return rows[request.first : request.first + request.count]


def read_proofs(file: Path) -> dict[str, list[Draft]]:
    """The proofs of a file by theorem name. Raises BadPolicy."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BadPolicy(f"{file}: the proofs cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{file}: the file of proofs is not text in UTF-8") from error
    rows: dict[str, list[Draft]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.MsgspecError as error:
            raise BadPolicy(
                f'{file}, line {number}: {error}; a row is {{"name": "...", "proof": "..."}}, one a line'
            ) from error
        rows.setdefault(row.name, []).append(_draft(row))
    if not rows:
        raise BadPolicy(f"{file}: there is no proof in it")
    return rows


def _draft(row: _Row) -> Draft:
    text = row.proof or ""
    try:
        return Draft(block_of(text, row.name), tokens=row.tokens, output=text)
    except NoProof as error:
        return Draft("", str(error), tokens=row.tokens, output=text)


# ----------------------------------------------------------------------------------------------------------------------
# Whole proofs of a network, if it was trained on whole proofs as well as on tactics.


class InferenceProofs:
    """`node.prover.policies.proofs.ProofSource` with a network."""

    def __init__(self, inference: InferencePolicy) -> None:
        """`inference`: asks the network, with its version and its sampling settings."""
        self._inference = inference

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """Empty for a statement that is longer than the network's context, and for corrections, for which the network
        is not trained. Raises ProofsUnavailable, BusError."""
        if request.correct:
            return ()
        reply = await self._inference.ask(request.theorem.signature, request.count, request.seed, proof=True)
        if any(sample.tokens is None for sample in reply.tactics):
            raise ProofsUnavailable("an inference node of an older version answered with tactics: update it")
        # The text is the block of tactics. A sample that is cut off has no proof.
        return [
            Draft(
                sample.tactic if sample.complete else "",
                problem="" if sample.complete else "cut off, empty, or no text",
                log_probability=sample.log_probability,
                tokens=sample.tokens or 0,
                output=sample.tactic,
            )
            for sample in reply.tactics
        ]


# ----------------------------------------------------------------------------------------------------------------------
# Samples whole proofs from a language model: builds prompts, parses completions, and sends Lean's errors back.


class SampledProofs:
    """`node.prover.policies.proofs.ProofSource` over any sampler."""

    def __init__(
        self,
        sampler: Sampler,
        template: Template,
        *,
        decoding: Decoding | None = None,
        dropped: Counter[str] | None = None,
    ) -> None:
        """`decoding`: None for the settings of the model family's authors. `dropped`: counts samples without a
        proof, by reason.

        Raises TemplateError for a template of tactics.
        """
        if template.mode != "whole-proof":
            raise TemplateError(f"the template `{template.name}` is for tactics, and the method asks for whole proofs")
        self._sampler = sampler
        self._template = template
        self._decoding = decoding or template.decoding
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
        prompt = proof_prompt(self._template, request.theorem)
        for failed in request.correct:
            errors = errors_of(request.theorem, failed)
            prompt = correction_prompt(self._template, prompt, failed.draft.output, errors)
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
