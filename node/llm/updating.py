"""New weights for servers that run vLLM, without a restart: from a folder, or as a new LoRA adapter.

Whole weights go through vLLM's development API (`VLLM_SERVER_DEV_MODE=1`): `/pause`, `/collective_rpc` with
`reload_weights`, `/update_weight_version`, `/resume`. All servers of a model are paused before the first one reloads:
no two versions answer at a time. vLLM's pause has no end of its own, so `/resume` is sent whatever happens before it;
only a kill between the two leaves servers paused, and another update, or `resume_only`, frees them.

An adapter goes through `/v1/load_lora_adapter` (`VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`, `--enable-lora`): under a name of
its own for each version, so nothing has to pause, and searches that began with the old version end with it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from node.llm.address import BadModel, ServerAddress
from node.llm.client import key_in
from node.llm.faults import message_of
from node.llm.hub.folders import WEIGHTS, has_weights
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG

RESUME_SECONDS = 30.0
"""For `/resume`, which has nothing to wait for."""

MODES = ("wait", "keep", "abort")
"""What becomes of requests that are at work when a server pauses: they end first; they are kept, and end with the new
weights; or they are given up, and asked again by who asked."""


class UpdateFailed(RuntimeError):
    """Some servers do not have the new weights; the text says which, and why."""


class _ServerFailed(Exception):
    """One server refused, or did not answer."""


@dataclass(frozen=True)
class Servers:
    """The servers of one model, and how long one of their steps may take."""

    address: ServerAddress
    limit: float
    """Seconds for one step on one server."""
    note: Callable[[str], None] = lambda text: None

    async def each(self, step: Callable[[str], Awaitable[None]]) -> dict[str, str]:
        """Do a step on all servers at once; returns the problem of each that failed."""
        urls = [root(url) for url in self.address.urls]
        ended = await asyncio.gather(*(step(url) for url in urls), return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException) and not isinstance(end, _ServerFailed):
                raise end
        return {url: str(end) for url, end in zip(urls, ended, strict=True) if end is not None}

    def post(
        self, session: aiohttp.ClientSession, path: str, body: Any = None, limit: float | None = None
    ) -> Callable[[str], Awaitable[None]]:
        """A step: send this to a server."""
        seconds = min(limit or self.limit, self.limit)

        async def send(url: str) -> None:
            try:
                timeout = aiohttp.ClientTimeout(total=seconds)
                async with session.post(f"{url}{path}", json=body, timeout=timeout) as answer:
                    if answer.status >= 400:
                        words = message_of(await answer.text())
                        raise _ServerFailed(f"{answer.status}: {words}{_hint(answer.status, path)}")
            except TimeoutError:
                raise _ServerFailed(f"no answer within {seconds:g} s") from None
            except aiohttp.ClientError as error:
                raise _ServerFailed(str(error)) from error

        return send

    def session(self) -> aiohttp.ClientSession:
        key, _ = key_in(os.environ)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return aiohttp.ClientSession(headers=headers)


def root(url: str) -> str:
    """A server's address without the API's `/v1`: its administration is beside that."""
    return url.removesuffix("/v1")


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds a LoRA adapter, and not a whole model. Raises BadModel: it holds neither, or no weights,
    which would end vLLM's engine."""
    for name in (ADAPTER_CONFIG, CONFIG):
        if (folder / name).is_file():
            if not has_weights(folder):
                raise BadModel(f"{folder}: there are no weights in it ({' or '.join(WEIGHTS)})")
            return name == ADAPTER_CONFIG
    raise BadModel(f"{folder}: neither a model ({CONFIG}) nor an adapter ({ADAPTER_CONFIG}) is there")


async def update_weights(servers: Servers, folder: Path, version: str, mode: str = MODES[0]) -> None:
    """Give all servers the weights of a folder, which they see under the same path. Raises UpdateFailed."""
    async with servers.session() as session:
        failed: dict[str, str] = {}
        refused = ""
        try:
            failed = await servers.each(servers.post(session, f"/pause?mode={mode}"))
            if failed:
                refused = f"nothing was changed, because {_words(failed)} cannot be paused"
                raise UpdateFailed(refused)
            servers.note("paused")
            reload = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
            failed = await servers.each(servers.post(session, "/collective_rpc", reload))
            stale = set(failed)

            async def name_version(url: str) -> None:
                if url not in stale:
                    await servers.post(session, "/update_weight_version", {"new_version": version})(url)

            failed |= await servers.each(name_version)
        finally:
            await _resume(servers, session, refused)
    if failed:
        raise UpdateFailed(f"not updated to {version}: {_words(failed)}; the others are, and all go on")


async def resume_only(servers: Servers) -> None:
    """Let paused servers go on. Raises UpdateFailed."""
    async with servers.session() as session:
        await _resume(servers, session)


async def add_adapter(servers: Servers, folder: Path, name: str) -> None:
    """Have all servers load an adapter under a name, or none. Raises UpdateFailed."""
    async with servers.session() as session:
        body = {"lora_name": name, "lora_path": str(folder)}
        failed = await servers.each(servers.post(session, "/v1/load_lora_adapter", body))
        if not failed:
            return

        async def take_back(url: str) -> None:
            if url not in failed:
                await servers.post(session, "/v1/unload_lora_adapter", {"lora_name": name})(url)

        await servers.each(take_back)
    raise UpdateFailed(f"`{name}` was loaded nowhere, because of {_words(failed)}")


async def remove_adapter(servers: Servers, name: str) -> None:
    """Have all servers forget an adapter. Raises UpdateFailed."""
    async with servers.session() as session:
        failed = await servers.each(servers.post(session, "/v1/unload_lora_adapter", {"lora_name": name}))
    if failed:
        raise UpdateFailed(f"`{name}` is still loaded: {_words(failed)}")


async def _resume(servers: Servers, session: aiohttp.ClientSession, before: str = "") -> None:
    """`before`: what went wrong already, which is told first. Raises UpdateFailed."""
    failed = await asyncio.shield(servers.each(servers.post(session, "/resume", limit=RESUME_SECONDS)))
    if failed:
        paused = f"may still be paused (POST /resume frees them): {_words(failed)}"
        raise UpdateFailed(f"{before}; {paused}" if before else paused)
    servers.note("resumed")


def _hint(status: int, path: str) -> str:
    if status != 404:
        return ""
    needs = (
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora" if "lora" in path else "VLLM_SERVER_DEV_MODE=1 (vLLM)"
    )
    return f" (is the server started with {needs}?)"


def _words(failed: dict[str, str]) -> str:
    return "; ".join(f"{url} ({problem})" for url, problem in failed.items())


def adapter_name(model: str, version: str) -> str:
    """What servers call a version of a model's adapter."""
    return f"{model}-{version}"
