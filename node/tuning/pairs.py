"""Prepared training texts, written to a template by another program: rows of {prompt, completion, weight}."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from common.files import write_whole
from node.training.errors import InputError

PAIRS = "pairs"
"""Prefix of the source `pairs:FILE.jsonl`."""


class Pair(msgspec.Struct, frozen=True):
    """A prompt and its completion. Only the completion counts in the loss."""

    prompt: Annotated[str, msgspec.Meta(min_length=1)]
    completion: Annotated[str, msgspec.Meta(min_length=1)]
    """The completion without end token."""
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Weight of each token of the completion in the loss."""


def write_pairs(file: Path, pairs: Iterable[Pair]) -> None:
    """Writes the file atomically. Raises OSError."""
    write_whole(file, b"".join(msgspec.json.encode(pair) + b"\n" for pair in pairs))


def read_pairs(file: Path) -> list[Pair]:
    """The rows of a file. Raises InputError."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"--data {PAIRS}:{file}: cannot be read ({error.strerror})") from error
    pairs = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                pairs.append(msgspec.json.decode(line, type=Pair))
            except msgspec.MsgspecError as error:
                raise InputError(
                    f"{file}:{number}: {error}; a row is {{prompt, completion, weight}}, two texts and a number"
                ) from error
    return pairs
