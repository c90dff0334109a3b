"""Refuses requests that a web page has made behind its reader's back.

A web page may send requests to any address, also to loopback. It cannot read the answer, unless its own name is made to
point at this machine (DNS rebinding); then `Host` has that name. Browsers tell in `Origin` which page asks. Neither
check needs anything of programs such as curl, which send the address as `Host`, and no `Origin`.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from aiohttp import web

from common.machine import EVERY_ADDRESS

LOOPBACK = ("localhost", "127.0.0.1", "::1")

OTHERWISE = "add the name to its setting `hosts`"
"""What to do to have requests for other names answered."""


class Hosts:
    """The names under which a server may be asked for."""

    def __init__(self, bound: str = "127.0.0.1", more: Iterable[str] = ()) -> None:
        """`bound`: the address that the server listens on. `more`: further names, without port."""
        self._names = {_plain(name) for name in (*LOOPBACK, bound, *more)} - {""}
        self._every = bound in EVERY_ADDRESS
        if bound not in LOOPBACK:  # other machines reach it, and call it by its name
            self._names.add(_plain(socket.gethostname()))

    def problem(self, request: web.BaseRequest, *, any_host: bool = False) -> str:
        """Why a request is refused; empty if it is not. `any_host`: do not look at `Host`."""
        hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
        for host in () if any_host else hosts:
            if not self._is_ours(_name(f"//{host}")):
                return f"Host {host!r} is not a name of this server: ask for it as {self._listed()}, or {OTHERWISE}"
        for origin in origins:
            if _name(origin) not in self._names and not _is_same(origin, hosts):
                return f"a web page of {origin!r} may not ask this server: open {self._listed()}, or {OTHERWISE}"
        return ""

    def _is_ours(self, name: str) -> bool:
        """True for an allowed name. On all addresses, also for any address: rebinding needs a name."""
        return name in self._names or (self._every and _is_address(name))

    def _listed(self) -> str:
        return ", ".join(sorted(self._names))


def unread_type(request: web.BaseRequest) -> str:
    """Why a request's body is refused for its content type; empty if it is JSON, or if there is no body.

    A web page may send `text/plain` and forms anywhere. For JSON the browser first asks the server, which does not
    allow it.
    """
    kind = request.content_type
    if not request.body_exists or kind == "application/json" or (kind.startswith("application/") and "+json" in kind):
        return ""
    sent = request.headers.get("Content-Type", "none")
    return f"the body's Content-Type is {sent!r}: send JSON with the header `Content-Type: application/json`"


def _is_same(origin: str, hosts: Sequence[str]) -> bool:
    """True if a page asks the server that it came from."""
    _, _, place = origin.partition("://")
    return bool(place) and [place.lower()] == [host.lower() for host in hosts]


def _name(url: str) -> str:
    """The host of a URL or of `//HOST:PORT`; empty if it has none."""
    try:
        return _plain(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def _plain(name: str) -> str:
    return name.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
