"""HTTP client for LeanTree servers, ours or external ones. It has a method for each request and an exception for each
kind of error."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import msgspec

from common.bus.credentials import web_tls, why_no_https
from common.settings import BusSettings
from node.lean.adapters.leantree.protocol import (
    BadBody,
    BranchAnswer,
    CommandBody,
    GetProcess,
    ProcessAnswer,
    ProofFromSorry,
    TacticAnswer,
    TheoremAnswer,
    TryTactic,
    decode,
    encode,
)

T = TypeVar("T")

CONNECT_SECONDS = 5.0
"""Time limit of a connection to a server, which should be in the same network."""

THEOREM_SECONDS = 120.0
"""Time limit of a theorem or a header, for which the server may have to import a large library."""

SLACK_SECONDS = 10.0
"""Seconds in addition to a tactic's limit, for the network, and for a server that detects a timeout and restarts Lean.
"""

MAX_ANSWER = 16 * 2**20
"""Most bytes of an answer."""

_NOT_FOUND = re.compile(r"\bnot found\b|already been returned", re.IGNORECASE)


class ServerLost(Exception):
    """The server cannot be reached, is overloaded or sends malformed answers. The request itself may be fine."""


class ServerBusy(Exception):
    """The server has no free worker: retry after `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class DeadlinePassed(ServerLost):
    """The server did not answer in time."""


class ProcessLost(Exception):
    """The server does not know the process or the state, so it must be built again."""


class ProcessFailed(Exception):
    """The server's process ended during the request; the text is the server's."""


class Rejected(Exception):
    """The server refuses the request; the text is the server's."""


class Failed(msgspec.Struct):
    """An answer with an error status."""

    error: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Handle:
    """A state's address on the server."""

    address: str
    """`branch/N` or `proof/N`, depending on the server's generation."""

    @classmethod
    def of(cls, branch: BranchAnswer) -> Handle:
        """The handle of a branch. Raises ServerLost."""
        if branch.branch_id is not None:
            return cls(f"branch/{branch.branch_id}")
        if branch.proof_state_id is not None:
            return cls(f"proof/{branch.proof_state_id}")
        raise ServerLost("the server's answer has neither `branch_id` nor `proof_state_id`; check the server's version")


class LeanTreeClient:
    """A client of one server. Call `open` first and `close` at the end."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http: aiohttp.ClientSession | None = None

    def open(self) -> None:
        """Get ready, in the event loop of the later requests. Connections are opened on demand. Raises BadKey."""
        connector = aiohttp.TCPConnector(limit=0, ssl=web_tls(BusSettings()))
        self._http = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(connect=CONNECT_SECONDS))

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def status(self) -> dict[str, Any]:
        """The server's status. Raises ServerLost."""
        return await self._ask("GET", "/status", None, dict[str, Any], CONNECT_SECONDS)

    async def take(self, wait: float) -> int | None:
        """Get a process; None if none is free within `wait` seconds. Raises ServerLost, ServerBusy (warming up)."""
        body = GetProcess(blocking=wait > 0, timeout=wait)
        answer = await self._ask("POST", "/process/get", body, ProcessAnswer, wait + THEOREM_SECONDS)
        return answer.process_id

    async def give_back(self, process: int) -> None:
        """Return a process. Errors are ignored, because the server also takes back idle processes."""
        with contextlib.suppress(ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected):
            await self._ask("POST", f"/process/{process}/return", None, dict[str, Any], CONNECT_SECONDS)

    async def command(self, process: int, text: str) -> None:
        """Run Lean commands. Raises ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        body = CommandBody(text)
        await self._ask("POST", f"/process/{process}/command", body, dict[str, Any], THEOREM_SECONDS)

    async def theorem(self, process: int, text: str) -> TheoremAnswer:
        """Open a theorem. Raises ServerLost, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        body = ProofFromSorry(text)
        return await self._ask("POST", f"/process/{process}/proof_from_sorry", body, TheoremAnswer, THEOREM_SECONDS)

    async def tactic(self, process: int, state: Handle, tactic: str, seconds: float) -> TacticAnswer:
        """Run a tactic. Raises ServerLost, DeadlinePassed, ServerBusy, ProcessLost, ProcessFailed, Rejected."""
        path = f"/process/{process}/{state.address}/try_apply_tactic"
        body = TryTactic(tactic, timeout=max(1, round(1000 * seconds)))
        return await self._ask("POST", path, body, TacticAnswer, seconds + SLACK_SECONDS)

    async def _ask(self, method: str, path: str, body: Any, answer: type[T], seconds: float) -> T:
        assert self._http is not None, "call open() before the first request"
        # 1. The request. A server may accept and never answer: the limit is for everything, the body included.
        data = encode({} if body is None else body) if method == "POST" else None
        try:
            async with asyncio.timeout(seconds):
                async with self._http.request(
                    method, self.url + path, data=data, headers={"Content-Type": "application/json"}
                ) as response:
                    text = await _bounded(response)
                    status, retry_after = response.status, response.headers.get("Retry-After", "")
        except TimeoutError as error:
            raise DeadlinePassed(f"{self.url} did not answer {path} in {seconds:g} s") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise ServerLost(f"{self.url}: {why_no_https(error.certificate_error)}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ServerLost(
                f"{self.url} cannot be reached: {error}; check the server and [lean] leantree_url"
            ) from error
        # 2. The answer. Full is not failed: the caller waits as long as the server says.
        if status == 200:
            return self._read(text, answer, path)
        failed = self._read(text, Failed, path)
        if status in (429, 503):
            raise ServerBusy(f"{self.url}: {failed.error}", float(retry_after) if retry_after.isdecimal() else 1.0)
        raise _failure(status, failed.error or f"status {status}", self.url)

    def _read(self, text: bytes, type_: type[T], path: str) -> T:
        try:
            return decode(text, type_)
        except BadBody as error:
            raise ServerLost(
                f"{self.url} is not a LeanTree server: its answer to {path} begins with {text[:60]!r} ({error}); check "
                "[lean] leantree_url"
            ) from error


def _failure(status: int, error: str, url: str) -> Exception:
    """The exception for an error status. LeanTree's servers use 500 for nearly all errors, so the text decides."""
    if status in (404, 500) and _NOT_FOUND.search(error):
        return ProcessLost(error)
    if status == 500:
        return ProcessFailed(error)
    if status > 500:
        return ServerLost(f"{url}: {error}")
    return Rejected(error)


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response. Raises ServerLost if it is larger than MAX_ANSWER."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(2**16):
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER:
            raise ServerLost(f"the server's answer has more than {MAX_ANSWER >> 20} MB")
    return b"".join(parts)
