"""Parses the completions of prover models: extracts the tactic, or the tactic block of a proof. Pure; never raises.

A proof is always tried on our statement. The statement in the completion is only compared with it.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.lexing import blanked
from node.llm import proof_blocks as blocks
from node.llm.sampling import Sample
from node.llm.templates import Template


class Problem(enum.StrEnum):
    """What is wrong with a sample; `explanation` is the text for the user."""

    STATEMENT_CHANGED = "statement changed"
    SEVERAL_TACTICS = "several tactics"
    EMPTY = "empty"
    CUT = "cut"
    UNFINISHED = "unfinished"
    SORRY = "sorry"
    NO_CODE_BLOCK = "no code block"
    NO_PROOF = "no proof"
    HELPER_LEMMAS = "helper lemmas"
    NO_TEXT = "no text"

    @property
    def explanation(self) -> str:
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Problem.STATEMENT_CHANGED: "it proves a different statement; its proof is tried on ours",
    Problem.SEVERAL_TACTICS: "it continues after its first tactic; only that one is used",
    Problem.EMPTY: "only white space, comments, or parts of the output form",
    Problem.CUT: "it reached the token limit, so its end is missing",
    Problem.UNFINISHED: "it ends in `by`, `:=`, `=>` or `<;>`, or inside a comment",
    Problem.SORRY: "part of it has no proof (sorry, admit)",
    Problem.NO_CODE_BLOCK: "prose without a Lean code block",
    Problem.NO_PROOF: "code that states a theorem without a proof after `:=`",
    Problem.NO_TEXT: "it has tokens that do not form valid characters",
    Problem.HELPER_LEMMAS: "the proof uses declarations before the theorem, which a tactic block cannot contain",
}

NOTED = frozenset({Problem.STATEMENT_CHANGED, Problem.SEVERAL_TACTICS})
"""Problems that are recorded but do not reject the sample."""


@dataclass(frozen=True)
class Parsed:
    """What was parsed from a sample."""

    text: str = ""
    """The tactic, or the tactic block after `:= by`: its first line in column 0, relative indentation preserved. Empty
    if the sample was rejected."""
    problem: Problem | None = None
    """Why the sample was rejected, or a problem in NOTED."""
    scored_prefix: str = ""
    """The sample's text up to the end of the tactic; its log-probability is the tactic's. Empty for proofs, and if the
    tactic is not found again in the sample."""


_SORRY = re.compile(r"(?<![\w.'«])(?:sorry|admit|sorryAx)(?![\w'!?»])")
_DANGLING = re.compile(r"(?:(?<![\w.'«])by|:=|=>|<;>)\s*$")
_CONTINUES = re.compile(r"\s|\||[)\]}⟩]|<;>|(?:at|with|using|from|then|else|generalizing)\b|,|:=|_ ")
"""Beginnings of a line in column 0 that continues the tactic before it."""


OPEN_COMMENTS = 50
"""Unclosed comments from which a sample is rejected: the search for each end reads the whole text. Degenerate samples
have thousands."""


def parse_tactic(template: Template, sample: Sample) -> Parsed:
    """Extract the tactic from a step prover's sample."""
    form = template.output
    body, _ = blocks.without_thoughts(blocks.plain(sample.text))
    if body is None:
        return Parsed(problem=Problem.CUT)
    if _is_lost(body):
        return Parsed(problem=Problem.UNFINISHED)
    cut = sample.cut and not any(stop in body for stop in form.stops)
    if form.echo and form.echo in body:
        body = body.partition(form.echo)[2]
    body = blocks.before(body, form.stops)
    if form.prefix and body.lstrip().startswith(form.prefix.strip()):
        body = body.lstrip().removeprefix(form.prefix.strip()).lstrip(" ")
    body = _unmarked(body, template)
    if code_blocks := blocks.code_blocks(body):
        block = next((each for each in reversed(code_blocks) if each.closed), code_blocks[-1])
        body, cut = block.text, cut and not block.closed
    return _one_tactic(body, sample.text, cut)


