"""`proofmesh prove STATEMENT`: one theorem, from its text to a proof that Lean accepts.

Without `--url` it starts a mesh of its own (broker, lean-proxy, prover, and inference when there is a model) and ends
it afterwards; with `--url` it hands the theorem to the provers of a running mesh. Exit code: 0 proved (the theorem
with its proof is on standard output), 1 not proved within the budget, 2 not a statement that Lean accepts, 3 the mesh
failed.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import tyro

from common.lean import Theorem
from common.statement import StatementError, parse_statement

if TYPE_CHECKING:
    from common.bus import Bus
    from common.messages import AttemptResult, LeanVerifyReply

PROVED, NOT_PROVED, BAD_STATEMENT, MESH_FAILED = 0, 1, 2, 3

R = TypeVar("R")

CONNECT_SECONDS = 3.0
"""Patience with a broker that was named on the command line."""

START_SECONDS = 30.0
"""Patience with a private mesh's broker: it is there in half a second, or will not come."""

PRIVATE_RUN = "prove"

VERIFY_SECONDS = 60.0
"""Patience with the verification: three files in fresh processes take about 0.4 s, a busy proxy longer."""

DEMO_RUN = Path("runs/demo")
"""Where a model is looked for when none is named."""


@dataclass
class ProveSettings:
    """Prove one theorem."""

    statement: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STATEMENT")]
    """The theorem, such as 'theorem t (p q : Prop) : p ∧ q → q ∧ p'."""

    simulations: int = 400
    """Search budget: expansions of proof states."""

    seconds: float = 60.0
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


class NotAStatement(ValueError):
    """Lean, or our reading of the text, refuses the statement."""


@dataclass(frozen=True)
class Answer:
    """What is printed."""

    outcome: str
    """`proved` or `failed`."""
    lean: str
    """The theorem with its proof; empty if there is none."""
    reason: str
    simulations: int
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    settings = tyro.cli(ProveSettings, args=argv, prog="proofmesh prove", description=__doc__)
    return run(settings)


def run(settings: ProveSettings) -> int:
    """Prove, print, return the exit code."""
    from broker.errors import BrokerError
    from common import logging
    from common.bus import BusError
    from node.mesh.supervisor import ChildFailed

    logging.configure("error")  # what fails is said by the exceptions below
    try:
        theorem = parse_statement(settings.statement)
        answer = asyncio.run(prove(theorem, settings))
    except (StatementError, NotAStatement) as error:
        print(f"proofmesh prove: {error}", file=sys.stderr)
        return BAD_STATEMENT
    except (BrokerError, BusError, ChildFailed, MeshProblem) as error:
        print(f"proofmesh prove: {error}", file=sys.stderr)
        return MESH_FAILED
    show(answer, settings)
    return PROVED if answer.outcome == "proved" else NOT_PROVED


def show(answer: Answer, settings: ProveSettings) -> None:
    """The proof to standard output, what else there is to say to standard error."""
    if settings.json:
        print(json.dumps(vars(answer), ensure_ascii=False))
    elif answer.outcome == "proved":
        print(answer.lean)
    note(f"{answer.outcome}: {answer.reason} ({answer.simulations} simulations, {answer.seconds:.1f} s)")


def note(text: str) -> None:
    """Progress, for the person who waits."""
    print(text, file=sys.stderr, flush=True)


class MeshProblem(RuntimeError):
    """The mesh answered, but not with what was asked for; the text says what to do."""


async def prove(theorem: Theorem, settings: ProveSettings) -> Answer:
    """Search and verify. Raises NotAStatement, MeshProblem, BusError, BrokerError, ChildFailed."""
    from common.messages import AttemptResult

    start = time.monotonic()
    async with mesh_for(settings) as (bus, failure):
        note(f"searching for a proof of {theorem.signature}")
        result = await unless(failure, search(bus, theorem, settings))
        simulations = result.statistics.simulations if isinstance(result, AttemptResult) else 0

        def answer(outcome: str, reason: str, lean: str = "") -> Answer:
            return Answer(outcome, lean, reason, simulations, round(time.monotonic() - start, 2))

        if result is None:
            return answer("failed", f"no proof within {settings.seconds:g} s")
        if result.outcome == "bad-statement":
            raise NotAStatement(result.message)
        if result.outcome == "error":
            raise MeshProblem(f"the search was cut short: {result.message}")
        if result.outcome != "proved":
            return answer("failed", f"no proof found: {result.message}")
        verdict = await unless(failure, verify(bus, theorem, result.script))
        if not verdict.accepted:
            return answer("failed", f"Lean does not accept the proof that was found: {verdict.reason}")
        axioms = ", ".join(verdict.axioms) or "none"
        lean = f"{theorem.signature} := by\n{result.script}"
        return answer("proved", f"accepted by Lean {verdict.lean_version}, axioms: {axioms}", lean)


