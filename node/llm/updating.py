"""Loads new weights into running vLLM servers without a restart: from a folder, or as a new LoRA adapter.

Whole weights go through vLLM's development API (`VLLM_SERVER_DEV_MODE=1`): `/pause`, `/collective_rpc` with
`reload_weights`, `/update_weight_version`, `/resume`. All servers of a model are paused before the first one reloads,
so that two versions never answer at the same time. vLLM's pause does not time out, so `/resume` is sent even after a
failure. Only a kill between the two leaves servers paused. Another update, or `resume_only`, resumes them.

An adapter goes through `/v1/load_lora_adapter` (`VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`, `--enable-lora`). Each version
has a different name, so nothing has to pause, and searches that began with the old version end with it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from common.output.command import Exit, UserError
from node.llm.address import BadModel, ServerAddress
from node.llm.hub.folders import WEIGHTS, has_weights
from node.llm.servers import key_in, message_of
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG

RESUME_SECONDS = 30.0
"""Timeout of `/resume`, which waits for nothing."""

MODES = ("wait", "keep", "abort")
"""Requests in flight when a server pauses: `wait` finishes them first, `keep` finishes them with the new weights, and
`abort` aborts them, so that their clients retry."""


class UpdateFailed(UserError, RuntimeError):
    """Some servers do not have the new weights; the text says which, and why."""

    exit_code = Exit.FAILED


class _ServerFailed(Exception):
    """One server rejected a request, or did not respond."""


@dataclass(frozen=True)
class Servers:
    """The servers of one model, and the timeout of a step."""

    address: ServerAddress
    limit: float
    """Timeout of one step on one server, in seconds."""
    note: Callable[[str], None] = lambda text: None

    async def each(self, step: Callable[[str], Awaitable[None]]) -> dict[str, str]:
        """Run a step on all servers at once; returns the errors of the servers that failed, by URL."""
        urls = [root(url) for url in self.address.urls]
        results = await asyncio.gather(*(step(url) for url in urls), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, _ServerFailed):
                raise result
        return {url: str(result) for url, result in zip(urls, results, strict=True) if result is not None}

    def post(
        self, session: aiohttp.ClientSession, path: str, body: Any = None, limit: float | None = None
    ) -> Callable[[str], Awaitable[None]]:
        """Make a step that posts this body to a server."""
        seconds = min(limit or self.limit, self.limit)

        async def send(url: str) -> None:
            try:
                timeout = aiohttp.ClientTimeout(total=seconds)
                async with session.post(f"{url}{path}", json=body, timeout=timeout) as response:
                    if response.status >= 400:
                        message = message_of(await response.text())
                        raise _ServerFailed(f"{response.status}: {message}{_hint(response.status, path)}")
            except TimeoutError:
                raise _ServerFailed(f"no response within {seconds:g} s") from None
            except aiohttp.ClientError as error:
                raise _ServerFailed(str(error)) from error

        return send

    def session(self) -> aiohttp.ClientSession:
        key, _ = key_in(os.environ)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return aiohttp.ClientSession(headers=headers)


def root(url: str) -> str:
    """A server's address without the API's `/v1`, because administration paths do not have it."""
    return url.removesuffix("/v1")


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds a LoRA adapter rather than a whole model. Raises BadModel if it holds neither, or has no
    weights, which would crash vLLM's engine."""
    for name in (ADAPTER_CONFIG, CONFIG):
        if (folder / name).is_file():
            if not has_weights(folder):
                raise BadModel(f"{folder}: the folder has no weights ({' or '.join(WEIGHTS)})")
            return name == ADAPTER_CONFIG
    raise BadModel(f"{folder}: the folder has neither a model ({CONFIG}) nor an adapter ({ADAPTER_CONFIG})")


async def update_weights(servers: Servers, folder: Path, version: str, mode: str = MODES[0]) -> None:
    """Load the weights of a folder, which all servers see under the same path. Raises UpdateFailed."""
    async with servers.session() as session:
        failed: dict[str, str] = {}
        refused = ""
        try:
            failed = await servers.each(servers.post(session, f"/pause?mode={mode}"))
            if failed:
                refused = f"nothing was changed, because a server cannot be paused: {_words(failed)}"
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
        raise UpdateFailed(
            f"not updated to {version}: {_words(failed)}; the other servers are updated, and all servers have resumed"
        )


async def resume_only(servers: Servers) -> None:
    """Resume paused servers. Raises UpdateFailed."""
    async with servers.session() as session:
        await _resume(servers, session)


async def add_adapter(servers: Servers, folder: Path, name: str) -> None:
    """Load an adapter under a name on all servers. If one fails, unload it from the rest. Raises UpdateFailed."""
    async with servers.session() as session:
        body = {"lora_name": name, "lora_path": str(folder)}
        failed = await servers.each(servers.post(session, "/v1/load_lora_adapter", body))
        if not failed:
            return

        async def take_back(url: str) -> None:
            if url not in failed:
                await servers.post(session, "/v1/unload_lora_adapter", {"lora_name": name})(url)

        await servers.each(take_back)
    raise UpdateFailed(f"`{name}` was not loaded on any server, because some failed: {_words(failed)}")


async def remove_adapter(servers: Servers, name: str) -> None:
    """Unload an adapter from all servers. Raises UpdateFailed."""
    async with servers.session() as session:
        failed = await servers.each(servers.post(session, "/v1/unload_lora_adapter", {"lora_name": name}))
    if failed:
        raise UpdateFailed(f"`{name}` is still loaded: {_words(failed)}")


async def _resume(servers: Servers, session: aiohttp.ClientSession, before: str = "") -> None:
    """Resume all servers. `before`: an earlier error, which the message shows first. Raises UpdateFailed."""
    failed = await asyncio.shield(servers.each(servers.post(session, "/resume", limit=RESUME_SECONDS)))
    if failed:
        paused = f"some servers may still be paused; resume them with POST /resume: {_words(failed)}"
        raise UpdateFailed(f"{before}; {paused}" if before else paused)
    servers.note("resumed")


def _hint(status: int, path: str) -> str:
    if status != 404:
        return ""
    needs = (
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 and --enable-lora" if "lora" in path else "VLLM_SERVER_DEV_MODE=1 (vLLM)"
    )
    return f" (start the server with {needs})"


def _words(failed: dict[str, str]) -> str:
    return "; ".join(f"{url} ({problem})" for url, problem in failed.items())


def adapter_name(model: str, version: str) -> str:
    """The name of an adapter's version on servers."""
    return f"{model}-{version}"
