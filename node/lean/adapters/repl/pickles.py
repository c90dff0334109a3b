"""Writes and reads environments and proof states as files: their texts as JSON, with a format, a version and a digest.

Reading a file runs nothing in it. A file of another format is an error that says so. If another version of Lean reads
the texts later, Lean reports what does not elaborate.
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
"""Largest file that is read. It is far larger than any text that Lean can elaborate within the time limit."""


class BadPickle(ValueError):
    """The file cannot be used; the text says why."""


class Environment(msgspec.Struct, frozen=True, tag="environment"):
    """An environment: the text of its commands."""

    text: str


class PickledState(msgspec.Struct, frozen=True, tag="proof state"):
    """A proof state."""

    state: ProofState


class _File(msgspec.Struct, frozen=True):
    format: str
    version: int
    digest: str
    """Digest of the content's bytes, which detects a truncated or changed file."""
    content: msgspec.Raw


def write(path: Path, item: Environment | PickledState) -> None:
    """Write a file atomically. Raises OSError."""
    content = msgspec.json.encode(item)
    write_whole(path, msgspec.json.encode(_File(FORMAT, VERSION, _digest(content), msgspec.Raw(content))))


def read_environment(path: Path) -> Environment:
    """Read an environment from a file. Raises BadPickle, OSError."""
    item = _read(path)
    if not isinstance(item, Environment):
        raise BadPickle(f"{path} contains a proof state, not an environment; use `unpickleProofStateFrom`")
    return item


def read_state(path: Path) -> ProofState:
    """Read a proof state from a file. Raises BadPickle, OSError."""
    item = _read(path)
    if not isinstance(item, PickledState):
        raise BadPickle(f"{path} contains an environment, not a proof state; use `unpickleEnvFrom`")
    return item.state


def _read(path: Path) -> Environment | PickledState:
    if not path.is_file():
        raise BadPickle(f"{path} is not a file" if path.exists() else f"there is no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise BadPickle(f"{path} is larger than {MAX_BYTES >> 20} MB")
    foreign = f"{path} was not written by proofmesh repl (the original REPL's files are memory images of one Lean)"
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadPickle(foreign) from error
    if file.format != FORMAT:
        raise BadPickle(foreign)
    if file.version != VERSION:
        raise BadPickle(
            f"{path} has version {file.version} of the format, but this proofmesh reads version {VERSION}; write it "
            "again"
        )
    if _digest(bytes(file.content)) != file.digest:
        raise BadPickle(f"{path} was changed or truncated after it was written; write it again")
    try:
        return msgspec.json.decode(file.content, type=Environment | PickledState)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadPickle(f"{path} is malformed: {error}") from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
