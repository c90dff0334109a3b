"""Rows of an agent's database."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Phase(enum.StrEnum):
    """The phase in which gaps are searched."""

    BASELINE = "baseline"
    """With only the list of tactics, before any training."""
    NETWORK = "network"
    """With the network that was just trained on the repository."""
    LAST = "last"
    """With the last network, for gaps that are still open."""


@dataclass(frozen=True)
class Repository:
    """A commit of a repository."""

    number: int
    name: str
    """Unique within the agent; also the name of its subfolder."""
    source: str
    """The folder, or the URL without credentials."""
    commit: str
    root: Path
    own: bool
    """True for a folder of the user, False for a clone of the agent."""
    lean: str = ""
    place: int | None = None
    """Its position in the curriculum, from 1."""


@dataclass(frozen=True)
class TheoremRow:
    """A declaration with tactic blocks."""

    path: str
    line: int
    name: str
    kind: str
    statement: str
    proof: str
    steps: int
    difficulty: float | None
    """e^steps; None without a proof."""
    problem: str
    category: str = ""
    held_out: bool = False
    number: int = 0


@dataclass(frozen=True)
class FileRow:
    """A file of a repository."""

    path: str
    digest: str
    error: str = ""


@dataclass(frozen=True)
class Attempt:
    """A search for one gap."""

    path: str
    line: int
    column: int
    name: str
    goal: str
    state: str
    """`node.proving.fill.GapState`."""
    reason: str
    script: str
    """The proof, verified together with its file."""
    rests: str
    """Open gaps that the proof depends on; empty: the proof is complete."""
    by: str
    seconds: float
    simulations: int


@dataclass(frozen=True)
class Patch:
    """A file with proofs in its gaps. The whole file is verified."""

    path: str
    old: str
    """Digest of the file without the proofs."""
    new: bytes
    diff: str


@dataclass(frozen=True)
class Evaluation:
    """Measures of a network on the held-out theorems of one repository."""

    training: int
    """The repository after whose training it was measured; 0: the first network."""
    repository: int
    """The repository of the held-out theorems; 0: data of the first network."""
    loss: float
    accuracy: float
    tokens: int


@dataclass(frozen=True)
class StageRow:
    """A finished stage."""

    seconds: float
    details: dict[str, Any] = field(default_factory=dict)
