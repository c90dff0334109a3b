"""Parses the addresses of language models, without importing a library that runs them.

A model on servers is `openai:URL#MODEL@TEMPLATE`. A model in this process is `hf:ID_OR_FOLDER+ADAPTER@TEMPLATE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from common.output.command import UserError

PREFIX = "openai:"

FORM = "openai:URL#MODEL, or openai:URL|URL#MODEL@TEMPLATE"

HUB_PREFIX = "hf:"

HUB_FORM = "hf:ID_OR_FOLDER, or hf:ID_OR_FOLDER+ADAPTER@TEMPLATE"


_SECRET = re.compile(r"(?<=//)[^/@|#]+(?=@)|(?<=\?)[^#|]+")
"""User and password of a URL, and its query."""


class BadModel(UserError, ValueError):
    """The requested language model cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class ServerAddress:
    """A model on one server, or on several servers that all run it."""

    urls: tuple[str, ...]
    """Base URLs, up to and including `/v1`."""
    model: str
    """The model's name on the servers."""
    template: str = ""
    """Name or file of the prompt template; empty: the template is chosen by the model's name."""

    def __str__(self) -> str:
        return f"{PREFIX}{'|'.join(self.urls)}#{self.model}" + (f"@{self.template}" if self.template else "")

    @property
    def identity(self) -> str:
        """The address without the servers: results do not depend on where the model runs."""
        return f"{PREFIX}{self.model}" + (f"@{self.template}" if self.template else "")


@dataclass(frozen=True)
class HubAddress:
    """A model in Hugging Face's format, from the hub or a folder, that runs in transformers."""

    model: str
    """A hub id, or a folder."""
    adapter: str = ""
    """A LoRA adapter for the model, also a hub id or a folder; empty: none."""
    template: str = ""
    """As in ServerAddress."""

    def __str__(self) -> str:
        adapter = f"+{self.adapter}" if self.adapter else ""
        return f"{HUB_PREFIX}{self.model}{adapter}" + (f"@{self.template}" if self.template else "")

    @property
    def identity(self) -> str:
        """The model's name in results."""
        return str(self)


ModelAddress = ServerAddress | HubAddress


def parse_hub_address(text: str) -> HubAddress:
    """Parse `hf:ID_OR_FOLDER+ADAPTER@TEMPLATE`; the prefix may be missing. Raises BadModel."""
    name, at, template = (part.strip() for part in text.strip().removeprefix(HUB_PREFIX).partition("@"))
    model, plus, adapter = (part.strip() for part in name.partition("+"))
    if not model or (plus and not adapter) or (at and not template):
        raise BadModel(f"`{text}` is not a model address; write {HUB_FORM}")
    return HubAddress(model, adapter, template)


def parse_address(text: str) -> ServerAddress:
    """Parse `openai:URL#MODEL@TEMPLATE`; the prefix may be missing. The template follows the last `@`.

    Raises BadModel.
    """
    urls, hash_sign, name = text.strip().removeprefix(PREFIX).partition("#")
    model, at, template = (part.strip() for part in name.rpartition("@"))
    if not at:
        model, template = template, ""
    if not hash_sign or not model:
        raise BadModel(f"`{_shown(text)}` names no model; write {FORM}")
    if at and not template:
        raise BadModel(f"`{_shown(text)}` names no template after `@`; write {FORM}")
    servers = tuple(_url(url.strip(), text) for url in urls.split("|"))
    if len(set(servers)) < len(servers):
        raise BadModel(f"`{_shown(text)}` names a server twice; name each server once")
    return ServerAddress(servers, model, template)


def _shown(text: str) -> str:
    """The address with possible keys masked, because messages end up in logs."""
    return _SECRET.sub("***", text)


def _url(url: str, text: str) -> str:
    """The URL of a server in its normal form, with a path. Raises BadModel."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number, or the bracketed IPv6 address is invalid
        usable = False
    if not usable:
        raise BadModel(f"`{_shown(text)}`: `{_shown(url)}` is not a server address; write http://localhost:8000/v1")
    if parts.username or parts.password:
        # The address is stored with every result, and the key would be stored with it.
        raise BadModel(f"`{parts.hostname}`: the address contains a key; set $OPENAI_API_KEY instead")
    if parts.query:
        raise BadModel(
            f"`{_shown(text)}`: `{_shown(url)}` has a query; end the address with the API's path, such as /v1"
        )
    path = parts.path.rstrip("/")
    # Servers have their API under /v1, and users often leave that out.
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
