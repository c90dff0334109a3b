"""A prover in this process, and proofs by hand, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from common.lean import ProofTree
from node.lean.opened import OpenedLean
from node.prover.player import Watch
from node.proving.prover import TheoremProver, local_prover
from node.proving.settings import ProvingSettings

ONE = ((0,),)
"""The layout of one goal."""


@asynccontextmanager
async def pocket_prover(lean: OpenedLean, watch: Watch | None = None) -> AsyncIterator[TheoremProver]:
    """The fixed list of tactics, without the library's search, which takes seconds for what is false."""
    async with local_prover(lean, ProvingSettings(policy="tactics", searching=[]), watch=watch) as prover:
        yield prover


def chain(*tactics: str) -> ProofTree:
    """Each tactic on the one goal that the one before has left."""
    tree = ProofTree(tactics[-1])
    for tactic in reversed(tactics[:-1]):
        tree = ProofTree(tactic, ONE, (tree,))
    return tree
