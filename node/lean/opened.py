"""Lean in this process: runs tactics and verifies proofs for `Here`, with the code that a lean-proxy serves on the bus.

async with open_lean(settings, toolchain) as lean:
    lean.serve(here)
"""

from __future__ import annotations

import asyncio
import re
import shlex
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.bus import Here, Unanswered
from common.lean import OutcomeKind, TacticRule, Theorem
from common.machine import read_machine
from common.protocol import subjects
from common.protocol.messages import Busy, LeanRunRequest, Message
from node.lean.backend import Backend, BackendDown, BackendFull, OutcomeCache, TacticBatch
from node.lean.check.files.proofs import ProofVerifier
from node.lean.gaps.contexts import context_modules
from node.lean.process.protections import Protections
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.text.rules import tactic_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import COPY
from node.lean.worker.process import WorkerOptions, worker_options

SEARCHING_HEARTBEATS = 400_000
"""Lean's `maxHeartbeats` for a library search: twice the default, because a search of all of Mathlib needs that."""


def make_requests(settings: LeanProcessSettings, toolchain: LeanToolchain) -> Requests:
    """The configured backend with a cache, which answers `lean.run`. The caller starts the backend."""
    contexts = context_modules(settings, toolchain)
    backend = make_backend(settings, contexts.toolchain, worker_options(settings))
    return Requests(backend, OutcomeCache(settings.cache), settings.resolved_tactic_seconds(), contexts)


@asynccontextmanager
async def open_lean(settings: LeanProcessSettings, toolchain: LeanToolchain) -> AsyncIterator[OpenedLean]:
    """Open Lean for the block. Its processes start on demand."""
    if settings.sandbox and toolchain.protections == Protections():
        toolchain = await toolchain.confined()
    requests = make_requests(settings, toolchain)
    requests.backend.start()
    # One worker stays free for searches.
    searching = asyncio.Semaphore(max(1, settings.resolved_workers() - 1))
    lean = OpenedLean(requests, toolchain, settings, ProofVerifier(settings, toolchain), searching)
    try:
        yield lean
    finally:
        await asyncio.gather(requests.backend.stop(), lean.stop())


@dataclass
class OpenedLean:
    """Lean workers and verification. Create it with `open_lean`."""

    requests: Requests
    toolchain: LeanToolchain
    settings: LeanProcessSettings
    verifier: ProofVerifier
    searching: asyncio.Semaphore
    """Limits concurrent library searches, each of which occupies a worker for seconds."""
    preparing: list[asyncio.Task[None]] = field(default_factory=list)

    def serve(self, here: Here) -> None:
        """Answer `lean.run` and `lean.verify` in this process."""
        here.serve(subjects.LEAN_RUN, self._run)
        here.serve(subjects.LEAN_VERIFY, self.verifier.answer)

    async def _run(self, request: LeanRunRequest) -> Message:
        """Raises Unanswered if Lean does not start: no other process can answer."""
        reply = await self.requests.run(request)
        if isinstance(reply, Busy) and self.requests.problem:
            raise Unanswered(self.requests.problem)
        return reply

    async def suggestion(self, theorem: Theorem, searching: str, seconds: float) -> str:
        """The tactic that a searching tactic such as `exact?` suggests; empty if it finds none that closes the goal.

        Policies may not propose such tactics, because the text rules forbid them. This method bypasses the rules, so
        call it with configured tactics only. Raises BadStatement, Unanswered.
        """
        if self.requests.contexts is not None:
            theorem = await self.requests.contexts.shortened(theorem)
        batch = TacticBatch(theorem, (), (f"set_option maxHeartbeats {SEARCHING_HEARTBEATS} in {searching}",), seconds)
        async with self.searching:
            while True:
                try:
                    outcome = (await self.requests.backend.attempt(batch)).outcomes[0]
                except BackendFull as error:
                    await asyncio.sleep(error.retry_after)
                except BackendDown as error:
                    raise Unanswered(str(error)) from error
                else:
                    return suggested(outcome.message, theorem.rule) if outcome.kind is OutcomeKind.PROVED else ""

    def prepare(self, theorem: Theorem) -> None:
        """Start to prepare the theorem's verification in a background task, while the search runs."""
        if theorem.place is None:
            self.preparing.append(asyncio.create_task(self.verifier.statements.prepare(theorem.renamed())))

    async def stop(self) -> None:
        """Cancel all verifications."""
        for task in self.preparing:
            task.cancel()
        await asyncio.gather(*self.preparing, return_exceptions=True)
        await self.verifier.stop()


_TRY_THIS = re.compile(r"Try this:\s*(?:\[apply\]\s*)?(.*?)\s*(?=\n\s*\[apply\]|\nTry this|\Z)", re.DOTALL)


def suggested(message: str, rule: TacticRule | None = None) -> str:
    """The first tactic of Lean's `Try this: ...`; empty if the text rules, or the theorem's own rule, forbid it."""
    match = _TRY_THIS.match(message)
    tactic = textwrap.dedent(match[1]) if match else ""
    # The lemma with which workers copy goals is in scope and matches every goal. Its argument is the real proof.
    if copied := re.fullmatch(rf"exact {COPY} (\(.*\)|\S+) \1", tactic, re.DOTALL):
        tactic = f"exact {copied[1].removeprefix('(').removesuffix(')')}"
    return "" if tactic_problem(tactic, rule) or COPY in tactic else tactic


# --- makes the Lean backend that the configuration names --------------------------------------------------------------


def make_backend(settings: LeanProcessSettings, toolchain: LeanToolchain, options: WorkerOptions) -> Backend:
    """The backend for these settings; the caller starts it."""
    workers = settings.resolved_workers()
    queue = workers * settings.queue
    if settings.lean.backend == "repl":
        from node.lean.adapters.repl.backend import ReplBackend

        return ReplBackend(toolchain, tuple(shlex.split(settings.lean.repl_command)), options, workers, queue)
    if settings.lean.backend == "leantree":
        from node.lean.adapters.leantree.backend import LeanTreeBackend

        return LeanTreeBackend(settings.lean.leantree_url, workers, queue, toolchain.default_header)
    from node.lean.worker.pool import Pool

    fixed = settings.workers > 0
    return Pool(toolchain, options, workers=workers, queue=queue, machine=read_machine(), fixed=fixed)
