"""`proofmesh prove STATEMENT`: one theorem, from its text to a proof that Lean accepts.

Without `--url` it starts a mesh of its own (broker, lean-proxy, prover, and inference when there is a model) and ends
it afterwards; with `--url` it hands the theorem to the provers of a running mesh. Exit code: 0 proved (the theorem
with its proof is on standard output), 1 not proved within the budget, 2 not a statement that Lean accepts, or no Lean
as configured, 3 the mesh failed.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import tyro

from common.config import check_flags, config_file, load_lean
from common.lean import Theorem
from common.lean_settings import LeanSettings
from common.limits import Positive, Timeout
from common.sampling import SAMPLES
from common.waiting import wait_first
from node.lean.text.statement import StatementError, parse_statement
from node.mesh.private import MeshProblem, private_mesh

if TYPE_CHECKING:
    from common.bus import Bus
    from common.messages import AttemptResult, LeanVerifyReply

PROVED, NOT_PROVED, BAD_STATEMENT, MESH_FAILED = 0, 1, 2, 3

R = TypeVar("R")

CONNECT_SECONDS = 3.0
"""Patience with a broker that was named on the command line."""

OPEN_SECONDS = 60.0
"""Patience with the mesh's start, beyond what Lean may take for the header."""

VERIFY_SECONDS = 60.0
"""Patience with the verification: three files in fresh processes take about 0.4 s, a busy proxy longer."""


@dataclass
class ProveSettings:
    """Prove one theorem."""

    statement: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STATEMENT")]
    """The theorem, such as 'theorem t (p q : Prop) : p ∧ q → q ∧ p'."""

    simulations: Positive = 400
    """Search budget: expansions of proof states."""

    samples: Positive = SAMPLES
    """Tactics that a model samples per expansion."""

    seconds: Timeout = 60.0
    """Time budget."""

    checkpoint: str = ""
    """A weights file or a checkpoint folder; empty takes the newest of runs/demo, or else a fixed list of tactics."""

    fixed: bool = False
    """Use the fixed list of tactics, even if there is a model."""

    url: str = ""
    """Broker of a running mesh; empty starts a private one."""

    run: str = "demo"
    """Name of that mesh's run."""

    json: bool = False
    """Print one JSON object in place of the proof's text."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header; section [lean] of --config. A running mesh (--url) has its own."""

    config: Path | None = None
    """A TOML file with a section [lean]; flags win over it."""


class NotAStatement(ValueError):
    """Lean, or our reading of the text, refuses the statement."""


@dataclass(frozen=True)
class ProofAnswer:
    """What is printed."""

    outcome: str
    """`proved` or `failed`."""
    lean: str
    """The theorem with its proof; empty if there is none."""
    reason: str
    simulations: int
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code. Raises ConfigError."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    file = config_file(arguments)
    default = ProveSettings(statement=tyro.MISSING, lean=load_lean(file), config=file)
    settings = tyro.cli(ProveSettings, args=arguments, default=default, prog="proofmesh prove", description=__doc__)
    check_flags(settings)
    return run(settings)


def run(settings: ProveSettings) -> int:
    """Prove, print, return the exit code."""
    from broker.errors import BrokerError
    from common import logging
    from common.bus import BusError
    from node.lean.toolchain.find import find
    from node.lean.toolchain.problems import LeanProblem
    from node.mesh.restarts import USAGE_ERROR
    from node.mesh.supervisor import ChildFailed

    logging.configure("error")  # what fails is said by the exceptions below
    try:
        theorem = parse_statement(settings.statement)
        if settings.lean != LeanSettings() and not settings.url:
            find(settings.lean)  # here, where what is wrong can be said in a line; the lean-proxy does it again
        answer = asyncio.run(prove(theorem, settings))
    except (StatementError, NotAStatement, LeanProblem) as error:
        print(f"proofmesh prove: {error}", file=sys.stderr)
        return BAD_STATEMENT
    except (BrokerError, BusError, ChildFailed, MeshProblem) as error:
        print(f"proofmesh prove: {error}", file=sys.stderr)
        return BAD_STATEMENT if isinstance(error, ChildFailed) and error.code == USAGE_ERROR else MESH_FAILED
    show(answer, settings)
    return PROVED if answer.outcome == "proved" else NOT_PROVED


def show(answer: ProofAnswer, settings: ProveSettings) -> None:
    """The proof to standard output, what else there is to say to standard error."""
    if settings.json:
        print(json.dumps(vars(answer), ensure_ascii=False))
    elif answer.outcome == "proved":
        print(answer.lean)
    note(f"{answer.outcome}: {answer.reason} ({answer.simulations} simulations, {answer.seconds:.1f} s)")


def note(text: str) -> None:
    """Progress, for the person who waits."""
    print(text, file=sys.stderr, flush=True)


