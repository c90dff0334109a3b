"""HTTP client of a LeanTree server, ours or another's: a method for each request, errors by what they are about."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import msgspec

from node.lean.adapters.leantree import protocol
from node.lean.adapters.leantree.protocol import BranchAnswer, TacticAnswer, TheoremAnswer

T = TypeVar("T")

CONNECT_SECONDS = 5.0
"""For a connection to a server in the same network."""

THEOREM_SECONDS = 120.0
"""For a theorem or a header: the server may have to import a large library first."""

SLACK_SECONDS = 10.0
"""Beyond a tactic's own limit, for its way, and for the server to notice and to start another Lean."""

MAX_ANSWER = 16 * 2**20
"""Bytes of an answer; more is a flood."""

_NOT_FOUND = re.compile(r"\bnot found\b|already been returned", re.IGNORECASE)


class ServerLost(Exception):
    """The server cannot be reached, is overloaded, or talks nonsense: says nothing about what was asked."""


class ServerBusy(Exception):
    """The server has no worker for this at the moment; ask again after `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class DeadlinePassed(ServerLost):
    """No answer in time."""


class ProcessLost(Exception):
    """The server no longer has the process, or the state: to be built again."""


class ProcessFailed(Exception):
    """The server lost the process while it worked on this; the text is the server's."""


class Rejected(Exception):
    """The server refuses the request; the text is the server's."""


class Failed(msgspec.Struct):
    """An answer with an error status."""

    error: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Handle:
    """A state's name at the server."""

    address: str
    """`branch/N` or `proof/N`, by the server's generation."""

    @classmethod
    def of(cls, branch: BranchAnswer) -> Handle:
        """Raises ServerLost."""
        if branch.branch_id is not None:
            return cls(f"branch/{branch.branch_id}")
        if branch.proof_state_id is not None:
            return cls(f"proof/{branch.proof_state_id}")
        raise ServerLost("the server names a state neither by `branch_id` nor by `proof_state_id`")


class LeanTreeClient:
    """Speaks to one server. `open` before, `close` after."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http: aiohttp.ClientSession | None = None

    def open(self) -> None:
        """Get ready, in the event loop that will be used. Connections are made when they are needed."""
        connector = aiohttp.TCPConnector(limit=0)
        self._http = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(connect=CONNECT_SECONDS))

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def status(self) -> dict[str, Any]:
        """What the server says of itself. Raises ServerLost."""
        return await self._ask("GET", "/status", None, dict[str, Any], CONNECT_SECONDS)

    async def take(self, wait: float) -> int | None:
        """A process; none when none is free within `wait` seconds. Raises ServerLost, ServerBusy (it warms up)."""
        body = protocol.GetProcess(blocking=wait > 0, timeout=wait)
        answer = await self._ask("POST", "/process/get", body, protocol.ProcessAnswer, wait + THEOREM_SECONDS)
        return answer.process_id

    async def give_back(self, process: int) -> None:
        """Return a process. If the server cannot hear it, it takes it back by itself some day."""
        with contextlib.suppress(ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected):
            await self._ask("POST", f"/process/{process}/return", None, dict[str, Any], CONNECT_SECONDS)

    async def command(self, process: int, text: str) -> None:
        """Have Lean run commands. Raises ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        body = protocol.CommandBody(text)
        await self._ask("POST", f"/process/{process}/command", body, dict[str, Any], THEOREM_SECONDS)

    async def theorem(self, process: int, text: str) -> TheoremAnswer:
        """Open a theorem. Raises ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        body = protocol.ProofFromSorry(text)
        return await self._ask("POST", f"/process/{process}/proof_from_sorry", body, TheoremAnswer, THEOREM_SECONDS)

    async def tactic(self, process: int, state: Handle, tactic: str, seconds: float) -> TacticAnswer:
        """Try a tactic. Raises ServerLost, DeadlinePassed, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        path = f"/process/{process}/{state.address}/try_apply_tactic"
        body = protocol.TryTactic(tactic, timeout=max(1, round(1000 * seconds)))
        return await self._ask("POST", path, body, TacticAnswer, seconds + SLACK_SECONDS)

    async def _ask(self, method: str, path: str, body: Any, answer: type[T], seconds: float) -> T:
        assert self._http is not None, "open() before the first request"
        data = protocol.encode({} if body is None else body) if method == "POST" else None
        try:
            async with asyncio.timeout(seconds):
                async with self._http.request(
                    method, self.url + path, data=data, headers={"Content-Type": "application/json"}
                ) as response:
                    text = await _bounded(response)
                    status, retry_after = response.status, response.headers.get("Retry-After", "")
        except TimeoutError as error:
            raise DeadlinePassed(f"{self.url} gave no answer to {path} within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ServerLost(f"{self.url} cannot be reached: {error}") from error
        if status == 200:
            return self._read(text, answer, path)
        failed = self._read(text, Failed, path)
        if status in (429, 503):
            raise ServerBusy(f"{self.url}: {failed.error}", float(retry_after) if retry_after.isdecimal() else 1.0)
        raise _failure(status, failed.error or f"status {status}", self.url)

    def _read(self, text: bytes, type_: type[T], path: str) -> T:
        try:
            return protocol.decode(text, type_)
        except protocol.BadBody as error:
            raise ServerLost(
                f"{self.url} is no LeanTree server: its answer to {path} begins with {text[:60]!r} ({error})"
            ) from error


def _failure(status: int, error: str, url: str) -> Exception:
    """What an error status is about. LeanTree's own servers answer 500 to nearly everything, so the text counts."""
    if status in (404, 500) and _NOT_FOUND.search(error):
        return ProcessLost(error)
    if status == 500:
        return ProcessFailed(error)
    if status > 500:
        return ServerLost(f"{url}: {error}")
    return Rejected(error)


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """The body. Raises ServerLost when it is a flood."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(2**16):
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER:
            raise ServerLost(f"an answer of more than {MAX_ANSWER >> 20} MB")
    return b"".join(parts)
