"""What prover models answer: the tactic, or the tactic block of the proof, taken out of a sample. Pure; never raises.

The statement of a proof is always ours. What a model writes in its place is only compared.
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
    """What is wrong with a sample; `explanation` says it to a person."""

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
    Problem.STATEMENT_CHANGED: "it proves another statement than ours; its proof is tried on ours",
    Problem.SEVERAL_TACTICS: "it went on behind its first tactic; that one is kept",
    Problem.EMPTY: "nothing but white space, comments, or what belongs to the form",
    Problem.CUT: "it ended because it was too long: the rest is missing",
    Problem.UNFINISHED: "it ends in `by`, `:=`, `=>` or `<;>`, or inside comments",
    Problem.SORRY: "it leaves something without a proof (sorry, admit)",
    Problem.NO_CODE_BLOCK: "prose without a block of Lean",
    Problem.NO_PROOF: "code that states a theorem, and no proof behind `:=`",
    Problem.NO_TEXT: "tokens that make up no character stand in it",
    Problem.HELPER_LEMMAS: "the proof uses what is declared before the theorem: a tactic block has no place for that",
}

NOTED = frozenset({Problem.STATEMENT_CHANGED, Problem.SEVERAL_TACTICS})
"""Problems that drop nothing."""


@dataclass(frozen=True)
class Parsed:
    """What a sample holds."""

    text: str = ""
    """The tactic, or the tactic block behind `:= by`: its first line in column 0, relative indentation kept. Empty
    where it was dropped."""
    problem: Problem | None = None
    """Why it was dropped, or what was noted."""
    kept: str = ""
    """The beginning of the sample's text up to the end of the tactic: its log-probability is the tactic's. Empty for
    proofs, and where the tactic cannot be found again in the sample."""


_SORRY = re.compile(r"(?<![\w.'«])(?:sorry|admit|sorryAx)(?![\w'!?»])")
_DANGLING = re.compile(r"(?:(?<![\w.'«])by|:=|=>|<;>)\s*$")
_CONTINUES = re.compile(r"\s|\||[)\]}⟩]|<;>|(?:at|with|using|from|then|else|generalizing)\b|,|:=|_ ")
"""How a line in the first column begins that still belongs to the tactic before it."""


OPEN_COMMENTS = 50
"""Comments without an end, at which an answer is given up: each is looked for to the end of the text. Models that have
lost their thread write thousands."""


def parse_tactic(template: Template, sample: Sample) -> Parsed:
    """The tactic of a sample from a step prover."""
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
    if found := blocks.code_blocks(body):
        block = next((each for each in reversed(found) if each.closed), found[-1])
        body, cut = block.text, cut and not block.closed
    return _one_tactic(body, sample.text, cut)


def parse_proof(template: Template, sample: Sample, theorem: Theorem) -> Parsed:
    """The tactic block of the proof in a sample from a whole-proof model."""
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
        rest, fence, _ = blocks.before(answer, template.output.stops).partition("```")
        was_cut = sample.cut and not fence and not any(stop in answer for stop in template.output.stops)
        return Parsed(problem=Problem.CUT) if was_cut else _proof(rest, theorem, is_rest=True)
    found = blocks.code_blocks(answer)
    # A server leaves a stop text out: the closing fence of an open block is one.
    complete = [block.text for block in found if block.closed or (is_open and not sample.cut)]
    stated = [(blocks.declared_theorem(blanked(block), theorem.name), block) for block in complete]
    ours = [block for place, block in stated if place is not None and place.is_ours]
    others = [block for place, block in stated if place is not None]
    if chosen := ours or others:
        return _proof(chosen[-1], theorem)
    if sample.cut or (found and not complete):
        return Parsed(problem=Problem.CUT)
    return _proof(complete[-1], theorem) if complete else Parsed(problem=Problem.NO_CODE_BLOCK)


def score(template: Template, sample: Sample, parsed: Parsed) -> float | None:
    """The log-probability of a tactic as its family counts it; None where it is not known."""
    total = sample.logprob(parsed.kept) if parsed.kept else None
    if total is None or template.score == "sum":
        return total
    tokens, length = 0, 0
    for token in sample.tokens:
        if length >= len(parsed.kept):
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
    return Parsed(text, Problem.SEVERAL_TACTICS if several else None, _kept(sampled, text))


def _proof(code: str, theorem: Theorem, *, is_rest: bool = False) -> Parsed:
    """The proof in code. `is_rest`: the code goes on behind our `:= by`, unless it states our theorem once more."""
    code = blocks.without_comments(code)
    if not code.strip():
        return Parsed(problem=Problem.EMPTY)
    found = blocks.declared_theorem(blanked(code), theorem.name)
    if found is not None and (found.is_ours or not is_rest):
        return _stated_proof(code, found, theorem)
    if not is_rest and blocks.declares(blanked(code)):
        return Parsed(problem=Problem.NO_PROOF)
    return _finished(blocks.tactic_block(blocks.before_command(code)))


def _stated_proof(code: str, found: blocks.Found, theorem: Theorem) -> Parsed:
    """The proof of a theorem that the code states."""
    proof = blocks.proof_body(code, found)
    if any(re.search(rf"(?<![\w.'«]){re.escape(name)}(?![\w'»])", proof) for name in found.helpers):
        return Parsed(problem=Problem.HELPER_LEMMAS)
    is_ours = blocks.same_text(code[found.statement : found.assignment], theorem)
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


def _kept(sampled: str, text: str) -> str:
    """The sample's text up to the end of the tactic, whose lines are found in their order; empty where one is not."""
    at = 0
    for line in text.split("\n"):
        found = sampled.find(line.strip(), at)
        if found < 0:
            return ""
        at = found + len(line.strip())
    return sampled[:at]
