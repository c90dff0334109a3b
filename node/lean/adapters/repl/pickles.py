"""Environments and proof states in files: the texts that they are, as JSON with a format, a version and a digest.

Nothing in such a file is run when it is read, and one that is not of this format is refused by name. The Lean behind
it may be another one: then Lean says what no longer holds.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from common.files import write_whole
from node.lean.adapters.repl.states import ProofState

FORMAT = "proofmesh repl"
VERSION = 1

MAX_BYTES = 256 << 20
"""Of a file that is read: far more than any text that Lean elaborates in its time."""


class BadPickle(ValueError):
    """The file is not what it should be; the text says why."""


class Environment(msgspec.Struct, frozen=True, tag="environment"):
    """An environment: the commands that made it."""

    text: str


class PickledState(msgspec.Struct, frozen=True, tag="proof state"):
    """A proof state."""

    state: ProofState


class _File(msgspec.Struct, frozen=True):
    format: str
    version: int
    digest: str
    """Of the content's bytes: a file that was cut off or changed is not taken for another state."""
    content: msgspec.Raw


def write(path: Path, item: Environment | PickledState) -> None:
    """Write a file, whole or not at all. Raises OSError."""
    content = msgspec.json.encode(item)
    write_whole(path, msgspec.json.encode(_File(FORMAT, VERSION, _digest(content), msgspec.Raw(content))))


def read_environment(path: Path) -> Environment:
    """Raises BadPickle, OSError."""
    item = _read(path)
    if not isinstance(item, Environment):
        raise BadPickle(f"{path} holds a proof state, not an environment: `unpickleProofStateFrom` reads it")
    return item


def read_state(path: Path) -> ProofState:
    """Raises BadPickle, OSError."""
    item = _read(path)
    if not isinstance(item, PickledState):
        raise BadPickle(f"{path} holds an environment, not a proof state: `unpickleEnvFrom` reads it")
    return item.state


def _read(path: Path) -> Environment | PickledState:
    if not path.is_file():
        raise BadPickle(f"{path} is no file" if path.exists() else f"there is no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise BadPickle(f"{path} has more than {MAX_BYTES >> 20} MB")
    foreign = f"{path} was not written by proofmesh repl (the original REPL's files are memory images of one Lean)"
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadPickle(foreign) from error
    if file.format != FORMAT:
        raise BadPickle(foreign)
    if file.version != VERSION:
        raise BadPickle(f"{path} has version {file.version} of its format; this proofmesh reads version {VERSION}")
    if _digest(bytes(file.content)) != file.digest:
        raise BadPickle(f"{path} was changed or cut off after it was written")
    try:
        return msgspec.json.decode(file.content, type=Environment | PickledState)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadPickle(f"{path} is not what its format says: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
