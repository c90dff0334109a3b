"""Digests of what a policy is made of, so that an evaluation says which network it is of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from node.model.checkpoint_folders import digest
from node.proving.checkpoints import BadPolicy, weights_at
from node.proving.policies import parse, read_tactics

WEIGHTS = "model.safetensors"
"""The weights of a checkpoint folder."""

DIGITS = 16
"""Of a digest that is kept: to be compared, and to be read by people."""


def digests(policy: str, note: Callable[[str], None]) -> dict[str, str]:
    """By part of a policy: the digest of its weights, or of its list of tactics. `note` hears which checkpoint a run's
    folder means, and of damaged ones that are passed over. Raises BadPolicy."""
    found = {}
    for part in parse(policy):
        if part.kind == "own":
            path = weights_at(Path(part.where), note)
            if path != Path(part.where):
                note(f"own:{part.where} is {path}")
            found[f"own:{part.where}"] = _digest(path / WEIGHTS if path.is_dir() else path)
        elif part.where:
            lines = "\n".join(read_tactics(Path(part.where)))
            found[f"tactics:{part.where}"] = hashlib.blake2b(lines.encode()).hexdigest()[:DIGITS]
    return found


def label_of(policy: str) -> str:
    """A policy in words. Raises BadPolicy."""
    kinds = [part.kind for part in parse(policy)]
    words = {"own": "network", "tactics": "list of tactics"}
    return " and ".join(words.get(kind, kind) for kind in dict.fromkeys(kinds))


def _digest(path: Path) -> str:
    try:
        return digest(path)[:DIGITS]
    except OSError as error:
        raise BadPolicy(f"{path}: cannot be read: {error.strerror}") from error
