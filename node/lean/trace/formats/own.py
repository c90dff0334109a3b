"""Writes our own formats: one row for each theorem, each atomic step, or each transition for the bank."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from node.lean.trace.records import TracedFile, TracedStep, TracedTheorem

NO_GOALS = "no goals"
"""How Lean prints an empty list of goals."""


def printed(goals: tuple[str, ...]) -> str:
    """Goals as Lean prints a state, with tags."""
    return "\n\n".join(goals) or NO_GOALS


def theorem_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each theorem, with its tactics as written, its trees, and its error if it has one."""
    for theorem in file.theorems:
        yield {**_origin(file), **msgspec.to_builtins(theorem)}


def context_row(file: TracedFile, text: str) -> dict[str, Any]:
    """A file's text, and the contexts of its theorems: length in characters by digest."""
    ends = {theorem.context_digest: theorem.context_end for theorem in file.theorems}
    return {**_origin(file), "text": text, "contexts": ends}


def step_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step."""
    for theorem in file.theorems:
        for number, block in enumerate(theorem.blocks):
            for index, step in enumerate(block.steps):
                yield {
                    **_origin(file),
                    "theorem": theorem.name,
                    "kind": theorem.kind,
                    "context": theorem.context_digest,
                    "statement": theorem.statement,
                    "block": number,
                    "step": index,
                    "parent": step.parent,
                    "branch": step.branch,
                    "state_before": printed(step.goals),
                    "state_after": printed(step.after),
                    "state": step.state,
                    "tactic": step.tactic,
                    "start": step.start,
                    "end": step.end,
                    "remaining_steps": step.remaining_steps,
                    "premises": [premise.full_name for premise in step.premises],
                    "split": block.split,
                }


def progress_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step in LeanProgress's format (LeanDojo-v2's `ProgressTrainer`).

    A row has the state as the policy reads it, the tactics that led to it, the tactic, and the number of tactics on the
    longest branch after it (0: it ends the branch). We add `theorem` and `statement`, which other readers ignore.
    """
    for theorem in file.theorems:
        for block in theorem.blocks:
            paths: list[str] = []  # for each step, the tactics up to and including it
            for step in block.steps:
                prefix = paths[step.parent] if step.parent >= 0 else ""
                paths.append(f"{prefix}\n{step.tactic}" if prefix else step.tactic)
                yield {
                    "goal": step.state,
                    "prefix": prefix,
                    "tactic": step.tactic,
                    "steps_remaining": step.remaining_steps - 1,
                    "theorem": f"{file.path}:{theorem.name}",
                    "statement": theorem.statement,
                }


def transition_rows(file: TracedFile) -> Iterator[dict[str, Any]]:
    """One row for each atomic step, for `node.bank.bank.BankTransition`. The family is the file, the level 1 to 4."""
    for theorem in file.theorems:
        for block in theorem.blocks:
            for step in block.steps:
                yield _transition(file, theorem, step, len(block.steps))


def _transition(file: TracedFile, theorem: TracedTheorem, step: TracedStep, size: int) -> dict[str, Any]:
    return {
        "theorem": theorem.name,
        "level": min(4, (size + 1) // 2),  # up to 2, 4, 6, or more steps, as in the bank
        "family": file.path,
        "state": step.state,
        "tactic": step.tactic,
        "remaining_steps": step.remaining_steps,
    }


def _origin(file: TracedFile) -> dict[str, Any]:
    return {"file": file.path, "commit": file.commit, "url": file.url, "lean_version": file.lean_version}


class Lines:
    """Writes rows as JSON lines, gzipped if the name ends in .gz. The file appears once it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._partial = path.with_name(path.name + ".partial")
        # Without a time stamp in the archive, equal rows give equal bytes.
        zipped = path.suffix == ".gz"
        self._file: Any = gzip.GzipFile(self._partial, "wb", mtime=0) if zipped else self._partial.open("wb")

    def write(self, row: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(row) + b"\n")

    def close(self) -> None:
        self._file.close()
        self._partial.replace(self.path)
