"""Where a language model is, as a person writes it, without any library that runs it.

On servers: `openai:URL#MODEL@TEMPLATE`. In this process: `hf:ID_OR_FOLDER+ADAPTER@TEMPLATE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

PREFIX = "openai:"

FORM = "openai:URL#MODEL, or openai:URL|URL#MODEL@TEMPLATE"

HUB_PREFIX = "hf:"

HUB_FORM = "hf:ID_OR_FOLDER, or hf:ID_OR_FOLDER+ADAPTER@TEMPLATE"


_SECRET = re.compile(r"(?<=//)[^/@|#]+(?=@)|(?<=\?)[^#|]+")
"""User and password, and a query."""


class BadModel(ValueError):
    """What was asked for as a language model cannot be had; the text says why, and what to do."""


@dataclass(frozen=True)
class ServerAddress:
    """A model on one or several servers that have the same one."""

    urls: tuple[str, ...]
    """As far as `/v1`."""
    model: str
    """Its name on the servers."""
    template: str = ""
    """Name of the prompts' template, or its file; empty: the one of the model's name."""

    def __str__(self) -> str:
        return f"{PREFIX}{'|'.join(self.urls)}#{self.model}" + (f"@{self.template}" if self.template else "")

    @property
    def identity(self) -> str:
        """The model without its servers: where it runs makes no difference."""
        return f"{PREFIX}{self.model}" + (f"@{self.template}" if self.template else "")


@dataclass(frozen=True)
class HubAddress:
    """A model in Hugging Face's format, of the hub or in a folder, that runs in transformers."""

    model: str
    """An id of the hub, or a folder."""
    adapter: str = ""
    """A LoRA adapter of it, likewise; empty: none."""
    template: str = ""
    """As of ServerAddress."""

    def __str__(self) -> str:
        adapter = f"+{self.adapter}" if self.adapter else ""
        return f"{HUB_PREFIX}{self.model}{adapter}" + (f"@{self.template}" if self.template else "")

    @property
    def identity(self) -> str:
        """What results call it."""
        return str(self)


ModelAddress = ServerAddress | HubAddress


def parse_hub_address(text: str) -> HubAddress:
    """Read `hf:ID_OR_FOLDER+ADAPTER@TEMPLATE`; the prefix may be missing. Raises BadModel."""
    name, at, template = (part.strip() for part in text.strip().removeprefix(HUB_PREFIX).partition("@"))
    model, plus, adapter = (part.strip() for part in name.partition("+"))
    if not model or (plus and not adapter) or (at and not template):
        raise BadModel(f"`{text}` is no model; write {HUB_FORM}")
    return HubAddress(model, adapter, template)


def parse_address(text: str) -> ServerAddress:
    """Read `openai:URL#MODEL@TEMPLATE`; the prefix may be missing. What stands behind the last `@` is the template.
    Raises BadModel."""
    urls, hash_sign, name = text.strip().removeprefix(PREFIX).partition("#")
    model, at, template = (part.strip() for part in name.rpartition("@"))
    if not at:
        model, template = template, ""
    if not hash_sign or not model:
        raise BadModel(f"`{_shown(text)}` names no model; write {FORM}")
    if at and not template:
        raise BadModel(f"`{_shown(text)}` names no template behind `@`; write {FORM}")
    found = tuple(_url(url.strip(), text) for url in urls.split("|"))
    if len(set(found)) < len(found):
        raise BadModel(f"`{_shown(text)}` names a server twice")
    return ServerAddress(found, model, template)


def _shown(text: str) -> str:
    """An address without what may be a key: messages end up in logs."""
    return _SECRET.sub("***", text)


def _url(url: str, text: str) -> str:
    """Raises BadModel."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or an address in brackets that is none
        usable = False
    if not usable:
        raise BadModel(f"`{_shown(text)}`: `{_shown(url)}` is no address of a server, such as http://localhost:8000/v1")
    if parts.username or parts.password:
        # It would be written down with every result.
        raise BadModel(f"`{parts.hostname}`: a key is taken from $OPENAI_API_KEY, not from the address")
    if parts.query:
        raise BadModel(
            f"`{_shown(text)}`: `{_shown(url)}` has a query; an API's address ends with its path, such as /v1"
        )
    path = parts.path.rstrip("/")
    # Servers have the API there, and people leave it out.
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
