"""A published language model as the network of self-play: prompts and completions, and checks before a run starts.
Training and generation both use these texts, so that they are equal.

The prover uses the model's own template. The conjecturer continues the same code block, as in STP
(`format_conjecture` of kfdong/STP):

    prompt       HEADER <lemma> L <easy theorem> T := by P <hard theorem>
    completion   a theorem </hard theorem>
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from node.data.rows import Pair, Proof
from node.lean.text.script import INDENT
from node.llm import models
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress, parse_hub_address
from node.llm.hub.folders import config_of, local_folder
from node.llm.prompts import PromptTooLong, proof_prompt
from node.llm.sampling import Decoding, Prompt
from node.llm.templates import Template, TemplateError, load
from node.stp.data.statements import END
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, ProverExample, Seed, StpError
from node.stp.settings import StpSettings
from node.tuning.examples import Example, proof_example

ASSIGNMENT = ":="
"""The start of a proof; a conjecture ends before it."""

STOPS = (END, ASSIGNMENT)
"""Texts that end a conjecture."""

TOKENIZER = "tokenizer.json"

SHORTEST = "theorem t (a b : Nat) : a + b = b + a"
"""A seed's theorem for the minimum length of the conjecturer's prompt."""


@dataclass(frozen=True)
class Model:
    """A language model that can be the network of self-play."""

    address: ModelAddress
    """The model that inference nodes serve at first."""
    base: HubAddress
    """The model that the first training starts from."""
    template: Template
    template_name: str
    """The template's name in attempts."""


def model_of(settings: StpSettings) -> Model:
    """The model that the settings name. Raises StpError if it is unavailable or unsuitable."""
    template, address = template_of(settings), address_of(settings)
    base = base_of(settings, address)
    check_base(base, template)
    return Model(address, base, template, settings.template)


# --- prompts and completions ------------------------------------------------------------------------------------------


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
    for made in conjectures:
        try:
            prompt = conjecturer_prompt(template, made.seed).text
        except PromptTooLong:
            continue
        texts.append(Pair(prompt, conjecturer_completion(made.conjecture), made.weight))
    return texts


# --- checks before a run starts ---------------------------------------------------------------------------------------


def template_of(settings: StpSettings) -> Template:
    """The model's prompt template. Raises StpError."""
    try:
        template = load(settings.template)
        check_template(template)
    except TemplateError as error:
        raise StpError(f"[stp] template: {error}") from error
    return template


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


def address_of(settings: StpSettings) -> ModelAddress:
    """The model that inference nodes serve at first. Raises StpError."""
    try:
        address = models.parse_model(settings.model)
    except BadModel as error:
        raise StpError(f"[stp] model: {error}") from error
    if address.template:
        raise StpError(f"[stp] model: name the template as [stp] template, not after `@`: {settings.model}")
    return address


def base_of(settings: StpSettings, address: ModelAddress) -> HubAddress:
    """The model that the first training starts from. Raises StpError."""
    name = settings.base or (address.model if isinstance(address, ServerAddress) else str(address))
    try:
        base = parse_hub_address(name)
        models.check_library(base)
    except BadModel as error:
        raise StpError(f"[stp] {'base' if settings.base else 'model'}: {error}") from error
    if base.template:
        raise StpError(f"[stp] base: name the template as [stp] template, not after `@`: {name}")
    return base


def check_base(base: HubAddress, template: Template) -> None:
    """Check that a folder's tokenizer restores our texts exactly, and that the model's context has room for them. For a
    hub id, the first training checks this. The conjecturer's marks are ordinary text and need no special tokens.

    Raises StpError.
    """
    from tokenizers import Tokenizer

    # 1. Only a folder can be checked here.
    try:
        folder = local_folder(base.model)
        context = config_of(base.model).get("max_position_embeddings")
    except BadModel as error:
        raise StpError(f"[stp] base: {error}") from error
    if folder is None or not (folder / TOKENIZER).is_file():
        return
    # 2. The shortest prompt has all marks of the conjecturer, and line breaks and symbols of Lean.
    text = _shortest_prompt(template)
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        ids = tokenizer.encode(text).ids
        back = tokenizer.decode(ids, skip_special_tokens=True)
    except Exception as error:  # the library raises bare Exception
        raise StpError(f"[stp] base: {folder / TOKENIZER} cannot be used: {error}") from error
    if back.strip() != text.strip():
        raise StpError(
            f"[stp] base: the tokenizer of {folder} does not restore Lean's text exactly (line breaks, symbols and "
            "indentation matter); use a model with a byte-level tokenizer"
        )
    # 3. A completion takes its room first, as in `node.llm.hub.reading`.
    if not isinstance(context, int):
        return
    room = min(template.sampling.max_tokens, max(1, context // 2))
    if len(ids) > context - room:
        raise StpError(
            f"[stp] base: {folder} has a context of {context:,} tokens, {room:,} of them for a "
            f"completion, but the conjecturer's prompt for a very short theorem has {len(ids):,}; use a model with a "
            "longer context, or a [stp] template with a shorter header"
        )


def _shortest_prompt(template: Template) -> str:
    """Raises StpError."""
    from node.lean.text.statement import parse_statement

    try:
        return conjecturer_prompt(template, Seed(parse_statement(SHORTEST), "omega", EMPTY_LEMMA)).text
    except PromptTooLong as error:
        raise StpError(f"[stp] template: {error}") from error