async def prove(theorem: Theorem, settings: ProveSettings) -> ProofAnswer:
    """Search and verify. Raises NotAStatement, MeshProblem, BusError, BrokerError, ChildFailed."""
    from common.messages import AttemptOutcome, AttemptResult
    from node.lean.text.script import proof_script

    start = time.monotonic()
    async with mesh_for(settings) as (bus, failure):
        if not settings.url:
            await unless(failure, opened(bus, theorem, settings))
            start = time.monotonic()
        note(f"searching for a proof of {theorem.signature}")
        result = await unless(failure, search(bus, theorem, settings))
        simulations = result.statistics.simulations if isinstance(result, AttemptResult) else 0

        def answer(outcome: str, reason: str, lean: str = "") -> ProofAnswer:
            return ProofAnswer(outcome, lean, reason, simulations, round(time.monotonic() - start, 2))

        if result is None:
            return answer("failed", f"no proof within {settings.seconds:g} s")
        if result.outcome is AttemptOutcome.BAD_STATEMENT:
            raise NotAStatement(result.message)
        if result.outcome in (AttemptOutcome.ERROR, AttemptOutcome.POISONED):
            raise MeshProblem(f"the search was cut short: {result.message}")
        if result.outcome is not AttemptOutcome.PROVED or result.proof is None:
            return answer("failed", f"no proof found: {result.message}")
        try:
            script = proof_script(result.proof)
            verdict = await unless(failure, verify(bus, theorem, script))
        except ValueError as error:  # also when it is too large for a message
            return answer("failed", f"the proof that was found cannot be written down: {error}")
        if not verdict.accepted:
            return answer("failed", f"Lean does not accept the proof that was found: {verdict.reason}")
        axioms = ", ".join(verdict.axioms) or "none"
        lean = f"{theorem.signature} := by\n{script}"
        return answer("proved", f"accepted by Lean {verdict.lean_version}, axioms: {axioms}", lean)


async def opened(bus: Bus, theorem: Theorem, settings: ProveSettings) -> None:
    """Wait until Lean has started and loaded what the theorem imports: that is no time of the search.

    Raises NotAStatement, BusError.
    """
    from common import subjects
    from common.bus import RemoteFailure
    from common.messages import FailureKind, LeanRunReply, LeanRunRequest

    deadline = OPEN_SECONDS + settings.lean.header_seconds
    try:
        await bus.request_patiently(
            subjects.LEAN_RUN, LeanRunRequest(theorem=theorem), LeanRunReply, timeout=OPEN_SECONDS, deadline=deadline
        )
    except RemoteFailure as error:
        if error.kind is FailureKind.BAD_STATEMENT:
            raise NotAStatement(error.reason) from error
        raise


async def search(bus: Bus, theorem: Theorem, settings: ProveSettings) -> AttemptResult | None:
    """Give the theorem to the provers of the mesh and wait for the result; None when the time is over."""
    from common import subjects
    from common.messages import Attempt, AttemptResult, MessageError, Purpose, ResultPart
    from common.parts import Parts

    attempt_id = f"interactive-{secrets.token_hex(8)}"
    attempt = Attempt(
        attempt_id=attempt_id,
        theorem_id=attempt_id,
        theorem=theorem,
        purpose=Purpose.INTERACTIVE,
        simulations=settings.simulations,
        seed=0,
        samples=settings.samples,
    )
    found: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()

    parts = Parts()

    def received(subject: str, message: AttemptResult | ResultPart) -> None:
        if message.attempt_id != attempt_id or found.done():
            return
        try:
            result = parts.add(message) if isinstance(message, ResultPart) else message
        except MessageError as error:
            note(f"a result that cannot be read was passed over: {error}")
            return
        if result is not None:
            found.set_result(result)

    subscription = await bus.subscribe(subjects.RESULT, (AttemptResult, ResultPart), received)
    await bus.publish_durable(subjects.todo(Purpose.INTERACTIVE), attempt, message_id=attempt_id)
    try:
        async with asyncio.timeout(settings.seconds):
            return await found
    except TimeoutError:
        return None
    finally:
        await subscription.unsubscribe()


async def verify(bus: Bus, theorem: Theorem, script: str) -> LeanVerifyReply:
    """Lean's word on the proof, from fresh processes. Raises BusError."""
    from common import subjects
    from common.messages import LeanVerifyReply, LeanVerifyRequest

    note("a proof is found; Lean verifies it")
    request = LeanVerifyRequest(theorem=theorem, script=script)
    return await bus.request_patiently(
        subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=VERIFY_SECONDS, deadline=VERIFY_SECONDS
    )


Failure = Callable[[], Coroutine[Any, Any, object]]
"""Raises when the mesh has failed; otherwise runs for ever."""


async def for_ever() -> None:
    """A mesh that is not known to fail."""
    await asyncio.Event().wait()


async def unless(failure: Failure, work: Coroutine[Any, Any, R]) -> R:
    """The result of `work`, unless the mesh fails before: then its error is raised."""
    working, watching = asyncio.create_task(work), asyncio.create_task(failure())
    try:
        await wait_first(working, watching)
        if not working.done():
            watching.result()
        return await working
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


@asynccontextmanager
async def mesh_for(settings: ProveSettings) -> AsyncIterator[tuple[Bus, Failure]]:
    """The running mesh that was named, or a private one for as long as the block lasts."""
    from common.bus import Bus, BusSettings

    if not settings.url:
        async with private_mesh(settings.checkpoint, settings.lean, fixed=settings.fixed, note=note) as (bus, mesh):
            yield bus, mesh.wait
        return
    bus = await Bus.connect(BusSettings(url=settings.url), run=settings.run, name="prove", wait=CONNECT_SECONDS)
    try:
        yield bus, for_ever  # its nodes are not ours to watch
    finally:
        await bus.close()
