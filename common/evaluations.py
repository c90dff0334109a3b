"""A run's evaluations as `evaluations.jsonl` in its directory has them: a line for each that was finished. The learner
writes them, the monitor reads them; neither knows the other.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

FILE = "evaluations.jsonl"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of one level, or of one family."""

    statements: int
    solved: int
    undecided: int
    share: float
    """Solved, of those that were decided; 0 when none was."""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation of a weight version."""

    label: str
    """`before`, `before-again` or `after` learning; `step-N` beside it."""
    beside: bool
    """It took place beside learning, on a share of the search slots."""
    step: int
    """Training step of the weights."""
    weights: int
    """Their version."""
    time: float
    """Unix time of its end."""
    worked: float | None = None
    """Seconds that the run had been at work by then; None: a run of an older version of proofmesh."""
    statements: int
    solved: int
    undecided: int
    """Statements that were left undecided by infrastructure: neither solved nor unsolved."""
    simulations: int
    """Budget of a statement."""
    simulations_used: int
    lean_attempts: int
    """Tactics that were sent to Lean."""
    tokens: int | None = None
    """Sampled by the policy; None: not told."""
    levels: dict[str, Part] = {}
    families: dict[str, Part] = {}

    @property
    def solve_rate(self) -> float:
        """Share of the decided statements that were solved."""
        return self.solved / max(1, self.statements - self.undecided)


_decoder = msgspec.json.Decoder(Evaluated)


def encode_line(evaluated: Evaluated) -> bytes:
    """A line with its end."""
    return msgspec.json.encode(evaluated) + b"\n"


def read(path: Path) -> list[Evaluated]:
    """Every evaluation of a file, each label once; what is no line of one (torn by a kill) is passed over. No file:
    none.

    Raises OSError for a file that is there and cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    found: dict[str, Evaluated] = {}
    for line in content.splitlines():
        try:
            evaluated = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        found.setdefault(evaluated.label, evaluated)
    return list(found.values())
