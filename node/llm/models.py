"""Language models by their addresses, wherever they run: on servers (`openai:`) or in this process (`hf:`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from node.llm import templates
from node.llm.address import (
    HUB_PREFIX,
    PREFIX,
    BadModel,
    HubAddress,
    ModelAddress,
    parse_address,
    parse_hub_address,
)
from node.llm.client import client_library
from node.llm.sampling import OpenedModel
from node.llm.settings import ModelSettings
from node.llm.templates import Template

PREFIXES = (PREFIX, HUB_PREFIX)


def parse_model(text: str) -> ModelAddress:
    """Read an address of either kind. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        return parse_hub_address(text)
    if text.startswith(PREFIX):
        return parse_address(text)
    raise BadModel(f"`{text}` is no language model; write openai:URL#MODEL, or hf:ID_OR_FOLDER")


def template_of(address: ModelAddress) -> Template:
    """How the model is asked: the template that its address names, or the one of its name. Raises TemplateError."""
    return templates.load(address.template) if address.template else templates.for_model(address.model)


def check_library(address: ModelAddress) -> None:
    """Whether what runs or asks the model is installed. Raises BadModel."""
    if isinstance(address, HubAddress):
        raise BadModel("models in transformers are not there yet")
    client_library()


def open_model(
    address: ModelAddress,
    settings: ModelSettings | None = None,
    *,
    note: Callable[[str], None] = lambda text: None,
) -> AbstractAsyncContextManager[OpenedModel]:
    """The model, for as long as the block lasts. `note` hears what a person should know of it.

    Raises BadModel; SamplerError: no server answers.
    """
    if isinstance(address, HubAddress):
        raise BadModel("models in transformers are not there yet")
    from node.llm.openai import open_openai

    return open_openai(address, settings, note=note)
