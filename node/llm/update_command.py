"""`proofmesh models update`: loads new weights into running vLLM servers."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from common.limits import Timeout
from common.output.visible import say

if TYPE_CHECKING:
    from node.llm.updating import Servers


@dataclass
class UpdateSettings:
    """Load the weights of a folder into vLLM servers without a restart, or a LoRA adapter under a separate name."""

    model: Annotated[str, tyro.conf.Positional]
    """The servers and the model: `openai:URL#MODEL`, or `openai:URL|URL#MODEL`."""

    folder: Annotated[Path | None, tyro.conf.Positional] = None
    """Weights in Hugging Face's format, or a LoRA adapter. The servers must see the folder under the same path. Without
    a folder, paused servers resume."""

    version: str = ""
    """Version name of the weights; by default the folder's name. An adapter becomes the model MODEL-VERSION."""

    mode: Literal["wait", "keep", "abort"] = "wait"
    """Requests in flight: `wait` finishes them before the update, `keep` finishes them with the new weights, `abort`
    aborts them, and their clients retry. Adapters do not pause the servers."""

    remove: bool = False
    """Unload the adapter of this version instead."""

    seconds: Timeout = 600.0
    """Timeout of one step on one server."""


def update(settings: UpdateSettings) -> int:
    """Run the command; returns its exit code: 0 success, 1 some servers failed, 2 wrong arguments."""
    from node.llm.address import BadModel, parse_address
    from node.llm.command import DONE, NOTHING, unusable
    from node.llm.updating import Servers, UpdateFailed

    try:
        servers = Servers(parse_address(settings.model), settings.seconds, note)
        summary = asyncio.run(_updated(settings, servers))
    except BadModel as error:
        return unusable(str(error))
    except UpdateFailed as error:
        unusable(str(error))
        return NOTHING
    say(summary)
    return DONE


async def _updated(settings: UpdateSettings, servers: Servers) -> str:
    """Carry out the command; returns the text to print. Raises BadModel, UpdateFailed."""
    from node.llm import updating
    from node.llm.address import BadModel

    model, count = servers.address.model, len(servers.address.urls)
    of_servers = f"{count} server{'s' if count > 1 else ''}"
    if settings.remove:
        if not settings.version:
            raise BadModel("--remove: name the adapter's version with --version")
        name = updating.adapter_name(model, settings.version)
        await updating.remove_adapter(servers, name)
        return f"{name} is unloaded from {of_servers}"
    if settings.folder is None:
        await updating.resume_only(servers)
        return f"resumed {of_servers} of {model}"
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
    """Print progress for the user."""
    say(f"proofmesh models: {text}", file=sys.stderr)