def parse_proof(template: Template, sample: Sample, theorem: Theorem) -> Parsed:
    """Extract the tactic block of the proof from a whole-proof model's sample."""
    text = _unmarked(blocks.plain(sample.text), template)
    if not text.strip():
        return Parsed(problem=Problem.CUT if sample.cut else Problem.EMPTY)
    answer, thought = blocks.without_thoughts(text)
    if answer is None:
        return Parsed(problem=Problem.CUT)
    if _is_lost(answer):
        return Parsed(problem=Problem.UNFINISHED)
    is_open = template.output.code == "open"
    if is_open and not thought and not answer.lstrip().startswith("```"):
        # The prompt opened the code block, so the sample continues it.
        continuation, fence, _ = blocks.before(answer, template.output.stops).partition("```")
        was_cut = sample.cut and not fence and not any(stop in answer for stop in template.output.stops)
        return Parsed(problem=Problem.CUT) if was_cut else _proof(continuation, theorem, continues=True)
    code_blocks = blocks.code_blocks(answer)
    # Servers omit the stop text, and the closing fence of an open block is one.
    complete = [block.text for block in code_blocks if block.closed or (is_open and not sample.cut)]
    stated = [(blocks.declared_theorem(blanked(block), theorem.name), block) for block in complete]
    ours = [block for place, block in stated if place is not None and place.is_ours]
    with_theorem = [block for place, block in stated if place is not None]
    if candidates := ours or with_theorem:
        return _proof(candidates[-1], theorem)
    if sample.cut or (code_blocks and not complete):
        return Parsed(problem=Problem.CUT)
    return _proof(complete[-1], theorem) if complete else Parsed(problem=Problem.NO_CODE_BLOCK)


def score(template: Template, sample: Sample, parsed: Parsed) -> float | None:
    """The log-probability of a tactic, summed or averaged as its family defines; None if it is unknown."""
    total = sample.logprob(parsed.scored_prefix) if parsed.scored_prefix else None
    if total is None or template.score == "sum":
        return total
    tokens, length = 0, 0
    for token in sample.tokens:
        if length >= len(parsed.scored_prefix):
            break
        tokens, length = tokens + 1, length + len(token.text)
    return total / max(tokens, 1)


def _one_tactic(body: str, sampled: str, cut: bool) -> Parsed:
    lines = blocks.tactic_block(blocks.dedented(blocks.without_comments(body))).split("\n")
    end = next((at for at, line in enumerate(lines) if at and line.strip() and not _CONTINUES.match(line)), len(lines))
    several = end < len(lines)
    text = "\n".join(line for line in lines[:end] if line.strip())
    if cut and not several:
        return Parsed(problem=Problem.CUT)
    if not text:
        return Parsed(problem=Problem.EMPTY)
    if problem := _unusable(text):
        return Parsed(problem=problem)
    return Parsed(text, Problem.SEVERAL_TACTICS if several else None, _prefix_through(sampled, text))


def _proof(code: str, theorem: Theorem, *, continues: bool = False) -> Parsed:
    """The proof in code. `continues`: the code continues after our `:= by`, unless it states our theorem again."""
    code = blocks.without_comments(code)
    if not code.strip():
        return Parsed(problem=Problem.EMPTY)
    declared = blocks.declared_theorem(blanked(code), theorem.name)
    if declared is not None and (declared.is_ours or not continues):
        return _stated_proof(code, declared, theorem)
    if not continues and blocks.declares(blanked(code)):
        return Parsed(problem=Problem.NO_PROOF)
    return _finished(blocks.tactic_block(blocks.before_command(code)))


def _stated_proof(code: str, declared: blocks.DeclaredTheorem, theorem: Theorem) -> Parsed:
    """The proof of a theorem that the code states."""
    proof = blocks.proof_body(code, declared)
    if any(re.search(rf"(?<![\w.'«]){re.escape(name)}(?![\w'»])", proof) for name in declared.helpers):
        return Parsed(problem=Problem.HELPER_LEMMAS)
    is_ours = blocks.same_text(code[declared.statement : declared.assignment], theorem)
    return _finished(proof, None if is_ours else Problem.STATEMENT_CHANGED)


def _finished(proof: str, note: Problem | None = None) -> Parsed:
    if not proof.strip():
        return Parsed(problem=Problem.EMPTY)
    problem = _unusable(proof)
    return Parsed(problem=problem) if problem else Parsed(proof, note)


def _is_lost(text: str) -> bool:
    return text.count("/-") > text.count("-/") + OPEN_COMMENTS


def _unusable(text: str) -> Problem | None:
    if "\N{REPLACEMENT CHARACTER}" in text:
        return Problem.NO_TEXT
    if _SORRY.search(blanked(text)):
        return Problem.SORRY
    return Problem.UNFINISHED if _DANGLING.search(text) else None


def _unmarked(text: str, template: Template) -> str:
    for mark in template.output.remove:
        text = text.replace(mark, "")
    return text


def _prefix_through(sampled: str, text: str) -> str:
    """The sample's text up to the end of the tactic, whose lines must occur in their order; empty otherwise."""
    at = 0
    for line in text.split("\n"):
        start = sampled.find(line.strip(), at)
        if start < 0:
            return ""
        at = start + len(line.strip())
    return sampled[:at]
