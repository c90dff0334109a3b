"""A process of `bench scale`: simulated provers, or a lean-proxy that accepts every proof.

    python -m scripts.bench._scale_provers JSON     # a `Part`; it runs until SIGTERM, then writes its measurements

Leases, results, registry and heartbeats are those of a real prover. Only the search is simulated: an attempt waits for
a time that depends on its seed, and a share of the attempts ends with a proof of typical size.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from pathlib import Path

import msgspec

from common.bus import Bus, Lease, Signer
from common.lean import ProofTree
from common.life import pulse
from common.life.context import NodeContext
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, AttemptStatistics, ResultPart
from common.protocol.messages import LeanVerifyReply, LeanVerifyRequest, Message
from common.settings import BusSettings, NodeSettings
from node.prover.prover import Prover
from node.prover.settings import ProverSettings

STATE = (
    "α : Type\np q r : α → Prop\nh₀ : ∀ x, p x ∧ q x\nh₁ : ∀ x, q x → r x\nn : Nat\nih : n + 0 = n\n⊢ ∀ x, r x ∧ p x"
)
OPEN_PROOFS = 4096
"""Most concurrent verifications of the stub lean-proxy."""


class Part(msgspec.Struct):
    """The configuration of this process."""

    url: str
    run: str
    out: str
    provers: int
    """Number of provers in this process; 0: it is the lean-proxy."""
    seconds: float
    """Mean seconds of an attempt."""
    proved: float
    """Share of the attempts that end with a proof."""
    verify_seconds: float


class Measured(msgspec.Struct):
    """Measurements of the provers of a process, in seconds."""

    dispatch: list[float] = []
    """Times from a request for an attempt until it arrives."""
    store: list[float] = []
    """Times from publishing a result until the broker confirms that it is stored."""
    published: dict[str, float] = {}
    """Unix time of the first publication of each attempt's result."""
    cpu: float = 0.0


class SimulatedProver(Prover):
    """A prover with one search at a time, which only waits."""

    def __init__(self, part: Part, bus: Bus, context: NodeContext, measured: Measured) -> None:
        super().__init__(bus, ProverSettings(policy="tactics", searches=1), context.id, context.report)
        self._part = part
        self._measured = measured
        self._requested = 0.0

    async def _take(self, free: int) -> list[Lease[Attempt]]:
        self._requested = self._requested or time.perf_counter()
        leases = await super()._take(free)
        if leases:
            self._measured.dispatch.append(time.perf_counter() - self._requested)
            self._requested = 0.0
        return leases

    async def _result(self, lease: Lease[Attempt]) -> AttemptResult:
        attempt = lease.message
        rng = random.Random(attempt.seed)
        await asyncio.sleep(rng.uniform(0.5, 1.5) * self._part.seconds)
        proved = rng.random() < self._part.proved
        return AttemptResult(
            attempt_id=attempt.attempt_id,
            theorem_id=attempt.theorem_id,
            purpose=attempt.purpose,
            prover_id=self._id,
            outcome=AttemptOutcome.PROVED if proved else AttemptOutcome.FAILED,
            proof=proof(rng) if proved else None,
            statistics=AttemptStatistics(simulations=8, expansions=9, nodes=30, tactics_tried=60, lean_attempts=60),
        )

    async def _publish(self, client: str, piece: AttemptResult | ResultPart, play: str) -> None:
        self._measured.published.setdefault(piece.attempt_id, time.time())
        began = time.perf_counter()
        await super()._publish(client, piece, play)
        self._measured.store.append(time.perf_counter() - began)


def proof(rng: random.Random) -> ProofTree:
    """A proof of two to six steps, with states of typical length."""
    tree = ProofTree("exact ⟨h₁ x (h₀ x).2, (h₀ x).1⟩", state=STATE)
    for step in range(rng.randrange(1, 6)):
        tree = ProofTree(f"have h{step} := h₀ {rng.randrange(10**6)}", ((0,),), (tree,), f"{STATE}\n-- {step}")
    return tree


async def prove(part: Part, number: int, stopping: asyncio.Event, measured: Measured) -> None:
    """Run one simulated prover: a connection, an entry in the registry, heartbeats, attempts."""
    context = NodeContext("prover", NodeSettings(run=part.run), {"searches": 1})
    context.bus = await Bus.connect(BusSettings(url=part.url), run=part.run, name=f"simulated-{number}", wait=60)
    prover = SimulatedProver(part, context.bus, context, measured)
    context.state = "running"
    background_tasks = [asyncio.create_task(pulse.beat(context)), asyncio.create_task(pulse.stay_registered(context))]
    try:
        await prover.run(stopping)
    finally:
        for task in background_tasks:
            task.cancel()
        await asyncio.gather(*background_tasks, return_exceptions=True)
        await context.bus.unregister(context.id)
        await context.bus.close()


async def accept(part: Part, stopping: asyncio.Event) -> None:
    """Run a lean-proxy that accepts every proof after `verify_seconds`."""
    bus = await Bus.connect(BusSettings(url=part.url), run=part.run, name="stub-lean-proxy", wait=60)

    async def verify(request: LeanVerifyRequest) -> Message:
        await asyncio.sleep(part.verify_seconds)
        return LeanVerifyReply(accepted=True, axioms=("propext",), lean_version="stub", elapsed=part.verify_seconds)

    signer = Signer.of_file(Path(part.out).with_name("verifier.pem"))
    await bus.list_verifiers([signer.public])
    await bus.serve(subjects.LEAN_VERIFY, LeanVerifyRequest, verify, queue="lean", limit=OPEN_PROOFS, signer=signer)
    await stopping.wait()
    await bus.close()


async def live(part: Part) -> None:
    """Run until SIGTERM, then write the measurements."""
    stopping, measured = asyncio.Event(), Measured()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    if part.provers:
        await asyncio.gather(*(prove(part, number, stopping, measured) for number in range(part.provers)))
    else:
        await accept(part, stopping)
    measured.cpu = time.process_time()
    Path(part.out).write_bytes(msgspec.json.encode(measured))


def main() -> int:
    import uvloop

    from common.life import logging

    logging.configure("error")
    part = msgspec.json.decode(sys.argv[1], type=Part)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(live(part))
    return 0


if __name__ == "__main__":
    sys.exit(main())
