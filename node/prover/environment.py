"""Lean as the search sees it: open a theorem, run tactics on a state. The work is done by lean-proxies over the bus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from common import subjects
from common.bus import BusError, RemoteFailure
from common.lean import BadStatement, Outcome, OutcomeKind, Step, Theorem
from common.messages import FailureKind, LeanRunReply, LeanRunRequest
from node.prover.asking import Patience

if TYPE_CHECKING:
    from common.bus import Bus

TRANSPORT_SECONDS = 5.0
"""Part of the time after which a request is sent again, perhaps to another proxy: queueing, a worker's restart, the
broker."""

SLOW_TACTICS = 2
"""The other part: this many tactics of a batch may run into their time limit. With more of them the request is sent
again while the proxy still works on it, and finds what is done by then in the proxy's cache."""


class Environment(Protocol):
    """One theorem in Lean."""

    async def open(self) -> str:
        """The text of the theorem's first state. Raises BadStatement, BusError."""

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """One outcome for every tactic, on the state at the end of the path. What infrastructure lost has kind
        `lost`."""


class LeanEnvironment:
    """A theorem in whichever lean-proxy answers: every request carries all that is needed."""

    def __init__(self, bus: Bus, theorem: Theorem, *, tactic_timeout: float, patience: float) -> None:
        """`tactic_timeout`: seconds for one tactic alone; `patience`: seconds of asking before outcomes count as lost,
        time without a broker not counted."""
        self._bus = bus
        self._theorem = theorem
        self._tactic_timeout = tactic_timeout
        self._patience = patience

    async def open(self) -> str:
        """The text of the theorem's first state. Raises BadStatement, BusError."""
        try:
            return (await self._ask((), ())).state
        except RemoteFailure as failure:
            if failure.kind is FailureKind.BAD_STATEMENT:
                raise BadStatement(failure.reason) from failure
            raise

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        """One outcome for every tactic. An answer that cannot be used counts as lost."""
        if not tactics:
            return {}
        try:
            reply = await self._ask(path, tuple(tactics))
        except BusError as error:
            return dict.fromkeys(tactics, Outcome(OutcomeKind.LOST, message=str(error)))
        if len(reply.outcomes) != len(tactics):
            reason = f"{len(reply.outcomes)} outcomes for {len(tactics)} tactics"
            return dict.fromkeys(tactics, Outcome(OutcomeKind.LOST, message=reason))
        return {tactic: checked(outcome) for tactic, outcome in zip(tactics, reply.outcomes, strict=True)}

    async def _ask(self, path: tuple[Step, ...], tactics: tuple[str, ...]) -> LeanRunReply:
        request = LeanRunRequest(theorem=self._theorem, path=path, tactics=tactics, timeout=self._tactic_timeout)
        timeout = TRANSPORT_SECONDS + SLOW_TACTICS * self._tactic_timeout
        return await Patience(self._bus, self._patience).ask(subjects.LEAN_RUN, request, LeanRunReply, timeout=timeout)


def checked(outcome: Outcome) -> Outcome:
    """An outcome as it is, or `lost` when it contradicts itself: goals are left exactly when the kind says so."""
    if (outcome.kind is OutcomeKind.GOALS) == bool(outcome.branches):
        return outcome
    return Outcome(OutcomeKind.LOST, message=f"an outcome of kind {outcome.kind} with {len(outcome.branches)} branches")
