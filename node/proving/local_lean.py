"""Runs Lean workers and verification directly from this process, with the lean-proxy's code and without a broker."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.lean import BadStatement, Outcome, OutcomeKind, Step, Theorem
from common.protocol.messages import Busy, Failure, FailureKind, LeanRunReply, LeanRunRequest, LeanVerifyReply
from node.lean.backend import BackendDown, BackendFull, TacticBatch
from node.lean.backends import make_backend
from node.lean.cache import OutcomeCache
from node.lean.check.files.proofs import ProofVerifier
from node.lean.check.verify.verdicts import VerificationFailed
from node.lean.gaps.contexts.making import context_modules
from node.lean.process.protections import Protections
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.text.rules import tactic_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.frames import COPY
from node.lean.worker.options import worker_options
from node.proving.prover import ProvingFailed

SEARCHING_HEARTBEATS = 400_000
"""Lean's `maxHeartbeats` for a library search: twice the default, because a search of all of Mathlib needs that."""


@dataclass
class LocalLean:
    """Runs tactics and verifies proofs. Create it with `local_lean`."""

    requests: Requests
    toolchain: LeanToolchain
    settings: LeanProcessSettings
    verifier: ProofVerifier
    looking: asyncio.Semaphore
    """Limits concurrent library searches. Each occupies a worker for seconds; one worker stays free for searches."""
    preparing: list[asyncio.Task[None]] = field(default_factory=list)

    def environment(
        self, theorem: Theorem, tactic_seconds: float | None = None, *, messages: bool = True
    ) -> LocalEnvironment:
        """The environment of a search. `tactic_seconds`: time limit of one tactic, at most the configured one.
        `messages`: whether failed tactics need Lean's messages."""
        return LocalEnvironment(self.requests, theorem, tactic_seconds or self.settings.tactic_seconds, messages)

    async def suggestion(self, theorem: Theorem, searching: str, seconds: float) -> str:
        """The tactic that a searching tactic such as `exact?` suggests; empty if it finds none that closes the goal.

        Policies may not propose such tactics, because the text rules forbid them. This method bypasses the rules, so
        call it with configured tactics only. Raises BadStatement, ProvingFailed.
        """
        if self.requests.contexts is not None:
            theorem = await self.requests.contexts.shortened(theorem)
        batch = TacticBatch(theorem, (), (f"set_option maxHeartbeats {SEARCHING_HEARTBEATS} in {searching}",), seconds)
        async with self.looking:
            while True:
                try:
                    outcome = (await self.requests.backend.attempt(batch)).outcomes[0]
                except BackendFull as error:
                    await asyncio.sleep(error.retry_after)
                except BackendDown as error:
                    raise ProvingFailed(str(error)) from error
                else:
                    return suggested(outcome.message) if outcome.kind is OutcomeKind.PROVED else ""

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

    async def verify(self, theorem: Theorem, script: Sequence[str]) -> LeanVerifyReply:
        """Lean's verdict on a proof (its lines, the first in column 0), from fresh processes. Raises ProvingFailed."""
        try:
            return await self.verifier.verify(theorem.renamed(), "\n".join(f"  {line}" for line in script))
        except VerificationFailed as error:
            raise ProvingFailed(f"the proof could not be verified: {error}") from error


_TRY_THIS = re.compile(r"Try this:\s*(?:\[apply\]\s*)?(.*?)\s*(?=\n\s*\[apply\]|\nTry this|\Z)", re.DOTALL)


def suggested(message: str) -> str:
    """The first tactic of Lean's `Try this: ...`; empty if the text rules forbid it."""
    match = _TRY_THIS.match(message)
    tactic = textwrap.dedent(match[1]) if match else ""
    # The lemma with which workers copy goals is in scope and matches every goal. Its argument is the real proof.
    if copied := re.fullmatch(rf"exact {COPY} (\(.*\)|\S+) \1", tactic, re.DOTALL):
        tactic = f"exact {copied[1].removeprefix('(').removesuffix(')')}"
    return "" if tactic_problem(tactic) or COPY in tactic else tactic


class LocalEnvironment:
    """`node.prover.agents.environment.Environment` with the lean-proxy's own code in this process."""

    def __init__(self, requests: Requests, theorem: Theorem, tactic_seconds: float, messages: bool = True) -> None:
        """`messages`: whether failed tactics need Lean's messages."""
        self._messages = messages
        self._requests = requests
        self._theorem = theorem
        self._tactic_seconds = tactic_seconds

    async def open(self) -> str:
        """The text of the root state. Raises BadStatement, ProvingFailed."""
        return (await self._ask((), ())).state

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """One outcome for every tactic. Raises ProvingFailed."""
        return dict(zip(tactics, (await self._ask(path, tuple(tactics))).outcomes, strict=True)) if tactics else {}

    async def _ask(self, path: tuple[Step, ...], tactics: tuple[str, ...]) -> LeanRunReply:
        request = LeanRunRequest(self._theorem, path, tactics, self._tactic_seconds, self._messages)
        while True:
            match await self._requests.run(request):
                case LeanRunReply() as reply:
                    return reply
                case Busy() as busy:
                    if self._requests.problem:
                        raise ProvingFailed(self._requests.problem)
                    await asyncio.sleep(busy.retry_after)
                case Failure(kind=FailureKind.BAD_STATEMENT) as failure:
                    raise BadStatement(failure.reason)
                case other:
                    raise ProvingFailed(str(other))


@asynccontextmanager
async def local_lean(settings: LeanProcessSettings, toolchain: LeanToolchain) -> AsyncIterator[LocalLean]:
    """Open Lean for the block. Its processes start on demand."""
    if settings.sandbox and toolchain.protections == Protections():
        toolchain = await toolchain.confined()
    contexts = context_modules(settings, toolchain)
    backend = make_backend(settings, contexts.toolchain, worker_options(settings))
    backend.start()
    requests = Requests(backend, OutcomeCache(settings.cache), settings.tactic_seconds, contexts)
    looking = asyncio.Semaphore(max(1, settings.resolved_workers() - 1))
    lean = LocalLean(requests, toolchain, settings, ProofVerifier(settings, toolchain), looking)
    try:
        yield lean
    finally:
        await asyncio.gather(backend.stop(), lean.stop())
