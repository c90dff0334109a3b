"""Training data of repositories as files of transitions: training and held-out part."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from common.seeds import derive_seed, is_held_out
from node.agent.repositories import STEPS
from node.agent.settings import AgentError
from node.agent.store import TheoremRow
from node.data.rows import BadRow, Step, steps_of
from node.data.tables import open_source, parse

TRAIN, VALID = "train.jsonl", "valid.jsonl"

MOST_ROWS = 2_000_000
"""Most rows of one source of the first network's data."""

LEAST_THEOREMS = 4
"""A repository with fewer theorems has no held-out theorems."""


@dataclass(frozen=True)
class DataFiles:
    """The data files of a repository, or of the first network."""

    train: Path
    valid: Path

    @classmethod
    def below(cls, folder: Path) -> DataFiles:
        return cls(folder / TRAIN, folder / VALID)

    def remove(self) -> None:
        """Raises OSError."""
        self.valid.unlink(missing_ok=True)
        self.train.unlink(missing_ok=True)

    @property
    def has_train(self) -> bool:
        return self.train.exists() and self.train.stat().st_size > 0

    @property
    def has_valid(self) -> bool:
        return self.valid.exists() and self.valid.stat().st_size > 0


def with_held_out(theorems: Sequence[TheoremRow], share: int) -> list[TheoremRow]:
    """The theorems, with a mark on those that are held out: on average one in `share`, chosen by name, and at least one
    if there are LEAST_THEOREMS or more."""
    useful = [each for each in theorems if each.steps and not each.problem]
    chosen: set[str] = set()
    if share and len(useful) >= LEAST_THEOREMS:
        names = [_name(each) for each in useful]
        drawn = {name for name in names if is_held_out(name, share)}
        chosen = drawn or {min(names, key=lambda name: derive_seed("held-out", name))}
    held = [bool(each.steps and not each.problem) and _name(each) in chosen for each in theorems]
    return [replace(each, held_out=is_held) for each, is_held in zip(theorems, held, strict=True)]


def _name(theorem: TheoremRow) -> str:
    return f"{theorem.path}:{theorem.name}"


def write_repository(folder: Path, trace: Path, held: Collection[tuple[str, str]]) -> DataFiles:
    """Writes the transitions of a traced repository. `held`: (path, theorem) of the held-out theorems.

    Raises OSError.
    """
    files = DataFiles.below(folder)
    train: list[dict[str, Any]] = []
    valid: list[dict[str, Any]] = []
    with (trace / STEPS).open("rb") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            name = row["theorem"] or row["kind"]
            transition = {
                "theorem": f"{row['file']}:{name}",
                "state": row["state"],
                "tactic": row["tactic"],
                "remaining_steps": row["remaining_steps"],
            }
            (valid if (row["file"], name) in held else train).append(transition)
    _write(files.train, train)
    _write(files.valid, valid)
    return files


def write_start(folder: Path, sources: Iterable[str], share: int) -> DataFiles:
    """Writes the transitions for the first network. Raises AgentError, InputError, OSError."""
    files = DataFiles.below(folder)
    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for each in itertools.chain.from_iterable(_transitions(source) for source in sources):
        transition = each.transition
        row = {
            "theorem": each.theorem,
            "state": transition.state,
            "tactic": transition.tactic,
            "remaining_steps": transition.remaining_steps,
        }
        rows[is_held_out(each.theorem, share)].append(row)
    folder.mkdir(parents=True, exist_ok=True)
    _write(files.train, rows[False])
    _write(files.valid, rows[True])
    return files


def check_source(source: str) -> None:
    """Checks that the first row of a source can be read. Raises AgentError, InputError."""
    next(_transitions(source), None)


def _transitions(source: str) -> Iterator[Step]:
    spec = parse(source)
    if spec.kind != "transitions":
        raise AgentError(f"--start-data {source}: has no transitions; name transitions:WHERE")
    for number, row in enumerate(open_source(spec).once(MOST_ROWS), 1):
        try:
            yield from steps_of(row)
        except BadRow as error:
            raise AgentError(f"--start-data {source}: row {number}: {error}") from error


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_whole(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
