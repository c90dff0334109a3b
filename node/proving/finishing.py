"""From a proof as a search found it to the lines that a person reads: short, with names that people use, laid out."""

from __future__ import annotations

import time
from collections.abc import Sequence

from common.lean import ProofTree
from node.lean.text.script import proof_lines
from node.proving.naming import named
from node.proving.shortening import Runs, shortened
from node.proving.writing import laid_out

SHORTENING_SECONDS = 2.0
"""For making a proof short, at most."""

NAMING_SECONDS = 1.0
"""Beyond that, for names: a proof whose hypotheses have numbers is hard to read, and names cost a batch or two."""


class Unwritable(ValueError):
    """A proof that cannot be written down as a script; the text says why."""


async def finished(
    tree: ProofTree, environment: Runs, closing: Sequence[str], seconds: float | None
) -> tuple[str, ...]:
    """The lines of a proof, made readable as far as time allows; each change is one that Lean accepts.

    `closing`: tactics that may close a branch by themselves; `seconds`: left for it; None leaves the proof as it is.
    Raises Unwritable.
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
