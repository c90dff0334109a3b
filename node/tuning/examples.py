"""Training examples of a language model: a prompt, and the completion that the model should write.

Prompts come from the code that is used at inference (`node.llm.prompts`). A completion is used only if the parser of
completions (`node.llm.outputs`) reads exactly the same tactic or proof from it. So training and inference have the same
format by construction.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from node.data.rows import Proof, Step
from node.lean.text.script import INDENT
from node.llm.outputs import parse_proof, parse_tactic
from node.llm.prompts import PromptTooLong, proof_prompt, tactic_prompt
from node.llm.sampling import Prompt, Sample
from node.llm.templates import Template
from node.model.names import Names

FENCE = "\n```"
"""End of a code block."""

TOO_LONG = "too long for the template"
UNREADABLE = "whose answer the template would read as something else"


@dataclass(frozen=True)
class Example:
    """A prompt and its completion. Only the tokens of the completion count in the loss."""

    prompt: Prompt
    completion: str
    """The completion without end tokens."""
    weight: float = 1.0
    """Weight of each of its tokens in the loss."""
    theorem: str = ""
    """Name of the theorem, which decides whether the example is held out."""


@dataclass
class Examples:
    """Examples, and the numbers of those that were left out."""

    examples: list[Example] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def _add(self, example: Example | str) -> None:
        if isinstance(example, Example):
            self.examples.append(example)
        else:
            self.left_out[example] += 1


def step_examples(template: Template, steps: Iterable[Step]) -> Examples:
    """Examples of steps, with a template for tactics. Raises TemplateError if the template is for whole proofs."""
    examples = Examples()
    for step in steps:
        examples._add(step_example(template, step))
    return examples


def proof_examples(template: Template, proofs: Iterable[Proof]) -> Examples:
    """Examples of whole proofs, with a template for them. Raises TemplateError if the template is for tactics."""
    examples = Examples()
    for proof in proofs:
        examples._add(proof_example(template, proof))
    return examples


def step_example(template: Template, step: Step) -> Example | str:
    """The example of a step, or the reason why there is none. A state is never truncated. Raises TemplateError."""
    try:
        prompt = tactic_prompt(template, step.state)
    except PromptTooLong:
        return TOO_LONG
    if prompt.dropped:
        return TOO_LONG
    tactic = Names(step.state).hide(step.tactic) if template.names == "canonical" else step.tactic
    completion = f"{template.output.prefix}{tactic}"
    if not tactic.strip() or parse_tactic(template, Sample(completion)).text != _without_blank_lines(tactic):
        return UNREADABLE
    return Example(prompt, completion, step.weight, step.theorem)


def proof_example(template: Template, proof: Proof) -> Example | str:
    """The example of a whole proof, or the reason why there is none. Raises TemplateError."""
    theorem = proof.theorem
    try:
        prompt = proof_prompt(template, theorem)
    except PromptTooLong:
        return TOO_LONG
    block = textwrap.indent(proof.script, INDENT)
    if template.output.code == "open":
        begin = "" if template.statement.ending.endswith("\n") else "\n"
        completion = f"{begin}{block}{FENCE}"
    else:
        header = theorem.header if theorem.header.strip() else template.statement.header
        head = f"{header.rstrip()}\n\n" if header.strip() else ""
        completion = f"```lean4\n{head}{theorem.signature} := by\n{block}{FENCE}"
    read = parse_proof(template, Sample(completion), theorem)
    if read.problem is not None or _plain(read.text) != _plain(proof.script):
        return UNREADABLE
    return Example(prompt, completion, proof.weight, proof.key)


def _without_blank_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip())


def _plain(text: str) -> str:
    """A proof without comments, blank lines and trailing white space."""
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())
