"""`proofmesh models update`: gives running vLLM servers new weights."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from common.limits import Timeout

if TYPE_CHECKING:
    from node.llm.updating import Servers


@dataclass
class UpdateSettings:
    """Give vLLM servers the weights of a folder without a restart, or a LoRA adapter under a name of its own."""

    model: Annotated[str, tyro.conf.Positional]
    """The servers and the model: `openai:URL#MODEL`, or `openai:URL|URL#MODEL`."""

    folder: Annotated[Path | None, tyro.conf.Positional] = None
    """Weights in Hugging Face's format, or a LoRA adapter. The servers must see it under the same path. Without it,
    servers that are paused go on."""

    version: str = ""
    """What the weights are called; by default the folder's name. An adapter becomes the model MODEL-VERSION."""

    mode: Literal["wait", "keep", "abort"] = "wait"
    """What becomes of requests that are at work: they end first; they are kept, and end with the new weights; or they
    are given up, and asked again by who asked. Adapters pause nothing."""

    remove: bool = False
    """Forget the adapter of this version instead."""

    seconds: Timeout = 600.0
    """Longest time for one step on one server."""


def update(settings: UpdateSettings) -> int:
    """The command; returns its exit code: 0 done, 1 some servers failed, 2 wrong arguments."""
    from node.llm.address import BadModel, parse_address
    from node.llm.command import DONE, NOTHING, unusable
    from node.llm.updating import Servers, UpdateFailed

    try:
        servers = Servers(parse_address(settings.model), settings.seconds, note)
        told = asyncio.run(_updated(settings, servers))
    except BadModel as error:
        return unusable(str(error))
    except UpdateFailed as error:
        unusable(str(error))
        return NOTHING
    print(told)
    return DONE


async def _updated(settings: UpdateSettings, servers: Servers) -> str:
    """Raises BadModel, UpdateFailed."""
    from node.llm import updating
    from node.llm.address import BadModel

    model, count = servers.address.model, len(servers.address.urls)
    of_servers = f"{count} server{'s' if count > 1 else ''}"
    if settings.remove:
        if not settings.version:
            raise BadModel("--remove needs the --version of the adapter")
        name = updating.adapter_name(model, settings.version)
        await updating.remove_adapter(servers, name)
        return f"{name} is forgotten by {of_servers}"
    if settings.folder is None:
        await updating.resume_only(servers)
        return f"{of_servers} of {model} go on"
    folder = settings.folder.absolute()
    version = settings.version or folder.name
    if updating.is_adapter(folder):
        name = updating.adapter_name(model, version)
        await updating.add_adapter(servers, folder, name)
        urls = "|".join(servers.address.urls)
        return f"loaded by {of_servers}: --policy 'openai:{urls}#{name}@TEMPLATE'"
    await updating.update_weights(servers, folder, version, settings.mode)
    return f"{of_servers} of {model} answer with {version} now"


def note(text: str) -> None:
    """What happens, for a person who waits."""
    print(f"proofmesh models: {text}", file=sys.stderr)
