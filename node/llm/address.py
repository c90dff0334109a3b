"""Where a language model is and what it is called there: `openai:URL#MODEL@TEMPLATE`. Without any client."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

PREFIX = "openai:"

FORM = "openai:URL#MODEL, or openai:URL|URL#MODEL@TEMPLATE"


class BadModel(ValueError):
    """What was asked for as a language model cannot be had; the text says why, and what to do."""


@dataclass(frozen=True)
class ModelAddress:
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


def parse_address(text: str) -> ModelAddress:
    """Read `openai:URL#MODEL@TEMPLATE`; the prefix may be missing. What stands behind the last `@` is the template.
    Raises BadModel."""
    urls, hash_sign, name = text.strip().removeprefix(PREFIX).partition("#")
    model, at, template = (part.strip() for part in name.rpartition("@"))
    if not at:
        model, template = template, ""
    if not hash_sign or not model:
        raise BadModel(f"`{text}` names no model; write {FORM}")
    if at and not template:
        raise BadModel(f"`{text}` names no template behind `@`; write {FORM}")
    found = tuple(_url(url.strip(), text) for url in urls.split("|"))
    if len(set(found)) < len(found):
        raise BadModel(f"`{text}` names a server twice")
    return ModelAddress(found, model, template)


def _url(url: str, text: str) -> str:
    """Raises BadModel."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or an address in brackets that is none
        usable = False
    if not usable:
        raise BadModel(f"`{text}`: `{url}` is no address of a server, such as http://localhost:8000/v1")
    if parts.username or parts.password:
        # It would be written down with every result.
        raise BadModel(f"`{parts.hostname}`: a key is taken from $OPENAI_API_KEY, not from the address")
    if parts.query:
        raise BadModel(f"`{text}`: `{url}` has a query; an API's address ends with its path, such as /v1")
    path = parts.path.rstrip("/")
    # Servers have the API there, and people leave it out.
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"
