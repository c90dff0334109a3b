"""Provers with whole proofs to try, for tests of self-play: tasks whose samples are known, and what a plain loop over
the same samples finds."""

import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from common.bus import Bus
from common.lean import OutcomeKind, Theorem
from common.protocol.attempts import SELF_PLAY, AttemptResult, SampledProof
from common.protocol.messages import NodeInfo
from node.command.stp.run import TRIES
from node.play.mesh import MeshAttempts
from node.prover.environment import LeanEnvironment
from node.prover.policies.proofs import normalised
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from node.stp.work import Proving, Task
from tests.message_values import named, node_info
from tests.node.prover.nodes import running

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
TWO = Theorem("two", "(n : Nat) (h : n = 2)", "n + n = 4")
FALSE = Theorem("false", "(p q : Prop)", "p → q")
SCRIPTS = {
    "swap": (
        "intro h\nexact ⟨h.2, h.1⟩",
        "intro h\nconstructor\n· exact h.2\n· exact h.1",
        "exact fun ⟨a, b⟩ => ⟨b, a⟩",
    ),
    "two": ("subst h\nrfl", "omega", "rw [h]"),
    "false": ("intro h\nassumption", "intro h\nexact h"),
}
WRONG = ("intro h", "rfl", "sorry", "", "exact missing", "intro h -- a comment\n\nexact h.1")


def samples(name: str, count: int, seed: int) -> list[str]:
    """Proofs of a theorem as somebody might sample them: right, wrong, and often the same."""
    rng = random.Random(f"{name} {seed}")
    texts = [*SCRIPTS[name], *WRONG]
    return [rng.choice(texts) + rng.choice(("", "", "\n-- again")) for _ in range(count)]


def written(folder: Path, sampled: dict[str, list[str]]) -> Path:
    file = folder / "proofs.jsonl"
    rows = [{"name": name, "proof": text} for name, texts in sampled.items() for text in texts]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def task(theorem: Theorem, count: int, seed: int = 1, tag: str = "") -> Task:
    return Task(f"a-{theorem.name}{tag}", theorem, count, seed)


async def one_by_one(bus: Bus, theorem: Theorem, texts: list[str]) -> tuple[SampledProof, ...]:
    """What a plain loop over samples finds that shows each of them to Lean alone."""
    lean = LeanEnvironment(bus, theorem, tactic_timeout=5.0, patience=60.0)
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        script = normalised(text)
        if script and (await lean.run((), [script]))[script].kind is OutcomeKind.PROVED:
            found.setdefault(script, []).append(number)
    return tuple(SampledProof(script, count=len(at), first=at[0]) for script, at in found.items())


def told(results: list[AttemptResult]) -> dict[str, tuple[str, int, tuple[SampledProof, ...]]]:
    """What results say that does not depend on times and machines."""
    return {each.attempt_id: (each.outcome, each.statistics.correct, each.proofs) for each in results}


@asynccontextmanager
async def proving_on(bus: Bus, **changes: object) -> AsyncIterator[Proving]:
    async with MeshAttempts(bus, SELF_PLAY, tries=TRIES) as place:
        yield Proving(place, **{"weights": None, **changes})  # type: ignore[arg-type]


def info(role: str, **capacity: int) -> NodeInfo:
    return node_info(named(role), role, started=time.time(), capacity=capacity)


@asynccontextmanager
async def prover(bus: Bus, searches: int = 2, **settings: object) -> AsyncIterator[Prover]:
    """A prover in this process, registered on the run."""
    await bus.register(info("prover", searches=searches))
    async with running(bus, **{"policy": ProverSettings().policy, "searches": searches, **settings}) as work:
        yield work
