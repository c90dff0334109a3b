"""Clients that check Lean text for a reward: workers of this process, `proofmesh serve`, or a mesh's lean-proxies.

All three run `node.lean.snippets`, so their results are the same.

All rewards of a process ask on one event loop, in a separate thread that starts with the first reward. So a reward can
be called from scripts, from several threads, and from notebooks, which have a running loop already. A forked or spawned
process starts a new loop. Rewards that use the same place share a desk.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import hashlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import aiohttp
import msgspec
import stamina
from cachetools import LRUCache

from common.bus.asking import BadKey
from common.bus.credentials import web_tls, why_no_https
from common.machine import read_machine, sizes
from common.output.visible import without_credentials
from common.settings import BusSettings, LeanSettings
from node.lean.snippets.asked import AskedSnippets
from node.lean.snippets.snippet import VERIFY_SECONDS, NoAnswer, Snippet, SnippetLimits, SnippetResult, Verdict

HERE = "here"

KEY_VARIABLE = "LEAN_SERVER_API_KEY"
"""Environment variable with the key of a service, as for Kimina's client."""

CACHED = 20_000
"""Cached results of a process (about 1 KB each)."""

REACH_SECONDS = 10.0
"""Timeout of the test whether a service or broker answers."""

GRACE_SECONDS = 60.0
"""Additional seconds beyond the limits of elaboration and verification, in case a header must be imported first."""


class Unavailable(Exception):
    """Lean did not give a result; the text says why. It implies nothing about the checked text."""


@dataclass(frozen=True)
class Where:
    """Which Lean checks, and how."""

    place: str = HERE
    """`here`, http://HOST:PORT of a `proofmesh serve`, or nats://HOST:PORT of a mesh's broker."""
    run: str = "demo"
    api_key: str = field(default="", repr=False)
    lean: LeanSettings = field(default_factory=LeanSettings)
    at_once: int = 0
    patience: float = 120.0

    @property
    def shown(self) -> str:
        """The place for messages."""
        return without_credentials(self.place)

    def check(self) -> None:
        """Checks the place. Raises ValueError."""
        if self.place != HERE and not self.place.startswith(("http://", "https://", "nats://", "tls://")):
            raise ValueError(
                f"where={self.shown!r}: write `here`, http://HOST:PORT of a `proofmesh serve`, or nats://HOST:PORT "
                "of a mesh's broker"
            )


class Checker(Protocol):
    """Checks Lean texts. Must be used from one event loop."""

    async def check(self, snippet: Snippet) -> SnippetResult:
        """Raises NoAnswer, Unavailable."""

    async def stop(self) -> None:
        """Ends processes and connections."""


class Desk:
    """A checker with a cache. Equal texts that are checked at the same time share one request."""

    def __init__(self, checker: Checker, where: Where) -> None:
        self._checker = checker
        self._where = where
        self._known: LRUCache[bytes, SnippetResult] = LRUCache(CACHED)
        self._open: dict[bytes, asyncio.Task[SnippetResult]] = {}

    async def check(self, snippet: Snippet) -> SnippetResult:
        """Raises Unavailable."""
        key = hashlib.blake2b(msgspec.json.encode(snippet), digest_size=16).digest()
        if (cached := self._known.get(key)) is not None:
            return cached
        if (task := self._open.get(key)) is None:
            task = self._open[key] = asyncio.create_task(self._asked(snippet))
            task.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(task)

    async def reach(self) -> None:
        """Tests whether the checker answers, without retries. Raises Unavailable."""
        if isinstance(self._checker, _Service):  # the others are open
            await self._checker.reach()

    async def stop(self) -> None:
        """Ends processes and connections."""
        for task in list(self._open.values()):
            task.cancel()
        await self._checker.stop()

    async def _asked(self, snippet: Snippet) -> SnippetResult:
        try:
            return await self._checker.check(snippet)
        except NoAnswer as error:
            raise Unavailable(f"{self._where.shown}, run {self._where.run}: {error}") from error

    def _finished(self, key: bytes, task: asyncio.Task[SnippetResult]) -> None:
        del self._open[key]
        if not task.cancelled() and task.exception() is None and not task.result().error:
            self._known[key] = task.result()


async def open_desk(where: Where) -> Desk:
    """Opens the desk of a place. Raises Unavailable if nothing answers there."""
    if where.place == HERE:
        return Desk(await _workers(where), where)
    if where.place.startswith("http"):
        return Desk(_Service(where), where)
    from common.bus import Bus, BusError, BusSettings

    reach = min(REACH_SECONDS, where.patience)
    try:
        bus = await Bus.connect(
            BusSettings(url=where.place), run=where.run, name="reward", wait=reach, outage=where.patience
        )
    except (BusError, ValueError) as error:
        raise Unavailable(str(error)) from error
    at_once = where.at_once or 64
    return Desk(AskedSnippets(bus, at_once=at_once, verify_seconds=VERIFY_SECONDS, patience=where.patience), where)


async def _workers(where: Where) -> Checker:
    """Raises Unavailable."""
    from node.lean.snippets.checker import make_checker
    from node.lean.toolchain.find import find
    from node.lean.toolchain.lean_toolchain import LeanProblem

    try:
        toolchain = await (await asyncio.to_thread(find, where.lean)).confined()
    except LeanProblem as error:
        raise Unavailable(str(error)) from error
    workers = where.at_once or sizes(read_machine()).lean_workers
    return make_checker(toolchain, SnippetLimits(workers=workers, header_seconds=where.lean.header_seconds))


class _CheckResult(msgspec.Struct):
    """The fields of a result of `/api/check` that are used."""

    verdict: Verdict | None = None
    time: float = 0.0
    error: str | None = None
    response: dict[str, Any] | None = None


