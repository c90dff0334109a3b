"""Fills the gaps of a repository: searches them in their files, verifies the files, and records the results."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from common.life import faults
from common.life.waiting import ended_by
from node.agent.report import counted
from node.agent.repositories import digest_of
from node.agent.settings import NETWORK, AgentError, AgentSettings, Interrupted
from node.agent.store import AgentStore, Attempt, Patch, Phase, Repository
from node.lean.gaps.gap import Gap
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.play import policies
from node.play.attempts import ProvingFailed
from node.prover.policies.names import BadPolicy
from node.proving.fill import FilledFile, GapResult, GapState
from node.proving.fill_check import unified_diff
from node.proving.fill_run import FillRun, FillWork, read_file
from node.proving.settings import ProvingSettings

SEEN = (GapState.FILLED, GapState.OPEN, GapState.REFUSED, GapState.LEFT)
"""States of gaps whose search is finished."""


def policy_of(settings: AgentSettings, phase: Phase, network: Path | None) -> str:
    """The policy of a phase."""
    if phase is Phase.BASELINE:
        return "tactics"
    return settings.filling.policy.replace(NETWORK, str(network))


def check_policy(settings: AgentSettings) -> None:
    """Checks that the policy can be opened, as far as possible before a network exists. Raises AgentError."""
    policy = settings.filling.policy
    try:
        if NETWORK in policy:
            policies.parse(policy.replace(NETWORK, "network"))
        else:
            policies.check(policy)
    except BadPolicy as error:
        raise AgentError(f"--policy {policy}: {error}") from error


@dataclass
class _Listener:
    """Records the results of each file in the database; a `node.proving.fill_run.FillListener`."""

    store: AgentStore
    repository: Repository
    phase: Phase
    policy: str
    say: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    """Files that could not be read."""

    def began(self, gap: Gap) -> None:
        pass

    def ended(self, result: GapResult) -> None:
        faults.reach("agent:searched-gap")
        gap, is_filled = result.gap, result.state is GapState.FILLED
        outcome = "; ".join(line.strip() for line in result.script)[:60] if is_filled else result.reason
        self.say(f"  {result.state:<8} line {gap.line}: {gap.name}: {outcome}")

    def verifying(self, proofs: int) -> None:
        pass

    def note(self, text: str) -> None:
        self.say(f"  {text}")

    def nothing(self, shown: str) -> None:
        pass

    def unreadable(self, shown: str, problem: str) -> None:
        message = f"{self._path(shown)}: {problem.splitlines()[0]}"
        self.problems.append(message)
        self.say(f"  {message}")

    def opened(self, shown: str, gaps: int) -> None:
        self.say(f"{self.repository.name}: {self._path(shown)}: {counted(gaps, 'gap')}")

    def add(self, shown: str, done: FilledFile, diff: str, written: bool, problem: str, seconds: float) -> None:
        path = self._path(shown)
        patch = None
        if done.edits:
            file = read_file(Path(shown))
            new = file.edited(done.edits)
            patch = Patch(path, digest_of(file.data), new.encode(), unified_diff(path, file.raw, new))
        attempts = [_attempt(path, each) for each in done.results if each.state in SEEN]
        self.store.keep_filled(self.repository.number, self.phase, self.policy, attempts, patch)

    def _path(self, shown: str) -> str:
        with suppress(ValueError):
            return Path(shown).resolve().relative_to(self.repository.root.resolve()).as_posix()
        return shown


def _attempt(path: str, result: GapResult) -> Attempt:
    gap = result.gap
    filled = result.state is GapState.FILLED
    return Attempt(
        path,
        gap.line,
        gap.column,
        gap.name,
        gap.goal,
        str(result.state),
        result.reason.strip().split("\n")[0],
        "\n".join(result.script) if filled else "",
        result.rests if filled else "",
        result.by if filled else "",
        result.seconds,
        result.simulations,
    )


def fill(
    settings: AgentSettings,
    store: AgentStore,
    repository: Repository,
    toolchain: LeanToolchain,
    phase: Phase,
    network: Path | None,
    folder: Path,
    say: Callable[[str], None],
) -> list[str]:
    """Searches the gaps of a repository and records the proofs in the database. Returns the problems of files.

    Gaps that an earlier run filled are not searched again. Raises AgentError, and Interrupted at Ctrl-C; proofs that
    were found by then are recorded.
    """
    filling = settings.filling
    policy = policy_of(settings, phase, network)
    listener = _Listener(store, repository, phase, policy, say)
    work = FillWork(
        paths=[repository.root.resolve()],
        seconds=filling.seconds,
        simulations=filling.simulations,
        jobs=filling.jobs,
        proving=ProvingSettings(policy=policy),
        lean=replace(settings.lean, project=toolchain.project),
        file_seconds=settings.file_seconds,
        memory_mb=settings.memory_mb,
        remembered=folder,
    )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(_fill(work, toolchain, listener))
    except BadPolicy as error:
        raise AgentError(f"--policy {filling.policy}: {error}") from error
    except ProvingFailed as error:
        raise AgentError(f"{repository.name}: the search of gaps failed: {error}") from error
    return listener.problems


async def _fill(work: FillWork, toolchain: LeanToolchain, listener: _Listener) -> None:
    stopping = asyncio.Event()

    def interrupted() -> None:
        listener.say("interrupted: verifying and recording the proofs so far; Ctrl-C again ends at once")

    with ended_by(signal.SIGINT, stopping=stopping, heard=interrupted):
        async with AsyncExitStack() as stack:
            await FillRun(work, toolchain, listener, stopping, stack).all()
    if stopping.is_set():
        raise Interrupted(f"interrupted while filling {listener.repository.name}")