async def search(bus: Bus, theorem: Theorem, settings: ProveSettings) -> AttemptResult | None:
    """Give the theorem to the provers of the mesh and wait for the result; None when the time is over."""
    from common import subjects
    from common.messages import Attempt, AttemptResult

    attempt_id = f"interactive-{secrets.token_hex(8)}"
    attempt = Attempt(
        attempt_id=attempt_id,
        theorem_id=attempt_id,
        theorem=theorem,
        purpose="interactive",
        simulations=settings.simulations,
        seed=0,
    )
    found: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()

    def received(subject: str, result: AttemptResult) -> None:
        if result.attempt_id == attempt_id and result.part == 0 and not found.done():
            found.set_result(result)

    subscription = await bus.subscribe(subjects.RESULT, AttemptResult, received)
    await bus.publish_durable(subjects.todo("interactive"), attempt, message_id=attempt_id)
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
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
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
        async with private_mesh(settings) as mesh:
            yield mesh
        return
    bus = await Bus.connect(BusSettings(url=settings.url), run=settings.run, name="prove", wait=CONNECT_SECONDS)
    try:
        yield bus, for_ever  # its nodes are not ours to watch
    finally:
        await bus.close()


@asynccontextmanager
async def private_mesh(settings: ProveSettings) -> AsyncIterator[tuple[Bus, Failure]]:
    """Broker, lean-proxy and prover, and inference when there is a model; gone at the end of the block."""
    import tomli_w

    from broker import streams
    from common.bus import Bus
    from node.mesh.mesh import Mesh

    with tempfile.TemporaryDirectory(prefix="proofmesh-prove-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder  # for the nodes: so nothing of theirs stays behind
        weights = None if settings.fixed else model_for(settings.checkpoint, Path(folder))
        file = Path(folder) / "mesh.toml"
        file.write_text(tomli_w.dumps(configuration(Path(folder), weights)), encoding="utf-8")
        note(f"starting a private mesh with {weights.name if weights else 'a fixed list of tactics'}")
        async with Mesh.from_file(file) as mesh:
            bus = await Bus.connect(mesh.bus, run=mesh.run, name="prove", wait=START_SECONDS)
            try:
                await streams.ensure(bus)
                yield bus, mesh.wait
            finally:
                await bus.close()


def configuration(folder: Path, weights: Path | None) -> dict[str, dict[str, object]]:
    """The private mesh's file. Nothing is restarted: a node that dies ends the command with its last words. At the end
    all
    are killed at once: nobody else uses them, and what they keep is below `folder`."""
    policy = "inference" if weights else "fixed"
    return {
        "run": {"name": PRIVATE_RUN, "dir": str(folder)},
        "up": {"learner": 0, "ui": 0, "inference": int(weights is not None), "restarts": 0, "grace": 0.0},
        "broker": {"port": 0, "store": str(folder / "broker")},
        "prover": {"policy": policy, "searches": 1, "poll_seconds": 0.1, "drain_seconds": 0.0},
        **({"inference": {"weights": str(weights)}} if weights else {}),
    }


def model_for(checkpoint: str, folder: Path) -> Path | None:
    """A weights file that inference can serve: the one named, made from the checkpoint named, or the demo's newest.

    Raises MeshProblem when what was named cannot be read.
    """
    named = Path(checkpoint) if checkpoint else newest_checkpoint()
    if named is None:
        return None
    if named.is_file():
        return named
    if not named.is_dir():
        raise MeshProblem(f"there is no weights file or checkpoint folder {named}")
    from node.model import checkpoint as checkpoints
    from node.model import weights

    try:
        loaded = checkpoints.load(named, optimizer=False)
    except (checkpoints.CheckpointError, OSError) as error:
        raise MeshProblem(f"cannot use the checkpoint {named}: {error}") from error
    target = folder / f"{named.name}.safetensors"
    weights.write(target, loaded.model, loaded.tokenizer)
    return target


def newest_checkpoint() -> Path | None:
    """The newest whole checkpoint of the demo's run, if there is one."""
    complete = [state.parent for state in DEMO_RUN.glob("checkpoints/step-*/state.json")]
    return max(complete, key=lambda path: path.name, default=None)
