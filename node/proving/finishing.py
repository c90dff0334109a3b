"""Turns the proof tree of a search into a readable script: shortens it, renames hypotheses, and lays it out."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import msgspec

from common.lean import OutcomeKind, ProofTree
from node.lean.text.script import INDENT, proof_lines
from node.proving.naming import named
from node.proving.shortening import Runs, shortened

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


# ----------------------------------------------------------------------------------------------------------------------
# Lays out a finished proof as people do: the cases of an induction follow `| name =>`, not bullets.

_CASES = re.compile(r"(?P<head>(?:induction|cases) [^|]*? with)(?P<alternatives>(?: \| [^|]* => \?_)+)")


async def laid_out(tree: ProofTree, environment: Runs) -> tuple[str, ...]:
    """The proof's lines, the first in column 0. Uses the new layout only if Lean accepts it. Raises what `proof_lines`
    and the environment raise."""
    plain = tuple(proof_lines(tree, ""))
    lines = tuple(proof_lines(folded(tree), ""))
    if lines == plain:
        return plain
    block = "\n".join(lines)
    outcome = (await environment.run((), [block]))[block]
    return lines if outcome.kind is OutcomeKind.PROVED else plain


def folded(node: ProofTree) -> ProofTree:
    """The tree with each `induction ... with | zero => ?_ | succ n ih => ?_` and its branches as one tactic."""
    children = tuple(folded(child) for child in node.children)
    match = _CASES.fullmatch(node.tactic)
    if match is None:
        return msgspec.structs.replace(node, children=children)
    names = re.findall(r"\| ([^|]*) => \?_", match["alternatives"])
    if len(names) != len(children) or node.layout != tuple((index,) for index in range(len(names))):
        return msgspec.structs.replace(node, children=children)
    lines = [match["head"]]
    for name, child in zip(names, children, strict=True):
        lines += _case(name, child)
    return ProofTree("\n".join(lines), state=node.state)


def _case(name: str, child: ProofTree) -> Iterator[str]:
    lines = proof_lines(child, "")
    if len(lines) == 1:
        yield f"| {name} => {lines[0]}"
        return
    yield f"| {name} =>"
    yield from (INDENT + line for line in lines)
