"""Opens language models by address, whether they run on servers (`openai:`) or in this process (`hf:`)."""

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
    """Parse an address of either kind. Raises BadModel."""
    if text.startswith(HUB_PREFIX):
        _check_name(text.removeprefix(HUB_PREFIX))
        return parse_hub_address(text)
    if text.startswith(PREFIX):
        return parse_address(text)
    raise BadModel(f"`{text}` is not a language model; write openai:URL#MODEL, or hf:ID_OR_FOLDER")


def _check_name(text: str) -> None:
    """Raises BadModel for a folder whose path contains `+` or `@`, which mark an adapter and a template."""
    path = Path(text).expanduser()
    if set("+@") & set(text) and path.is_dir():
        raise BadModel(
            f"hf:{text}: the folder's path contains `+` or `@`, which mark an adapter and a template; rename the "
            "folder, or make a link to it"
        )


def template_of(address: ModelAddress) -> Template:
    """The prompt template that the address names, or the folder's config.json, or else the one for the model's name.

    Raises TemplateError, BadModel.
    """
    if address.template:
        return templates.load(address.template)
    if isinstance(address, HubAddress):
        return _template_of_folder(address)
    return templates.for_model(address.model)


def _template_of_folder(address: HubAddress) -> Template:
    """The template by the folder's configuration, by its name, or by the name of its original model.

    Raises TemplateError, BadModel.
    """
    config = folders.config_of(address.model)
    named = config.get(folders.TEMPLATE_KEY)
    if isinstance(named, str) and named:
        in_folder = Path(address.model).expanduser() / named
        return templates.load(str(in_folder) if named.endswith(".toml") and in_folder.is_file() else named)
    folder = folders.local_folder(address.model)
    try:
        # Resolved, because the path may be `.`, and the template is chosen by the folder's name.
        return templates.for_model(str(folder.resolve()) if folder else address.model)
    except TemplateError:
        origin = config.get("_name_or_path")
        if folder is None:
            raise TemplateError(
                f"there is no folder {address.model}, and no template is known for the model `{address.model}` of the "
                "hub; check the path, or name a template from `proofmesh models list`, or a .toml file"
            ) from None
        if not isinstance(origin, str) or not origin:
            raise
        with suppress(TemplateError):
            return templates.for_model(origin)
        raise


def as_run(address: ModelAddress, template: Template, settings: ModelSettings | None) -> Template:
    """The template with the sampling settings that apply. Models in this process use beam search if their family is
    published with it. Beam search looks for the likeliest completions, so the temperature becomes 0."""
    beams = settings.hf.beams if settings is not None and settings.hf.beams is not None else template.sampling.beams
    if not (isinstance(address, HubAddress) and template.sampling.beams and beams):
        return template
    return msgspec.structs.replace(template, sampling=msgspec.structs.replace(template.sampling, temperature=0.0))


def check_library(address: ModelAddress) -> None:
    """Check that the packages are installed and that a local folder holds a model. Raises BadModel."""
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
    """Open the model for the duration of the block. `template`: its prompt template; `note` receives messages for the
    user.

    Raises BadModel, and SamplerError if no server responds.
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
    # In a thread: importing torch and transformers takes seconds, and a node must answer requests meanwhile.
    sampler = await asyncio.to_thread(import_module, "node.llm.hub.sampler")
    async with sampler.open_hub(address, settings, template=template, note=note) as opened:
        yield opened
