"""A file of whole proofs as their source: those that somebody else's prover has written, one a row.

    {"name": "mathd_algebra_10", "proof": "norm_num"}

Rows of one statement are its samples in their order: a second attempt goes on behind those of the first. A `proof` is a
block of tactics, or a Lean text in which the theorem stands with its proof; what stands there as the statement is not
read. An empty one is an output without a proof, and counts as a sample all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from node.lean.text.proofs import NoProof, block_of
from node.prover.drafts import Draft, ProofRequest
from node.prover.policy_names import BadPolicy


class _Row(msgspec.Struct, frozen=True):
    """A row of the file; other fields are not looked at."""

    name: str
    proof: str | None
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class ListedProofs:
    """A source that gives the proofs of a file."""

    def __init__(self, rows: Mapping[str, Sequence[Draft]]) -> None:
        self._rows = rows

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """The statement's next rows. Nobody is there to correct one."""
        if request.correct:
            return ()
        rows = self._rows.get(request.theorem_id, ())
        return rows[request.first : request.first + request.count]


def read_proofs(file: Path) -> dict[str, list[Draft]]:
    """The proofs of a file by the names of their statements. Raises BadPolicy."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BadPolicy(f"{file}: the proofs cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{file}: the file of proofs is not text in UTF-8") from error
    rows: dict[str, list[Draft]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=_Row)
        except msgspec.MsgspecError as error:
            raise BadPolicy(
                f'{file}, line {number}: {error}; a row is {{"name": "...", "proof": "..."}}, one a line'
            ) from error
        rows.setdefault(row.name, []).append(_draft(row))
    if not rows:
        raise BadPolicy(f"{file}: there is no proof in it")
    return rows


def _draft(row: _Row) -> Draft:
    text = row.proof or ""
    try:
        return Draft(block_of(text, row.name), tokens=row.tokens, output=text)
    except NoProof as error:
        return Draft("", str(error), tokens=row.tokens, output=text)
