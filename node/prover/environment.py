"""A theorem in Lean: opens it, runs tactics on its states, verifies its proofs. Each is a request that any lean-proxy,
or Lean in this process, can answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from common.bus import BusError, BusyError, RemoteFailure
from common.lean import BadStatement, Outcome, OutcomeKind, ProofTree, Step, Theorem
from common.life import timeline
from common.limits import LONGEST, MOST_CANDIDATES
from common.protocol import subjects
from common.protocol.messages import (
    FailureKind,
    LeanRunReply,
    LeanRunRequest,
    LeanVerifyReply,
    LeanVerifyRequest,
    OversizedMessage,
)
from node.lean.text.rules import proof_problem
from node.lean.text.script import proof_script

if TYPE_CHECKING:
    from common.bus import Asking

TRANSPORT_SECONDS = 5.0
"""First part of the timeout before a request is sent again, perhaps to another proxy: time for the queue, a worker's
restart and the broker."""

SLOW_TACTICS = 2
"""Second part: this many tactics of a batch may reach their time limit. With more slow tactics the request is sent
again while the proxy still works on it, and the outcomes so far are hits in the proxy's cache."""

UNKNOWN_SECONDS = 10.0
"""Time limit that is assumed for a tactic until a lean-proxy has said its own."""


class LeanEnvironment:
    """A theorem in Lean, here or on a mesh. Requests are self-contained, so any lean-proxy can answer."""

    def __init__(
        self, asking: Asking, theorem: Theorem, *, tactic_timeout: float, patience: float, messages: bool = True
    ) -> None:
        """`tactic_timeout`: seconds for a single tactic, 0: as long as the lean-proxy lets it run. `patience`: seconds
        of retries before outcomes count as lost, without broker outages. `messages`: whether failed tactics need Lean's
        messages."""
        self._asking = asking
        self._theorem = theorem
        self._tactic_timeout = tactic_timeout or LONGEST
        self._longest = UNKNOWN_SECONDS
        """Seconds that the lean-proxies let a tactic run, as far as known."""
        self._holder = ""
        """The lean-proxy that has kept states of the theorem; empty: none."""
        self._patience = patience
        self._messages = messages

    async def open(self) -> str:
        """The text of the theorem's first state. Raises BadStatement, BusError."""
        try:
            return (await self._ask((), ())).state
        except RemoteFailure as failure:
            if failure.kind is FailureKind.BAD_STATEMENT:
                raise BadStatement(failure.reason) from failure
            raise

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """Run tactics on the state at the end of the path: one outcome for every tactic. Those of a request are lost if
        there is no usable reply."""
        outcomes: dict[str, Outcome] = {}
        for start in range(0, len(tactics), MOST_CANDIDATES):
            outcomes |= await self._outcomes(path, tactics[start : start + MOST_CANDIDATES])
        return outcomes

    async def _outcomes(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """`run` with one request."""
        try:
            reply = await self._ask(path, tuple(tactics))
        except BusError as error:
            return dict.fromkeys(tactics, Outcome(OutcomeKind.LOST, message=str(error)))
        if len(reply.outcomes) != len(tactics):
            reason = f"{len(reply.outcomes)} outcomes for {len(tactics)} tactics"
            return dict.fromkeys(tactics, Outcome(OutcomeKind.LOST, message=reason))
        return {tactic: checked(outcome) for tactic, outcome in zip(tactics, reply.outcomes, strict=True)}

    async def _ask(self, path: tuple[Step, ...], tactics: tuple[str, ...]) -> LeanRunReply:
        request = LeanRunRequest(self._theorem, path, tactics, self._tactic_timeout, self._messages)
        timeout = TRANSPORT_SECONDS + SLOW_TACTICS * min(self._tactic_timeout, self._longest)
        with timeline.doing("lean"):
            reply = await self._held(request, timeout) or await self._asking.ask(
                subjects.LEAN_RUN, request, LeanRunReply, timeout=timeout, patience=self._patience
            )
        self._longest = reply.longest or UNKNOWN_SECONDS
        self._holder = reply.holder or self._holder
        return reply

    async def _held(self, request: LeanRunRequest, timeout: float) -> LeanRunReply | None:
        """The reply of the lean-proxy that has kept states of the theorem; None if there is none, or others may answer
        sooner. One that has gone, or cannot answer, is not asked again."""
        if not self._holder:
            return None
        holder, timeout = self._holder, min(timeout, self._patience)  # its `longest` may be anything
        try:
            return await self._asking.request(subjects.lean_run_at(holder), request, LeanRunReply, timeout=timeout)
        except BusyError:
            return None
        except BusError:
            if self._holder == holder:
                self._holder = ""
            return None


def checked(outcome: Outcome) -> Outcome:
    """The outcome, or `lost` if it contradicts itself: it must have branches exactly if its kind is `goals`."""
    if (outcome.kind is OutcomeKind.GOALS) == bool(outcome.branches):
        return outcome
    return Outcome(OutcomeKind.LOST, message=f"an outcome of kind {outcome.kind} with {len(outcome.branches)} branches")


class Verification:
    """Final verification of proofs of one theorem, in fresh Lean processes. It is `Verify` of an attempt."""

    def __init__(self, asking: Asking, theorem: Theorem, *, timeout: float, patience: float) -> None:
        """`timeout`: seconds before a request is sent again. `patience`: seconds to wait for each verdict, without
        broker outages."""
        self._asking = asking
        self._theorem = theorem.renamed()
        self._timeout = timeout
        self._patience = patience

    async def __call__(self, proof: ProofTree) -> str:
        """The reason why a proof is refused; empty if it is accepted. Raises BusError if there is no verdict."""
        reply = await self.verdict(proof)
        return "" if reply.accepted else reply.reason or "no reason was given"

    async def verdict(self, proof: ProofTree | str) -> LeanVerifyReply:
        """Lean's verdict on a proof, or on a script (an indented block of tactics). A proof that cannot be written as a
        script, a script that is too large to send, and a bad statement are refused.

        Raises BusError if there is no verdict.
        """
        try:
            script = proof if isinstance(proof, str) else proof_script(proof)
        except ValueError as error:
            return LeanVerifyReply(accepted=False, reason=f"the proof cannot be written down: {error}")
        # Here, too: a lean-proxy of an older version does not know rules.
        if self._theorem.rule is not None and (problem := proof_problem(script, self._theorem.rule)):
            return LeanVerifyReply(accepted=False, reason=problem)
        request = LeanVerifyRequest(theorem=self._theorem, script=script)
        try:
            with timeline.doing("verify"):
                return await self._asking.ask(
                    subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=self._timeout, patience=self._patience
                )
        except OversizedMessage as error:
            return LeanVerifyReply(accepted=False, reason=f"the proof is too large to be verified: {error}")
        except RemoteFailure as failure:
            if failure.kind is not FailureKind.BAD_STATEMENT:
                raise
            return LeanVerifyReply(accepted=False, reason=f"{failure.kind}: {failure.reason}")
