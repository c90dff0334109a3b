"""A source of whole proofs from a file, for example the outputs of another prover. One row is one proof:

    {"name": "mathd_algebra_10", "proof": "norm_num"}

The rows of one theorem are its samples, in order. A second attempt continues after the rows of the first. A `proof` is
a block of tactics, or a Lean text that contains the theorem and its proof; the statement in that text is ignored. An
empty `proof` is an output without a proof, and counts as a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from node.lean.text.declarations import NoProof, block_of
from node.prover.policies.names import BadPolicy
from node.prover.policies.proofs.drafts import Draft, ProofRequest


class _Row(msgspec.Struct, frozen=True):
    """A row of the file. Other fields are ignored."""

    name: str
    proof: str | None
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class ListedProofs:
    """A source of the proofs in a file."""

    def __init__(self, rows: Mapping[str, Sequence[Draft]]) -> None:
        self._rows = rows

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """The theorem's next rows. No corrections."""
        if request.correct:
            return ()
        rows = self._rows.get(request.theorem_id, ())
        return rows[request.first : request.first + request.count]


def read_proofs(file: Path) -> dict[str, list[Draft]]:
    """The proofs of a file by theorem name. Raises BadPolicy."""
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
