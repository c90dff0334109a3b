"""Verifies proofs with two files in fresh Lean processes, and a third process for the kernel. Only verified ones count.

    ProofmeshStatement.lean   def ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)
    ProofmeshProof.lean       theorem ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    as data                   theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.t, and its axioms

The file of the statement is compiled once for all its proofs. Only the file of the proof contains untrusted text, so
its compiled file is hostile. No process imports it: a child of ours reads both compiled files, and a process that
has imported only the library gives their declarations and the check to the kernel (`kernel.py`).

There are four more defences:
- the text rules (`node.lean.text.rules`) refuse, among others, options that switch off kernel checks;
- Lean gets exactly the text that the rules have checked: the proof without its comments;
- the proof stands in parentheses, which close behind the tactic block or not at all, so no command can follow it;
- if the system allows it, each process may write only into its own folder, and only the compiled proof is passed on
  from the folder of the proof to the check.

Starting three processes takes most of the time of a check. So waiting proofs are checked in batches (`batch.py`).
Proofs without a clear verdict there are checked alone (`checks.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from common.lean import Theorem
from common.life import timeline
from common.protocol.messages import FailureKind, LeanVerifyReply
from node.lean.check.verify.checks import BatchCheck, Round, SingleCheck, Verdict, VerificationFailed, batchable
from node.lean.check.verify.kernel import FreshLean, ProofJudge
from node.lean.process.fresh import Limits, scratch_folder
from node.lean.text.allowed import theorem_problem
from node.lean.text.lexing import lex
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain

__all__ = ["VerificationFailed", "Verifier"]

BATCH = 100
"""Default for the largest number of proofs in a batch. Larger batches save no time, and a hanging proof delays more,
unless the header takes long."""

CHEAP_HEADER_SECONDS = 1.0
"""A batch may be larger by as much as its header takes longer than this, because each batch imports it three times."""

MOST_TIMES = 5.0
"""Largest such factor."""

BATCH_CHARACTERS = 1_000_000
"""Most characters of the proofs of a batch together: about 30 s of Lean's time."""

_SCRATCH = "proofmesh-verify-"

R = TypeVar("R")


