"""Our HTTP servers: one way to serve an application, to encrypt it, and to say who may use it.

    programs     Authorization: Bearer TOKEN
    browsers     open ADDRESS/?token=TOKEN once, which leaves a cookie
    both         a certificate, with `client_ca`

Whatever listens on more than loopback needs a token or `client_ca`; each server says what it does without.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import structlog
from aiohttp import web

from common.files import times_of
from common.life.hosts import Hosts
from common.machine import is_loopback, name_for_others
from common.output.command import Exit, UserError
from common.settings import WebSettings

log = structlog.get_logger("web")

LOOK_SECONDS = 5.0
"""Seconds between two looks at the files of certificates, as the broker's."""

COOKIE_SECONDS = 30 * 24 * 3600
"""Seconds after which a browser has to open the address with the token again."""

TOKEN_BYTES = 24
"""Random bytes of a token that we make."""


class CannotServe(UserError):
    """The port is not free, or the certificate cannot be used. The message is one line that says what to do."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


# --- who may ask ------------------------------------------------------------------------------------------------------


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    reason: str
    headers: dict[str, str]


class Access:
    """Which requests a server answers: by their names (`common.life.hosts`), and by their token if it has one."""

    def __init__(self, settings: WebSettings, token: str = "", *, more: str = "") -> None:
        """`token`: what requests must have; empty: none is needed. `more`: where a reader finds it, for error texts."""
        self._hosts = Hosts(settings.host, settings.hosts)
        self._token = token.encode()
        self._any_name = bool(token or settings.client_ca)
        self._more = more
        # A browser sends cookies to every server of a host, whatever its port: this one does not tell them the token.
        self._crumb = hmac.new(self._token, b"cookie", hashlib.sha256).hexdigest()

    def refusal(self, request: web.BaseRequest) -> Refusal | None:
        """Why a request is refused; None if it is not."""
        if problem := self._hosts.problem(request, any_host=self._any_name):
            return Refusal(403, problem, {})
        if self.knows(request):
            return None
        shown = request.headers.get("Authorization") or request.query.get("token")
        what = "the token is wrong" if shown else "no token"
        reason = f"{what}: send it as `Authorization: Bearer TOKEN`{self._more}"
        return Refusal(401, reason, {"WWW-Authenticate": "Bearer"})

    def knows(self, request: web.BaseRequest) -> bool:
        """Whether a request has the token, or needs none."""
        if not self._token:
            return True
        shown = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        return _same(shown, self._token) or _same(request.cookies.get(_cookie(request), ""), self._crumb.encode())

    def entry(self, request: web.Request) -> web.Response | None:
        """The answer to a browser that opens an address with the right token: a cookie, and the address without the
        token. None for all other requests."""
        if not self._token or request.method != "GET" or not _same(request.query.get("token", ""), self._token):
            return None
        plain = str(request.rel_url.without_query_params("token")).lstrip("/")
        headers = {"Location": f"/{plain}", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        response = web.Response(status=302, headers=headers)
        # `Lax`, not `Strict`: with that, a link in a mail or a chat would lead to a page that asks for the token again.
        # Both keep the cookie from the requests of other pages, and whoever only navigates here reads no answer.
        response.set_cookie(
            _cookie(request),
            self._crumb,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=request.secure,
        )
        return response


def _cookie(request: web.BaseRequest) -> str:
    """The cookie's name. It has the port, because servers of a host share their cookies."""
    name = request.transport.get_extra_info("sockname") if request.transport is not None else None
    return f"proofmesh-{name[1] if name else 0}"


def _same(shown: str, expected: bytes) -> bool:
    return hmac.compare_digest(shown.encode(errors="replace"), expected)


def is_open(settings: WebSettings, token: str) -> bool:
    """Whether everybody on the network could use a server."""
    return not (is_loopback(settings.host) or token or settings.client_ca)


# --- encryption -------------------------------------------------------------------------------------------------------


