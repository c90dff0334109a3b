"""The file `evaluations.jsonl` of a run's directory: a line for each finished evaluation. The learner writes it and the
monitor reads it, without importing each other.
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
    """Share of the decided statements that were solved; 0 if none was decided."""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation of a weight version."""

    label: str
    """`before`, `before-again` or `after` learning; `step-N` for one during learning."""
    beside: bool
    """It ran during learning, on a share of the search slots."""
    step: int
    """Training step of the weights."""
    weights: int
    """Version of the weights."""
    time: float
    """Unix time of its end."""
    worked: float | None = None
    """Seconds that the run had worked by then; None: an older version of proofmesh wrote the line."""
    statements: int
    solved: int
    undecided: int
    """Statements that count as neither solved nor unsolved, because infrastructure failed."""
    simulations: int
    """Budget per statement."""
    simulations_used: int
    lean_attempts: int
    """Tactics that were sent to Lean."""
    tokens: int | None = None
    """Tokens that the policy sampled; None: not known."""
    levels: dict[str, Part] = {}
    families: dict[str, Part] = {}

    @property
    def solve_rate(self) -> float:
        """Share of the decided statements that were solved."""
        return self.solved / max(1, self.statements - self.undecided)


_decoder = msgspec.json.Decoder(Evaluated)


def encode_line(evaluated: Evaluated) -> bytes:
    """One line, with its newline."""
    return msgspec.json.encode(evaluated) + b"\n"


def read(path: Path) -> list[Evaluated]:
    """Every evaluation of a file, each label once. Lines that cannot be decoded (cut off by a kill) are skipped. A
    missing file gives an empty list.

    Raises OSError if the file exists and cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    by_label: dict[str, Evaluated] = {}
    for line in content.splitlines():
        try:
            evaluated = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        by_label.setdefault(evaluated.label, evaluated)
    return list(by_label.values())
