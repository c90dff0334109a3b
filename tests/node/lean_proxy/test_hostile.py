"""Hostile candidates, and workers that are killed at any moment: a real lean-proxy answers all of them, ends healthy,
and leaves nothing behind."""

import asyncio
import contextlib
import random
from collections import Counter

import psutil
import pytest

from common.lean import OutcomeKind, Theorem
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest
from tests.conftest import lean_proxy_process
from tests.waiting import eventually

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")

HONEST = {
    "intro h": OutcomeKind.GOALS,
    "intro h\nexact ⟨h.2, h.1⟩": OutcomeKind.PROVED,
    "exact fun h => ⟨h.2, h.1⟩": OutcomeKind.PROVED,
    "skip": OutcomeKind.GOALS,
    "rfl": OutcomeKind.ERROR,
    "exact h": OutcomeKind.ERROR,
}

LOOPS = ["repeat (have := trivial)", "iterate 60 (have h := And.intro trivial trivial)"]
"""Lean runs it, or its kernel checks it, for ever (or for a while: then it is only slow)."""

BOMB = "have h : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"

FLOODS = [
    'iterate 20000 trace "flood"',
    "intro h\n" + "\n".join("trace_state" for _ in range(500)),
    "exact " + " ".join("nothing_here" for _ in range(600)),
]

DEEP = [
    "exact " + "(" * 2000 + "trivial" + ")" * 2000,
    "exact " + "fun x => " * 700 + "x",
    "constructor <;> " * 400 + "skip",
    "have h : " + "¬" * 2000 + "True := by simp",
]

MEGABYTES = ["exact " + "x" * 300_000, "skip\n" * 20_000]

INFRASTRUCTURE = (OutcomeKind.CRASHED, OutcomeKind.LOST, OutcomeKind.TIMEOUT)

FINE = {kind for kind in OutcomeKind if kind is not OutcomeKind.PROVED}
"""What may become of a hostile candidate."""


def garbage(rng: random.Random) -> str:
    """Text of any characters, as bytes of noise decode to."""
    return rng.randbytes(rng.randrange(1, 200)).decode("latin-1" if rng.random() < 0.5 else "utf-16", errors="replace")


class Soak:
    """Asks a lean-proxy, kills its workers, and counts what comes."""

    def __init__(self, bus, proxy, seed: int, timeout: float = 1.0) -> None:
        self.bus = bus
        self.proxy = psutil.Process(proxy.pid)
        self.rng = random.Random(seed)
        self.timeout = timeout
        self.kinds: Counter[OutcomeKind] = Counter()
        self.disturbed = 0
        self.seen: set[psutil.Process] = set()

    async def ask(self, tactics: list[str]) -> None:
        """One request; its outcomes are what they must be."""
        request = LeanRunRequest(theorem=AND, tactics=tuple(tactics), timeout=self.timeout)
        reply = await self.bus.request_patiently(subjects.LEAN_RUN, request, LeanRunReply, timeout=120, deadline=240)
        assert len(reply.outcomes) == len(tactics)
        for tactic, outcome in zip(tactics, reply.outcomes, strict=True):
            self.kinds[outcome.kind] += 1
            expected = HONEST.get(tactic)
            if expected is None:
                assert outcome.kind in FINE, f"{tactic[:80]!r}: {outcome}"
            elif outcome.kind is not expected:  # a worker that is killed again and again takes innocents along
                self.disturbed += 1
                assert outcome.kind in INFRASTRUCTURE, f"{tactic!r}: {outcome}"

    def workers(self) -> list[psutil.Process]:
        """The proxy's Lean processes."""
        with contextlib.suppress(psutil.NoSuchProcess):
            found = self.proxy.children(recursive=True)
            self.seen.update(found)
            return found
        return []

    def kill_one(self) -> None:
        """Kill a Lean process, whatever it does."""
        workers = self.workers()
        if workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.rng.choice(workers).kill()

    async def ends_healthy(self) -> None:
        """The proxy still proves, with no more workers than it has, and flat memory."""
        for _ in range(2):
            before = self.disturbed
            await self.ask(["intro h\nexact ⟨h.2, h.1⟩", "rfl"])
            assert self.disturbed == before
        assert 1 <= len(self.workers()) <= 2
        assert all(worker.memory_info().rss < 600e6 for worker in self.workers())

    async def leaves_nothing(self) -> None:
        """No Lean process that was ever there is left, once the proxy has gone."""
        self.workers()
        assert self.seen
        await eventually(lambda: not any(map(_lives, self.seen)), timeout=30, what="the end of all Lean processes")


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


FLAGS = ("--memory-mb", "400", "--cache", "1", "--heartbeats", "20000")


async def test_hostile_candidates_and_kills_leave_a_healthy_proxy_and_no_process(bus, broker, run_name):
    async with lean_proxy_process(bus, broker, run_name, *FLAGS) as proxy:
        soak = Soak(bus, proxy, seed=1, timeout=0.5)
        honest = list(HONEST)
        work = [
            soak.ask([*honest, LOOPS[0], *honest]),
            soak.ask([BOMB, *honest]),
            soak.ask([FLOODS[0], *DEEP[:2], *honest]),
            soak.ask([*MEGABYTES, *(garbage(soak.rng) for _ in range(20))]),
        ]
        open_ = [asyncio.create_task(part) for part in work]
        await eventually(lambda: bool(soak.workers()), timeout=60, what="a Lean process")
        soak.kill_one()
        await asyncio.gather(*open_)
        assert soak.kinds[OutcomeKind.PROVED] >= 4 and soak.kinds[OutcomeKind.REFUSED] >= 2
        await soak.ends_healthy()
        proxy.kill()  # as kill -9: it can clean nothing up
        await proxy.wait()
        await soak.leaves_nothing()


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_ten_thousand_attempts_with_five_percent_of_kills(bus, broker, run_name):
    async with lean_proxy_process(bus, broker, run_name, *FLAGS) as proxy:
        soak = Soak(bus, proxy, seed=2)
        rng = soak.rng

        async def one(number: int) -> None:
            tactics = [rng.choice(list(HONEST)) if rng.random() < 0.6 else garbage(rng) for _ in range(10)]
            if number % 25 == 0:
                tactics[rng.randrange(10)] = rng.choice([*LOOPS, BOMB, *FLOODS, *DEEP, *MEGABYTES])
            asked = asyncio.create_task(soak.ask(tactics))
            if rng.random() < 0.5:  # of the requests: one kill for twenty attempts
                await asyncio.sleep(rng.random() * 0.02)  # anywhere in the batch, also before it begins
                soak.kill_one()
            await asked

        for first in range(0, 1000, 4):
            await asyncio.gather(*(one(number) for number in range(first, first + 4)))
        assert sum(soak.kinds.values()) == 10_000
        assert soak.disturbed <= 1_000, soak.kinds
        await soak.ends_healthy()
        proxy.terminate()
        assert await proxy.wait() == 0
        await soak.leaves_nothing()