class Certificates:
    """A server's certificate, and the authority of its clients, as the files are now."""

    def __init__(self, settings: WebSettings) -> None:
        """Raises CannotServe."""
        self._settings = settings
        self._times = self._read_times()
        self._now = self._read()
        self._said = ""
        self.context = self._now
        """What the port is opened with. Every connection takes the newest files from it."""
        self.context.sni_callback = self._choose

    def look(self) -> None:
        """Take over files that have changed. Files that do not fit yet are looked at again, and the old ones stay."""
        if (times := self._read_times()) == self._times:
            return
        try:
            self._now, self._times, self._said = self._read(), times, ""
        except CannotServe as error:
            if str(error) != self._said:
                log.warning("the old certificate stays", problem=str(error))
            self._said = str(error)
            return
        log.info("certificate read again", file=self._settings.certificate)

    async def follow(self) -> None:
        """Look for renewed files until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.look()

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._now

    def _read(self) -> ssl.SSLContext:
        settings = self._settings
        place = f"[{settings.section}]" if settings.section else "the server's"
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # 1. The server's own. Opened first, because OpenSSL does not say which of two files is missing.
        for name in ("certificate", "certificate_key", "client_ca"):
            if file := getattr(settings, name):
                try:
                    Path(file).open("rb").close()
                except OSError as error:
                    raise _unusable(f"{place} {name}: {file} cannot be read ({error.strerror})") from error
        try:
            # The password is asked from nobody: a service has no terminal.
            context.load_cert_chain(settings.certificate, settings.certificate_key or None, password=lambda: "")
        except (ssl.SSLError, ValueError) as error:
            reason = getattr(error, "reason", None) or str(error)
            key = settings.certificate_key or settings.certificate
            if reason == "KEY_VALUES_MISMATCH":
                raise _unusable(f"{place} certificate_key: {key} is not the key of {settings.certificate}") from error
            raise _unusable(
                f"{place} certificate: {settings.certificate} with the key in {key} cannot be used ({reason}): both "
                "are PEM, and the key has no password"
            ) from error
        # 2. The authority of the clients.
        if settings.client_ca:
            try:
                context.load_verify_locations(settings.client_ca)
            except ssl.SSLError as error:
                raise _unusable(f"{place} client_ca: {settings.client_ca} is no certificate as PEM") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _read_times(self) -> list[int]:
        return times_of(self._settings.certificate, self._settings.certificate_key, self._settings.client_ca)


def _unusable(message: str) -> CannotServe:
    return CannotServe(message, Exit.UNUSABLE)


# --- serving ----------------------------------------------------------------------------------------------------------


LONGEST_LINE = 16 * 1024
"""Most bytes of a line of a request: a name of 1,024 characters has up to twelve bytes for each in an address."""


@asynccontextmanager
async def served(
    application: web.Application,
    settings: WebSettings,
    port: int,
    *,
    port_setting: str = "--port",
    drain_seconds: float = 60.0,
    handler_cancellation: bool = False,
) -> AsyncIterator[web.AppRunner]:
    """Serve for as long as the block lasts, then wait for open requests. Raises CannotServe.

    `port_setting`: the flag that chooses another port, for the error. `drain_seconds`: time limit for open requests.
    `handler_cancellation`: whether a request is cancelled when its client disconnects.
    """
    certificates = Certificates(settings) if settings.certificate else None
    runner = web.AppRunner(
        application,
        access_log=None,
        handle_signals=False,
        shutdown_timeout=drain_seconds,
        handler_cancellation=handler_cancellation,
        max_line_size=LONGEST_LINE,
    )
    await runner.setup()
    following = None
    try:
        context = certificates.context if certificates else None
        try:
            await web.TCPSite(runner, settings.host, port, ssl_context=context).start()
        except OSError as error:
            raise CannotServe(
                f"cannot listen on {settings.host}:{port} ({error.strerror}); choose another port with {port_setting} "
                "(0 takes a free one), or another address",
                Exit.FAILED,
            ) from error
        if certificates is not None:
            following = asyncio.create_task(certificates.follow(), name="certificates")
        yield runner
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        await runner.cleanup()


def address(settings: WebSettings, runner: web.AppRunner) -> str:
    """The address of a server, without a path."""
    return f"{scheme(settings)}://{name_for_others(settings.host)}:{runner.addresses[0][1]}"


def scheme(settings: WebSettings) -> str:
    return "https" if settings.certificate else "http"


async def serve_http(
    application: web.Application,
    settings: WebSettings,
    port: int,
    stop: asyncio.Event,
    *,
    say: Callable[[str], None],
    facts: str,
    drain_seconds: float,
    handler_cancellation: bool = False,
) -> int:
    """Serve until `stop` is set. Returns the exit code, with a message if the port or the certificate cannot be used.

    `say`: prints a line to the user. `facts`: text after the address in the first line. The rest is as for `served`.
    """
    serving = served(
        application, settings, port, drain_seconds=drain_seconds, handler_cancellation=handler_cancellation
    )
    try:
        async with serving as runner:
            # Said only when the port is open: whoever waits for this line can connect at once.
            say(f"{address(settings, runner)}, {facts}")
            await stop.wait()
            say("stopping")
    except CannotServe as error:
        say(str(error))
        return error.exit_code
    return Exit.DONE
