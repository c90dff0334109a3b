"""Turns the proof tree of a search into a readable script: shortens it, renames hypotheses, and lays it out."""

from __future__ import annotations

import time
from collections.abc import Sequence

from common.lean import ProofTree
from node.lean.text.script import proof_lines
from node.proving.naming import named
from node.proving.shortening import Runs, shortened
from node.proving.writing import laid_out

SHORTENING_SECONDS = 2.0
"""Most seconds for shortening a proof."""

NAMING_SECONDS = 1.0
"""Most further seconds for renaming. Numbered hypotheses make a proof hard to read, and renaming costs few batches."""


class Unwritable(ValueError):
    """A proof tree cannot be written as a script. The message has the reason."""


async def finished(
    tree: ProofTree, environment: Runs, closing: Sequence[str], seconds: float | None
) -> tuple[str, ...]:
    """The lines of a proof, made readable as far as time allows. Lean checks each change.

    `closing`: tactics that may replace a whole branch. `seconds`: time limit; None leaves the proof unchanged. Raises
    Unwritable.
    """
    try:
        lines = tuple(proof_lines(tree, ""))
    except ValueError as error:
        raise Unwritable(f"the proof that was found cannot be written down: {error}") from error
    if seconds is None:
        return lines
    deadline = time.monotonic() + min(SHORTENING_SECONDS, max(0.0, seconds))
    tree = await shortened(tree, environment, closing, deadline)
    tree = await named(tree, environment, deadline + NAMING_SECONDS)
    return await laid_out(tree, environment)
