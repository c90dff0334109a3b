"""The venue of an evaluation: this process, or a mesh. It knows its Lean and its policy, and plays attempts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from common.settings import Sampling
from node.eval.folder import LeanFacts, Plan, StatementRecord
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.model.checkpoint_folders import DIGITS, short_digest
from node.play.attempts import Attempts
from node.play.policies import KIND_WORDS, address_here, identity, parse, weights_at
from node.prover.policies.fixed import contents
from node.prover.policies.names import BadPolicy, PolicyName, joined
from node.prover.policies.proofs import read_proofs

# --- what a venue is --------------------------------------------------------------------------------------------------


class Venue(Protocol):
    """The place where an evaluation is played."""

    @property
    def lean(self) -> LeanFacts: ...

    @property
    def toolchain(self) -> LeanToolchain | None:
        """The Lean of this process; None on a mesh."""

    @property
    def policy(self) -> str:
        """The policy as results name it."""

    @property
    def asked(self) -> str:
        """The policy as attempts name it."""

    @property
    def label(self) -> str:
        """The policy in words."""

    @property
    def weights(self) -> dict[str, str]:
        """Digests of the parts of the policy."""

    @property
    def leaves(self) -> int:
        """Expansions in flight within one search."""

    @property
    def sampling(self) -> Sampling | None:
        """How the venue's networks sample tactics; None: as requested."""

    @property
    def mesh(self) -> str:
        """Name of the mesh's run; empty for this process."""

    @property
    def searches(self) -> int:
        """Concurrent searches; 0: as many as there is capacity for."""

    @property
    def gather_seconds(self) -> float:
        """How long a proof waits for further proofs, so that they are verified in one batch. It may grow when the
        header's import turns out to take long."""

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Names of the statements that do not elaborate, with Lean's errors. A venue may leave this to the attempts."""

    def attempts(self, plan: Plan) -> AbstractAsyncContextManager[Attempts]:
        """What plays the attempts, for the block. Raises BadPolicy, ProvingFailed, BusError."""

    def lean_cpu(self) -> float | None:
        """CPU seconds of the Lean processes so far; None if unknown."""


# --- digests of the parts of a policy, which identify the evaluated network -------------------------------------------


def digests(parts: Iterable[PolicyName], note: Callable[[str], None]) -> dict[str, str]:
    """The digest of each part of a policy: of its weights, or of its list of tactics or proofs. For a language model,
    of its prompt template and, unless a server has them, its weights. `note` reports which checkpoint of a run's folder
    is used, and damaged checkpoints that are skipped. Raises BadPolicy."""
    digest_of = {}
    for part in parts:
        if part.is_network:
            path = weights_at(Path(part.where), note)
            if path != Path(part.where):
                note(f"own:{part.where} is {path}")
            digest_of[f"own:{part.where}"] = _digest(path)
        elif part.is_proofs:
            read_proofs(Path(part.where))  # raises for bad rows before anything is played
            digest_of[f"proofs:{part.where}"] = _digest(Path(part.where))
        elif part.is_model:
            model, template = identity(part)
            digest_of[model] = template
        elif part.where:
            lines = "\n".join(contents(part))
            digest_of[part.source] = hashlib.blake2b(lines.encode()).hexdigest()[:DIGITS]
    return digest_of


def without_servers(policy: str) -> str:
    """The policy as it is stored with results: without the servers of its language models, which make no difference.

    Raises BadPolicy.
    """
    parts = parse(policy)
    if not any(part.is_model for part in parts):
        return policy
    return joined(
        replace(part, where=address_here(part).identity.partition(":")[2]) if part.is_model else part for part in parts
    )


def label_of(parts: Iterable[PolicyName]) -> str:
    """A policy in words."""
    return " and ".join(dict.fromkeys(KIND_WORDS[part.kind] for part in parts))


def _digest(path: Path) -> str:
    try:
        return short_digest(path)
    except OSError as error:
        raise BadPolicy(f"{path}: cannot be read: {error.strerror}") from error
