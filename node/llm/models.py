"""Language models by their addresses, wherever they run: on servers (`openai:`) or in this process (`hf:`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path

import msgspec

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
from node.llm.hub import folders, library
from node.llm.sampling import OpenedModel
from node.llm.settings import ModelSettings
from node.llm.templates import Template, TemplateError


def parse_model(text: str) -> ModelAddress:
    """Read an address of either kind. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        _check_name(text.removeprefix(HUB_PREFIX))
        return parse_hub_address(text)
    if text.startswith(PREFIX):
        return parse_address(text)
    raise BadModel(f"`{text}` is no language model; write openai:URL#MODEL, or hf:ID_OR_FOLDER")


def _check_name(text: str) -> None:
    """Raises BadModel: a folder whose own name would be read as an adapter or a template."""
    path = Path(text).expanduser()
    if set("+@") & set(text) and path.is_dir():
        raise BadModel(
            f"hf:{text}: what stands behind `+` is an adapter, and behind `@` a template, so a folder with one of "
            "these in its path cannot be named: rename it, or make a link to it"
        )


def template_of(address: ModelAddress) -> Template:
    """How the model is asked: the template that its address names, or that its folder's config.json names, or the one
    of its name. Raises TemplateError, BadModel."""
    if address.template:
        return templates.load(address.template)
    if isinstance(address, HubAddress):
        return _template_of_folder(address)
    return templates.for_model(address.model)


def _template_of_folder(address: HubAddress) -> Template:
    """By its configuration, by its name, or by the name of the model that it was made from. Raises TemplateError,
    BadModel."""
    config = folders.config_of(address.model)
    named = config.get(folders.TEMPLATE_KEY)
    if isinstance(named, str) and named:
        beside = Path(address.model).expanduser() / named
        return templates.load(str(beside) if named.endswith(".toml") and beside.is_file() else named)
    try:
        # A folder may be called `.`.
        folder = folders.local_folder(address.model)
        return templates.for_model(str(folder.resolve()) if folder else address.model)
    except TemplateError:
        origin = config.get("_name_or_path")
        if not isinstance(origin, str) or not origin:
            raise
        with suppress(TemplateError):
            return templates.for_model(origin)
        raise


def as_run(address: ModelAddress, template: Template, settings: ModelSettings | None) -> Template:
    """The template as the model is run: of families that are published with beam search, models of this process do
    that. It is the search for the likeliest answers, so what it stands for is temperature 0."""
    beams = settings.hf.beams if settings is not None and settings.hf.beams is not None else template.sampling.beams
    if not (isinstance(address, HubAddress) and template.sampling.beams and beams):
        return template
    return msgspec.structs.replace(template, sampling=msgspec.structs.replace(template.sampling, temperature=0.0))


def check_library(address: ModelAddress) -> None:
    """Whether what runs or asks the model is installed, and a local folder is what it should be. Raises BadModel."""
    if isinstance(address, HubAddress):
        library.check(address)
    else:
        client_library()


def open_model(
    address: ModelAddress,
    settings: ModelSettings | None = None,
    *,
    template: Template | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> AbstractAsyncContextManager[OpenedModel]:
    """The model, for as long as the block lasts. `template`: how it will be asked; `note` hears what a person should
    know of it.

    Raises BadModel; SamplerError: no server answers.
    """
    if isinstance(address, HubAddress):
        library.check(address)
        return _open_hub(address, settings, template, note)
    from node.llm.openai import open_openai

    return open_openai(address, settings, note=note)


@asynccontextmanager
async def _open_hub(
    address: HubAddress, settings: ModelSettings | None, template: Template | None, note: Callable[[str], None]
) -> AsyncIterator[OpenedModel]:
    """Raises BadModel."""
    # Loading torch and transformers takes seconds, in which a node would answer nobody.
    sampler = await asyncio.to_thread(import_module, "node.llm.hub.sampler")
    async with sampler.open_hub(address, settings, template=template, note=note) as opened:
        yield opened
