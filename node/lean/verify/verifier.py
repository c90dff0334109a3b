"""The check that alone makes a proof count: three files in fresh Lean processes.

    ProofmeshStatement.lean   def ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)
    ProofmeshProof.lean       theorem ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    ProofmeshCheck.lean       theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.t, and its axioms

The statement's file is ours, and is compiled once for all proofs of it. The proof's file is the only one with foreign
text. The check's file imports both, so no text of the proof can change the statement that is checked. Where the
toolchain has a `leanchecker`, it has the kernel check the compiled proof once more.

Around this stand four other defences:
- the text rules (`node.lean.text.rules`): some options would switch the kernel's check of the proof's file off;
- Lean gets the text that the rules have read: the proof without its comments;
- the proof stands in parentheses, which close behind the tactic block or not at all: no command can follow it;
- each process may write into a folder of its own only, where the system allows that, and nothing but the compiled
  proof is passed on from the proof's folder to the check.

Starting three processes takes most of a check's time. So proofs that wait are checked in batches (`batch.py`); what has
no clear verdict there is checked alone (`single.py`).
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
from common.messages import FailureKind, LeanVerifyReply
from node.lean.process.fresh import Limits, OutOfLimits
from node.lean.process.scratch import scratch_folder
from node.lean.text.lexing import lex
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.batch import BatchCheck, Round, batchable
from node.lean.verify.fresh_lean import FreshLean
from node.lean.verify.recheck import Rechecker
from node.lean.verify.single import SingleCheck
from node.lean.verify.verdicts import Verdict, VerificationFailed

__all__ = ["VerificationFailed", "Verifier"]

BATCH = 100
"""Proofs checked together at most, unless told otherwise: more save nothing, and a hanging one delays more."""

BATCH_CHARACTERS = 1_000_000
"""Of the proofs of a batch, together: about 30 s of Lean's time."""

_SCRATCH = "proofmesh-verify-"

R = TypeVar("R")


