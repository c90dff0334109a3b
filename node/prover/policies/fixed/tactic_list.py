"""A policy from a file of tactics. It proposes all of them at every state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from node.lean.text.rules import tactic_problem
from node.prover.policies.fixed.policy import value
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Advice, ranked

MOST_LINES = 48
"""Most tactics of a file, because all are tried at every state."""


class ListedTactics:
    """A policy that proposes the same tactics at every state, in order."""

    def __init__(self, tactics: Sequence[str]) -> None:
        self._proposals = ranked(tactics)

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """All tactics, whatever the arguments."""
        return Advice(list(self._proposals), value(state), exhausted=True)


def read_tactics(file: Path) -> list[str]:
    """The tactics of a file, one a line. Blank lines and lines that begin with # are skipped. Raises BadPolicy."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadPolicy(f"{file}: the list of tactics cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{file}: the list of tactics is not text in UTF-8") from error
    tactics: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        tactic = line.strip()
        if not tactic or tactic.startswith("#"):
            continue
        if problem := tactic_problem(tactic):
            raise BadPolicy(f"{file}, line {number}: {problem}")
        tactics[tactic] = None
    if not tactics:
        raise BadPolicy(f"{file}: there is no tactic in it")
    if len(tactics) > MOST_LINES:
        raise BadPolicy(f"{file}: {len(tactics)} tactics; at most {MOST_LINES}, as all are tried on every state")
    return list(tactics)