class _Answer(msgspec.Struct):
    results: list[_CheckResult]


class _Busy(Exception):
    """Ask again."""


def _may_pass(error: Exception) -> bool:
    """Whether to ask again. A certificate that does not count will not do so by itself."""
    passing = (_Busy, aiohttp.ClientConnectionError, TimeoutError)
    return isinstance(error, passing) and not isinstance(error, aiohttp.ClientConnectorCertificateError)


class _Service:
    """Sends texts to a `proofmesh serve`."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._gate = asyncio.Semaphore(where.at_once or 32)
        self._http: aiohttp.ClientSession | None = None

    async def check(self, snippet: Snippet) -> SnippetResult:
        """Raises Unavailable."""
        async with self._gate:
            try:
                async for attempt in stamina.retry_context(
                    on=_may_pass,
                    attempts=None,
                    timeout=self._where.patience,
                    wait_initial=0.2,
                    wait_max=5.0,
                ):
                    with attempt:
                        return await self._ask(snippet)
            except (aiohttp.ClientError, _Busy, TimeoutError) as error:
                raise Unavailable(f"{self._where.shown}: {self._why(error)}") from error
        raise AssertionError("every attempt returns or raises")

    async def reach(self) -> None:
        """Raises Unavailable."""
        try:
            async with self._session().get(self._where.place, timeout=aiohttp.ClientTimeout(REACH_SECONDS)):
                pass  # any response shows that the service is running
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unavailable(f"{self._where.shown}: {self._why(error)}") from error

    def _session(self) -> aiohttp.ClientSession:
        """Made at first use, because it belongs to the running event loop. Raises Unavailable."""
        if self._http is None:
            try:
                self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=web_tls(BusSettings())))
            except BadKey as error:
                raise Unavailable(str(error)) from error
        return self._http

    def _why(self, error: Exception) -> str:
        """What an error of the connection means."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return why_no_https(error.certificate_error)
        if isinstance(error, (aiohttp.ServerDisconnectedError, ConnectionResetError)) or (
            isinstance(error, OSError) and error.errno == errno.ECONNRESET
        ):
            return f"{error}; does it encrypt (https://), or ask for a certificate (PROOFMESH_CERTIFICATE)?"
        return str(error) or type(error).__name__

    async def stop(self) -> None:
        """Closes the connections."""
        if self._http is not None:
            await self._http.close()

    async def _ask(self, snippet: Snippet) -> SnippetResult:
        # 1. What the service reads.
        key = self._where.api_key or os.environ.get(KEY_VARIABLE, "")
        body = {
            "snippets": [{"id": "0", "code": snippet.code, "against": snippet.against}],
            "allow_own_syntax": snippet.allow_own_syntax,
            "timeout": snippet.seconds,
            "reuse": not snippet.fresh,
        }
        # 2. Longer than the service itself may take: its own answer says more than a timeout of ours.
        most = 2 * (snippet.seconds + VERIFY_SECONDS) + GRACE_SECONDS + self._where.patience
        async with self._session().post(
            f"{self._where.place.rstrip('/')}/api/check",
            json=body,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=most, sock_connect=10),
        ) as response:
            text = await response.read()
            # Full or restarting: asked again later. Everything else will not go away by itself.
            if response.status in (429, 502, 503, 504):
                raise _Busy(f"busy ({response.status})")
            if response.status != 200:
                raise Unavailable(
                    f"{self._where.shown}: status {response.status}: {text[:200].decode(errors='replace')}"
                )
        try:
            # 3. Another server of this API (Kimina's) has no `verdict`: its answer means that Lean printed no error,
            # which a cheat reaches, too.
            (result,) = msgspec.json.decode(text, type=_Answer).results
        except (msgspec.MsgspecError, ValueError) as error:
            raise Unavailable(f"{self._where.shown}: not the response of a verification service: {error}") from error
        if result.verdict is None:
            raise Unavailable(
                f"{self._where.shown}: the response has no `verdict`, so it is not from `proofmesh serve`; start one: "
                "a text without errors is not yet a verified proof"
            )
        return SnippetResult(result.time, result.verdict, result.error or "", result.response)


# --- the event loop of rewards ----------------------------------------------------------------------------------------

T = TypeVar("T")

STOP_SECONDS = 5.0
"""Most seconds for Lean processes and connections to end at the exit of this process."""


class Home:
    """A running event loop with its desks."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._desks: dict[str, Desk] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        threading.Thread(target=self.loop.run_forever, name="lean-rewards", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Schedules work in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def desk(self, where: Where) -> Desk:
        """The desk of a place; call it in the loop. Raises Unavailable; the next call tries again."""
        key = f"{where!r} {where.api_key}"
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._desks:
                self._desks[key] = await open_desk(where)
        return self._desks[key]

    async def close(self) -> None:
        """Ends all processes and connections; call it in the loop."""
        desks, self._desks = list(self._desks.values()), {}
        await asyncio.gather(*(desk.stop() for desk in desks), return_exceptions=True)


_lock = threading.Lock()
_home: Home | None = None


def home() -> Home:
    """The loop of this process."""
    global _home
    with _lock:
        if _home is None:
            _home = Home()
        return _home


def close() -> None:
    """Ends the Lean processes and connections of this process's rewards. A later reward call starts new ones."""
    if _home is not None:
        with contextlib.suppress(Exception):
            _home.submit(_home.close()).result(STOP_SECONDS)


def _forget() -> None:
    """Drops the loop in a forked process: the thread does not exist there, and its resources belong to the parent."""
    global _home, _lock
    _home, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
atexit.register(close)