@dataclass(eq=False)
class _Waiting:
    """A proof on its way to its verdict."""

    theorem: Theorem
    script: str
    """Without comments."""
    reply: asyncio.Future[LeanVerifyReply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    known: bool = False
    """Whether Lean has taken its statement, in a batch."""
    seconds: float = 0.0
    """Of checking so far; its share, where it was one of a batch."""


class Verifier:
    """Checks proofs, a few at once or in batches, in a scratch folder of its own. `stop` it in the end."""

    def __init__(
        self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int, batch: int = BATCH
    ) -> None:
        """`at_once`: checks side by side; `seconds` and `memory_mb`: limits of each process (a batch's may take longer
        in all, and less without an answer). `batch`: proofs checked together at most; 1 checks each alone."""
        self._toolchain = toolchain
        self._at_once = at_once
        self._most = batch
        self.folder = scratch_folder(_SCRATCH)
        self._lean = FreshLean(toolchain, Limits(seconds=seconds, memory_mb=memory_mb))
        self._rechecker = Rechecker(toolchain, self._lean.limits, self.folder)
        self.single = SingleCheck(self._lean, self._rechecker, self.folder)
        self.batches = BatchCheck(self._lean, self._rechecker, self.folder)
        self._version = ""
        self._preparing = asyncio.Lock()
        self._new: deque[_Waiting] = deque()
        self._apart: deque[list[_Waiting]] = deque()
        """Of batches that fell apart: smaller batches first, then proofs to be checked alone."""
        self._workers: set[asyncio.Task[None]] = set()
        self.on_checked: Callable[[int, int, float], None] = lambda proofs, settled, seconds: None
        """Called after each check with the number of its proofs, how many of them have their verdict now, and its
        seconds."""

    @property
    def limits(self) -> Limits:
        """Limits of a process that works on a single proof."""
        return self._lean.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._lean.limits = limits

    @property
    def waiting(self) -> int:
        """Proofs that no check has begun with."""
        return len(self._new) + sum(map(len, self._apart))

    async def stop(self) -> None:
        """End what is at work, wait for its end, and remove the scratch folder."""
        workers = [*self._workers]
        self.close()
        await asyncio.gather(*workers, return_exceptions=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """End what is at work, without waiting for that, and remove the scratch folder."""
        for worker in self._workers:
            worker.cancel()
        self.single.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Whether `script`, a tactic block, proves the theorem. Proofs that wait at the same time are checked together.

        Raises VerificationFailed.
        """
        problem = header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            raise VerificationFailed(problem, FailureKind.BAD_STATEMENT)
        if problem := proof_problem(script):
            return self._reply(Verdict(problem), 0.0)
        waiting = _Waiting(theorem, lex(script).bare)
        self._new.append(waiting)
        self._start_worker()
        return await waiting.reply

    async def prepare(self, theorem: Theorem) -> None:
        """Do what a verification of this theorem begins with, while its proof is still being looked for.

        What fails is not told: the verification will find it again.
        """
        if header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion):
            return
        with contextlib.suppress(VerificationFailed):
            await self._prepare()
            await self.single.prepare(theorem)

    async def verify_many(self, proofs: Sequence[tuple[Theorem, str]]) -> list[LeanVerifyReply | VerificationFailed]:
        """What `verify` says of each, in order; where it would raise VerificationFailed, that."""
        return await asyncio.gather(*(self._verified(theorem, script) for theorem, script in proofs))

    async def _verified(self, theorem: Theorem, script: str) -> LeanVerifyReply | VerificationFailed:
        try:
            return await self.verify(theorem, script)
        except VerificationFailed as failure:
            return failure

    def _start_worker(self) -> None:
        """One worker more, if there is room. It begins when this task waits, so that what is asked for in one go is in
        one batch."""
        if len(self._workers) < self._at_once:
            worker = asyncio.create_task(self._work(), name="verifications")
            self._workers.add(worker)
            # Cancelled before it begins, it cannot do this itself.
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        """Take what waits, until nothing does."""
        worker = asyncio.current_task()
        assert worker is not None
        while group := self._take():
            try:
                await self._prepare()
                await self._check_group(group)
            except asyncio.CancelledError:
                for waiting in group:
                    waiting.reply.cancel()
                raise
            except Exception as error:  # whoever asked is told
                for waiting in group:
                    if not waiting.reply.done():
                        waiting.reply.set_exception(error)
        # At once, not when the loop comes to it: who is answered now may ask for more before that.
        self._workers.discard(worker)

    def _take(self) -> list[_Waiting]:
        """The next proofs to check together: what a batch left, or new ones with one header. Empty: nothing waits."""
        while self._apart:
            if group := [waiting for waiting in self._apart.popleft() if not waiting.reply.done()]:
                return group
        group, others, characters = [], [], 0
        while self._new and len(group) < self._most:
            waiting = self._new.popleft()
            if waiting.reply.done():  # whoever asked has gone
                continue
            characters += len(waiting.script)
            if not group or (characters <= BATCH_CHARACTERS and self._fit(group[0].theorem, waiting.theorem)):
                group.append(waiting)
            else:
                others.append(waiting)
        self._new.extendleft(reversed(others))
        return group

    def _fit(self, one: Theorem, other: Theorem) -> bool:
        """Whether proofs of two theorems can be checked together."""
        same = one.header == other.header and self.batches.possible
        return same and batchable(self._toolchain.header(one.header))

    async def _prepare(self) -> None:
        """Ask Lean once what it is. Raises VerificationFailed."""
        async with self._preparing:
            if self._version:
                return
            try:
                version = self._toolchain.version or await self._lean.version(self.folder)
                await self._rechecker.find()
            except OutOfLimits as error:
                raise VerificationFailed(f"Lean does not say its version: {error}") from error
            self._version = version

    async def _check_group(self, group: list[_Waiting]) -> None:
        """Check proofs together, or one alone; those without a verdict wait again, in smaller groups."""
        started = time.monotonic()
        result = await _unless_abandoned(self._round(group), group)
        if result is None:
            return
        seconds = time.monotonic() - started
        for waiting in group:
            waiting.seconds += seconds / len(group)
        for number, verdict in result.verdicts.items():
            if not group[number].reply.done():
                group[number].reply.set_result(self._reply(verdict, group[number].seconds))
        for number in result.known:
            group[number].known = True
        self._put_back([[group[number] for number in numbers] for numbers in result.again])
        self.on_checked(len(group), len(result.verdicts), seconds)

    async def _round(self, group: Sequence[_Waiting]) -> Round:
        """One check. Raises VerificationFailed."""
        if len(group) == 1:
            (waiting,) = group
            return Round({0: await self.single.check(waiting.theorem, waiting.script, known=waiting.known)})
        return await self.batches.check([(waiting.theorem, waiting.script) for waiting in group])

    def _put_back(self, groups: list[list[_Waiting]]) -> None:
        """Smaller batches go before proofs to be checked alone: a proof that hangs keeps its neighbours least."""
        self._apart.extendleft(reversed([group for group in groups if len(group) > 1]))
        self._apart.extend(group for group in groups if len(group) == 1)
        for _ in groups:
            self._start_worker()

    def _reply(self, verdict: Verdict, seconds: float) -> LeanVerifyReply:
        return LeanVerifyReply(
            accepted=not verdict.reason,
            reason=verdict.reason,
            axioms=verdict.axioms,
            lean_version=self._version,
            elapsed=seconds,
            rechecked=verdict.rechecked,
        )


async def _unless_abandoned(check: Coroutine[Any, Any, R], group: Sequence[_Waiting]) -> R | None:
    """The result of a check; None when nobody waits for it any more: then it is ended."""
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
