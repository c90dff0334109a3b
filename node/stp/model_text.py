"""Prompts and completions of a published language model as prover and as conjecturer. Training and generation both use
this module, so that their texts are equal. Pure.

The prover uses the model's own template. The conjecturer continues the same code block, as in STP
(`format_conjecture` of kfdong/STP):

    prompt       HEADER <lemma> L <easy theorem> T := by P <hard theorem>
    completion   a theorem </hard theorem>
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from node.data.rows import Pair, Proof
from node.lean.text.script import INDENT
from node.llm.prompts import PromptTooLong, proof_prompt
from node.llm.sampling import Decoding, Prompt
from node.llm.templates import Template, TemplateError
from node.stp.data.statements import END
from node.stp.records import ConjecturerExample, ProverExample, Seed
from node.tuning.examples import Example, proof_example

ASSIGNMENT = ":="
"""The start of a proof; a conjecture ends before it."""

STOPS = (END, ASSIGNMENT)
"""Texts that end a conjecture."""


def check_template(template: Template) -> None:
    """Check that the conjecturer can use this template. Raises TemplateError."""
    name = template.name
    if template.mode != "whole-proof":
        raise TemplateError(f"the template `{name}` is for tactics, but self-play samples whole proofs; use `stp`")
    if template.kind != "raw":
        raise TemplateError(
            f"the template `{name}` is a conversation, but self-play continues a text; use a template of the kind "
            "`raw`, such as `stp`, which any model can learn"
        )
    if template.output.code != "open" or not template.template.endswith("{statement}"):
        raise TemplateError(
            f"the template `{name}` does not end with {{statement}} in an open code block, where the conjecturer's "
            "text belongs; use `stp`"
        )


def conjecturer_prompt(template: Template, seed: Seed) -> Prompt:
    """The conjecturer's prompt: the seed's theorem with its header and proof, below a lemma that the proof invokes.
    Raises PromptTooLong if the theorem alone exceeds the family's limit."""
    easy = seed.theorem
    statement = f"{easy.signature} {template.statement.ending}"
    above = proof_prompt(template, easy).text.removesuffix(statement)
    proof = textwrap.indent(seed.proof, INDENT)
    return Prompt(
        f"{above}<lemma>\n{seed.lemma.statement}\n<easy theorem>\n{easy.signature} := by\n{proof}\n<hard theorem>"
    )


def conjecturer_completion(conjecture: str) -> str:
    """The completion that the conjecturer is trained to write."""
    return f"\n{conjecture}\n{END}"


def conjecturer_decoding(template: Template, temperature: float) -> Decoding:
    """Sampling parameters of conjectures, with the token limit of proofs."""
    return Decoding(temperature, template.sampling.top_p, template.sampling.max_tokens, STOPS)


def written(sample: str) -> str:
    """The statement in a sample. Servers may leave a stop text in the sample, so it is cut there."""
    return sample.split(END)[0].split(ASSIGNMENT)[0].strip()


def pairs(template: Template, proofs: Iterable[ProverExample], conjectures: Iterable[ConjecturerExample]) -> list[Pair]:
    """The prompt-completion pairs of a training; pairs over the family's prompt limit are left out."""
    texts: list[Pair] = []
    for proof in proofs:
        example = proof_example(template, Proof(proof.theorem, proof.proof, proof.weight))
        if isinstance(example, Example):
            texts.append(Pair(example.prompt.text, example.completion, example.weight))
    for example_ in conjectures:
        try:
            prompt = conjecturer_prompt(template, example_.seed).text
        except PromptTooLong:
            continue
        texts.append(Pair(prompt, conjecturer_completion(example_.conjecture), example_.weight))
    return texts