@dataclass(eq=False)
class _Waiting:
    """A proof that waits for its verdict."""

    theorem: Theorem
    script: str
    """The proof without comments."""
    reply: asyncio.Future[LeanVerifyReply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    statement_accepted: bool = False
    """True if Lean accepted its statement in a batch."""
    seconds: float = 0.0
    """Time of its checks so far; of a batch, its share."""
    began: float = 0.0
    """Monotonic time when its first check began; 0: it waits for it."""


class Verifier:
    """Verifies proofs, several in parallel or in batches, in its own scratch folder. Call `stop` at the end."""

    def __init__(
        self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int, batch: int = BATCH
    ) -> None:
        """`at_once`: checks in parallel; `seconds` and `memory_mb`: limits of each process (a batch may take longer
        in total, but not without output). `batch`: most proofs checked together; 1 checks each alone."""
        self._toolchain = toolchain
        self._at_once = at_once
        self._most = batch
        self.folder = scratch_folder(_SCRATCH)
        self._lean = FreshLean(toolchain, Limits(seconds=seconds, memory_mb=memory_mb))
        self._judge = ProofJudge(toolchain, self._lean.limits, self.folder)
        self.single = SingleCheck(self._lean, self._judge, self.folder)
        self.batches = BatchCheck(self._lean, self._judge, self.folder)
        self._new: deque[_Waiting] = deque()
        self._apart: deque[list[_Waiting]] = deque()
        """Parts of batches that were split: smaller batches first, then proofs to check alone."""
        self._workers: set[asyncio.Task[None]] = set()
        self.on_checked: Callable[[int, int, float], None] = lambda proofs, settled, seconds: None
        """Called after each check with the number of its proofs, the number of verdicts, and the seconds it took."""

    @property
    def limits(self) -> Limits:
        """Limits of a process that works on a single proof."""
        return self._lean.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._lean.limits = limits

    @property
    def waiting(self) -> int:
        """Number of proofs whose check has not begun."""
        return len(self._new) + sum(map(len, self._apart))

    async def stop(self) -> None:
        """Cancel running checks, wait until they have ended, and remove the scratch folder."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(self.single.close(), *self._workers, return_exceptions=True)
        await self._judge.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Check that `script`, a tactic block, proves the theorem. Proofs that wait at the same time share a batch.

        Raises VerificationFailed.
        """
        problem = header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion)
        if problem := problem or theorem_problem(theorem):
            raise VerificationFailed(problem, FailureKind.BAD_STATEMENT)
        if problem := proof_problem(script, theorem.rule):
            return LeanVerifyReply(accepted=False, reason=problem)  # no Lean has seen it
        waiting = _Waiting(theorem, lex(script).bare)
        self._new.append(waiting)
        self._start_worker()
        try:
            return await waiting.reply
        finally:
            timeline.ran(time.monotonic() - waiting.began if waiting.began else 0.0)

    async def prepare(self, theorem: Theorem) -> None:
        """Compile the theorem's statement ahead, while the search for its proof still runs.

        Errors are ignored here: the verification meets them again and reports them.
        """
        if header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion):
            return
        with contextlib.suppress(VerificationFailed):
            await self.single.prepare(theorem)

    async def verify_many(self, proofs: Sequence[tuple[Theorem, str]]) -> list[LeanVerifyReply | VerificationFailed]:
        """The result of `verify` for each proof, in order; VerificationFailed in place of a reply if it was raised."""
        return await asyncio.gather(*(self._verified(theorem, script) for theorem, script in proofs))

    async def _verified(self, theorem: Theorem, script: str) -> LeanVerifyReply | VerificationFailed:
        try:
            return await self.verify(theorem, script)
        except VerificationFailed as failure:
            return failure

    def _start_worker(self) -> None:
        """Start a worker if fewer than `at_once` run. It begins when the calling task waits, so that requests sent
        together are in one batch."""
        if len(self._workers) < self._at_once:
            worker = asyncio.create_task(self._work(), name="verifications", context=timeline.unbound())
            self._workers.add(worker)
            # A worker that is cancelled before it begins never reaches the end of `_work`.
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        """Check waiting proofs until none is left."""
        worker = asyncio.current_task()
        assert worker is not None
        while group := self._take():
            try:
                await self._check_group(group)
            except asyncio.CancelledError:
                for waiting in group:
                    waiting.reply.cancel()
                raise
            except Exception as error:  # the callers of `verify` get it
                for waiting in group:
                    if not waiting.reply.done():
                        waiting.reply.set_exception(error)
        # Not left to the done callback: a caller that gets its reply now may send the next proof before that runs.
        self._workers.discard(worker)

    def _take(self) -> list[_Waiting]:
        """The next proofs to check together: part of a split batch, or new proofs with one header; [] if none wait."""
        while self._apart:
            if group := [waiting for waiting in self._apart.popleft() if not waiting.reply.done()]:
                return group
        group, postponed, characters = [], [], 0
        most = self._most_together()
        while self._new and len(group) < most:
            waiting = self._new.popleft()
            if waiting.reply.done():  # its caller was cancelled
                continue
            characters += len(waiting.script)
            if not group or (characters <= BATCH_CHARACTERS and self._fit(group[0].theorem, waiting.theorem)):
                group.append(waiting)
            else:
                postponed.append(waiting)
        self._new.extendleft(reversed(postponed))
        return group

    def _most_together(self) -> int:
        """Most proofs in the next batch."""
        times = min(MOST_TIMES, max(1.0, self.batches.header_seconds / CHEAP_HEADER_SECONDS))
        return int(self._most * times) if self._most > 1 else 1

    def _fit(self, one: Theorem, other: Theorem) -> bool:
        """True if proofs of the two theorems can be checked together."""
        return one.header == other.header and batchable(self._toolchain.header(one.header))

    async def _check_group(self, group: list[_Waiting]) -> None:
        """Check proofs together, or one alone. Proofs without a verdict wait again in smaller groups."""
        started = time.monotonic()
        for waiting in group:
            waiting.began = waiting.began or started
        result = await _unless_abandoned(self._round(group), group)
        if result is None:
            return
        seconds = time.monotonic() - started
        for waiting in group:
            waiting.seconds += seconds / len(group)
        for number, verdict in result.verdicts.items():
            if not group[number].reply.done():
                group[number].reply.set_result(self._reply(verdict, group[number].seconds))
        for number in result.statements_accepted:
            group[number].statement_accepted = True
        self._put_back([[group[number] for number in numbers] for numbers in result.retries])
        self.on_checked(len(group), len(result.verdicts), seconds)

    async def _round(self, group: Sequence[_Waiting]) -> Round:
        """One check. Raises VerificationFailed."""
        if len(group) == 1:
            (waiting,) = group
            verdict = await self.single.check(
                waiting.theorem, waiting.script, statement_accepted=waiting.statement_accepted
            )
            return Round({0: verdict})
        return await self.batches.check([(waiting.theorem, waiting.script) for waiting in group])

    def _put_back(self, groups: list[list[_Waiting]]) -> None:
        """Queue groups for another check. Smaller batches go before single proofs, so that a hanging proof delays the
        other proofs of its batch least."""
        self._apart.extendleft(reversed([group for group in groups if len(group) > 1]))
        self._apart.extend(group for group in groups if len(group) == 1)
        for _ in groups:
            self._start_worker()

    def _reply(self, verdict: Verdict, seconds: float) -> LeanVerifyReply:
        return LeanVerifyReply(
            accepted=not verdict.reason,
            reason=verdict.reason,
            axioms=verdict.axioms,
            lean_version=self._toolchain.version,
            elapsed=seconds,
            rechecked=verdict.rechecked,
        )


async def _unless_abandoned(check: Coroutine[Any, Any, R], group: Sequence[_Waiting]) -> R | None:
    """The result of a check. If all its callers are cancelled, the check is cancelled and the result is None."""
    working = asyncio.create_task(check)
    abandoned = asyncio.create_task(_wait_for_all(group))
    try:
        await asyncio.wait({working, abandoned}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        abandoned.cancel()
        await asyncio.gather(working, abandoned, return_exceptions=True)


async def _wait_for_all(group: Sequence[_Waiting]) -> None:
    await asyncio.wait([waiting.reply for waiting in group])
