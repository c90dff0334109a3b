"""Checks before a run starts that a published language model can be the network of self-play, and makes the sections
that it needs in the mesh's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from node.llm import models
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress, parse_hub_address
from node.llm.hub.folders import config_of, local_folder
from node.llm.prompts import PromptTooLong
from node.llm.templates import Template, TemplateError, load
from node.stp.model_text import check_template, conjecturer_prompt
from node.stp.records import EMPTY_LEMMA, Seed, StpError
from node.stp.settings import StpSettings

if TYPE_CHECKING:
    pass

TOKENIZER = "tokenizer.json"

SHORTEST = "theorem t (a b : Nat) : a + b = b + a"
"""A seed's theorem for the minimum length of the conjecturer's prompt."""


def template_of(settings: StpSettings) -> Template:
    """The model's prompt template. Raises StpError."""
    try:
        template = load(settings.template)
        check_template(template)
    except TemplateError as error:
        raise StpError(f"[stp] template: {error}") from error
    return template


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

    try:
        folder = local_folder(base.model)
        context = config_of(base.model).get("max_position_embeddings")
    except BadModel as error:
        raise StpError(f"[stp] base: {error}") from error
    if folder is None or not (folder / TOKENIZER).is_file():
        return
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
    if isinstance(context, int) and len(ids) > context - _room(context, template):
        raise StpError(
            f"[stp] base: {folder} has a context of {context:,} tokens, {_room(context, template):,} of them for a "
            f"completion, but the conjecturer's prompt for a very short theorem has {len(ids):,}; use a model with a "
            "longer context, or a [stp] template with a shorter header"
        )


def _room(context: int, template: Template) -> int:
    """Tokens reserved for a completion, as in `node.llm.hub.reading`."""
    return min(template.sampling.max_tokens, max(1, context // 2))


def _shortest_prompt(template: Template) -> str:
    """Raises StpError."""
    from node.lean.text.statement import parse_statement

    try:
        return conjecturer_prompt(template, Seed(parse_statement(SHORTEST), "omega", EMPTY_LEMMA)).text
    except PromptTooLong as error:
        raise StpError(f"[stp] template: {error}") from error
