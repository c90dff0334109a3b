"""Self-play focused on one hard statement, starting from a run's trained network.

AlphaProof's test-time RL (Nature 2025) learns from variants of one statement. Here the conjecturer writes the variants.
The seeds are the run's solved statements with embeddings nearest to the target. The target is the only unproved
statement, so re-weighting prefers conjectures near it. Each round trains on the proofs that it found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common.lean import Theorem
from common.protocol.subjects import LONGEST_RUN_NAME
from node.model.prompt import unnamed
from node.stp.data.initial import RunData, around
from node.stp.network import Network, network_of
from node.stp.records import FILE, Proof, StpError
from node.stp.rounds import begin_with, checkpoint_of
from node.stp.settings import FOCUS, StpPlan, StpSettings
from node.stp.store import StpStore

NEAREST = 200
"""Number of solved statements from which the first seeds are drawn."""


@dataclass(frozen=True)
class Focus:
    """The effort for one statement."""

    conjectures: int
    """Conjectures per round."""
    samples: int
    """Proofs sampled per round for the target and for each conjecture."""
    rounds: int
    minutes: float


def focused_plan(source: StpPlan, target: Theorem, focus: Focus, seed: int) -> StpPlan:
    """The plan of a focused run, in a folder inside the source run's folder."""
    settings = source.settings
    prover = replace(settings.prover, first_samples=focus.samples, samples=focus.samples, again=0.0)
    conjecturer = replace(settings.conjecturer, most=focus.conjectures, share=1.0)
    changed: StpSettings = replace(
        settings,
        rounds=focus.rounds,
        cycles=1,
        minutes=focus.minutes,
        until_solved=True,
        statements=0,
        seed=seed,
        prover=prover,
        conjecturer=conjecturer,
        evaluation=replace(settings.evaluation, samples=0),
        final=replace(settings.final, train=False),
    )
    name = focus_name(source.name, target, seed)
    return replace(source, name=name, directory=source.directory / FOCUS / name, settings=changed)


def focus_name(run: str, target: Theorem, seed: int) -> str:
    """The name of a focused run. Names may only have lower-case letters, digits and hyphens and are cut, so a digest
    keeps them distinct."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{run}-focus-{seed}-{target.name}".lower())
    digest = hashlib.blake2b(target.signature.encode(), digest_size=4).hexdigest()
    return f"{words[: LONGEST_RUN_NAME - len(digest) - 1].rstrip('-')}-{digest}"


def newest_checkpoint(source: StpStore) -> Path:
    """The checkpoint of the run's latest training. Raises StpError if there is none."""
    trained = [row for row in source.rounds() if row.checkpoint]
    if not trained:
        raise StpError(f"{source.path.parent} has no trained network yet; wait until its first training has ended")
    return checkpoint_of(trained[-1])


def nearest(
    target: Theorem, solved: Sequence[tuple[Theorem, Proof]], network: Network, checkpoint: Path
) -> list[tuple[Theorem, Proof]]:
    """The solved statements whose embeddings are nearest to the target's, nearest first."""
    if not solved:
        raise StpError("the run has no solved statement to start from; play more rounds first")
    texts = [unnamed(theorem.signature) for theorem in (target, *(theorem for theorem, _ in solved))]
    rows = network.embed(checkpoint, texts)
    order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")
    return [solved[index] for index in order[:NEAREST]]


def begin(plan: StpPlan, source: StpStore, data: RunData, target: Theorem) -> RunData:
    """Prepare the focused run's folder, with the source run's newest network as the result of its first training. A run
    that has begun is not changed. Returns the data. Raises StpError."""
    checkpoint = newest_checkpoint(source)
    solved = [(each.theorem, each.proofs[0]) for each in source.solved() if each.theorem.name != target.name]
    solved += data.given
    plan.directory.mkdir(parents=True, exist_ok=True)
    store = StpStore(plan.directory / FILE)
    try:
        start = checkpoint_of(begin_with(store, checkpoint))
    finally:
        store.close()
    return around(data, target, nearest(target, solved, network_of(plan), start))
