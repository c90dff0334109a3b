"""The output of `proofmesh prove`: proofs and rows on standard output, all else on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from common.output.visible import as_json, say, say_data, visible
from node.command.hints import with_hint
from node.proving.answers import BAD_STATEMENT, DISPROVED, PROVED, Answer


def row(answer: Answer) -> dict[str, Any]:
    """An answer as one JSON object."""
    fields = {
        "name": answer.name,
        "outcome": answer.outcome,
        "proof": answer.proof,
        "seconds": answer.seconds,
        "reason": answer.reason,
        "lean": answer.lean,
        "by": answer.by,
        "axioms": list(answer.axioms),
        "simulations": answer.simulations,
    }
    return fields | ({"replacement": answer.replacement} if answer.replacement else {})


class Report:
    """Prints answers as they arrive. Call `close` at the end."""

    def __init__(self, *, json: bool, many: bool) -> None:
        self._json = json
        self._many = many
        self._counts: Counter[str] = Counter()
        self._live = many and sys.stderr.isatty() and not sys.stdout.isatty()

    def note(self, text: str) -> None:
        """Print progress for the user."""
        say(text, file=sys.stderr, flush=True)

    def add(self, answer: Answer) -> None:
        """Print an answer."""
        self._counts[answer.outcome] += 1
        if self._json:
            print(as_json(row(answer)), flush=True)
        elif answer.outcome in (PROVED, DISPROVED):
            say_data(answer.replacement.strip("\n") or answer.lean, end="\n\n" if self._many else "\n", flush=True)
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr)
            say(self._summary(), end="", file=sys.stderr, flush=True)
        elif not (self._many and self._json):
            self.note(f"{f'{visible(answer.name)}: ' if self._many else ''}{_in_words(answer)}")

    def close(self) -> None:
        """Print the summary of many statements."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr)
        if self._many and self._counts:
            self.note(self._summary())

    def _summary(self) -> str:
        return f"{self._counts.total()} statements: " + ", ".join(f"{n} {each}" for each, n in self._counts.items())


def _in_words(answer: Answer) -> str:
    by = f", by {answer.by}" if answer.by else ""
    reason = with_hint(answer.reason, answer.name) if answer.outcome == BAD_STATEMENT else answer.reason
    return f"{answer.outcome}: {reason} ({answer.simulations} simulations, {answer.seconds:.1f} s{by})"
