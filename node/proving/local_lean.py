"""Lean in this process's own hands: the lean-proxy's workers and verification, without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.lean import BadStatement, Outcome, Step, Theorem
from common.messages import Busy, Failure, FailureKind, LeanRunReply, LeanRunRequest, LeanVerifyReply
from node.lean.backends import make_backend
from node.lean.cache import OutcomeCache
from node.lean.files.proofs import ProofVerifier
from node.lean.process.protections import Protections
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import VerificationFailed
from node.lean.worker.options import worker_options
from node.proving.prover import ProvingFailed


@dataclass
class LocalLean:
    """Runs tactics and verifies proofs. Make it with `local_lean`."""

    requests: Requests
    toolchain: LeanToolchain
    settings: LeanProcessSettings
    verifier: ProofVerifier
    preparing: list[asyncio.Task[None]] = field(default_factory=list)

    def environment(self, theorem: Theorem) -> LocalEnvironment:
        """The theorem, for a search."""
        return LocalEnvironment(self.requests, theorem, self.settings.tactic_seconds)

    def prepare(self, theorem: Theorem) -> None:
        """Begin with the theorem's verification, in a task of its own, while the proof is still being looked for."""
        if theorem.place is None:
            self.preparing.append(asyncio.create_task(self.verifier.statements.prepare(theorem.renamed())))

    async def stop(self) -> None:
        """End what is at work in verifications."""
        for task in self.preparing:
            task.cancel()
        await asyncio.gather(*self.preparing, return_exceptions=True)
        await self.verifier.stop()

    async def verify(self, theorem: Theorem, script: Sequence[str]) -> LeanVerifyReply:
        """Lean's word on a proof (its lines, the first in column 0), from fresh processes. Raises ProvingFailed."""
        try:
            return await self.verifier.verify(theorem.renamed(), "\n".join(f"  {line}" for line in script))
        except VerificationFailed as error:
            raise ProvingFailed(f"the proof could not be verified: {error}") from error


class LocalEnvironment:
    """`node.prover.environment.Environment` with the lean-proxy's own code in this process."""

    def __init__(self, requests: Requests, theorem: Theorem, tactic_seconds: float) -> None:
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
        request = LeanRunRequest(self._theorem, path, tactics, self._tactic_seconds)
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
    """Lean for as long as the block lasts. Its processes start on demand."""
    if settings.sandbox and toolchain.protections == Protections():
        toolchain = await toolchain.confined()
    backend = make_backend(settings, toolchain, worker_options(settings))
    backend.start()
    requests = Requests(backend, OutcomeCache(settings.cache), longest=settings.tactic_seconds)
    lean = LocalLean(requests, toolchain, settings, ProofVerifier(settings, toolchain))
    try:
        yield lean
    finally:
        await asyncio.gather(backend.stop(), lean.stop())
