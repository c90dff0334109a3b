"""The agent: runs its stages in order. The database records each finished stage, so a killed run resumes with the next.

trace every repository -> curriculum -> the first network -> for each repository: train, measure, fill -> report
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common.output.command import Exit
from common.run_folder import changes, explained, owned
from node.agent.data import DataFiles, check_source, with_held_out, write_repository, write_start
from node.agent.report import best_patches, counted, summary
from node.agent.repositories import Source, digest_of, open_source, ordered, thresholds, trace
from node.agent.settings import AgentError, AgentSettings
from node.agent.store import AGENT, AgentStore, Evaluation, Patch, Phase, Repository
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.trace.sources import toolchain_of
from node.proving.fill_run import NotWritten, write_file

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile


REPOSITORIES, NETWORKS = "repositories", "networks"
"""Subfolders of the agent's folder."""

TRACE_LINES = 20
"""Most lines of progress while a repository is traced."""


@dataclass
class Agent:
    """An agent in its folder. Call `run` once."""

    settings: AgentSettings
    say: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    """One line for each skipped repository or file, with the reason."""

    def __post_init__(self) -> None:
        self.folder = self.settings.out.absolute()

    def run(self) -> int:
        """Runs all stages. Returns the exit code: 0 done, 1 something was skipped.

        Raises AgentError, TrainingError, Interrupted, KeyboardInterrupt.
        """
        with self._owned():
            self.store = AgentStore(self.folder)
            try:
                self._check_same()
                self._check_input()
                opened = open_all(self.settings, self.store, self.say, self._skip)
                if not opened:
                    raise AgentError("nothing to learn from: no repository can be used; see the messages above")
                self.store.note("settings", self.settings.fixed())
                for each in opened:
                    self._trace(each)
                if not (usable := [each for each in opened if self._is_traced(each.repository)]):
                    raise AgentError("nothing to learn from: no repository could be traced; see the messages above")
                self._curriculum()
                if self.settings.fill and self.settings.filling.baseline:
                    for each in usable:
                        self._fill(each, Phase.BASELINE, None)
                self._learn(usable)
                if self.settings.write:
                    self._write()
                self._tell_files(usable)
                self.store.note("problems", self.problems)
            finally:
                self.store.close()
        return Exit.FAILED if self.problems else Exit.DONE

    def _tell_files(self, usable: list[Opened]) -> None:
        """Collects the files that could not be traced, or whose gaps could not be searched."""
        for number, name in ((each.repository.number, each.repository.name) for each in usable):
            messages = [f"{each.path}: {each.error.splitlines()[0]}" for each in self.store.files(number) if each.error]
            for phase in Phase:
                if stage := self.store.stage(number, f"fill-{phase}"):
                    messages += stage.details["problems"]
            self.problems += [f"{name}: {each}" for each in dict.fromkeys(messages)]

    # --- input --------------------------------------------------------------------------------------------

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Locks the folder for this agent. Raises AgentError."""
        in_use = f"{self.folder}: another agent is running in this folder; name another --out"
        kept = "What was recorded is kept, and the same command goes on from there"
        with (
            explained(self.folder, lambda why: AgentError(f"{why}. {kept}")),
            owned(self.folder, lambda: AgentError(in_use)),
        ):
            yield

    def _check_same(self) -> None:
        """Checks that the settings are those of the agent's start. Raises AgentError."""
        now = self.settings.fixed()
        before = self.store.noted("settings")
        if before is None:
            return
        # A setting that this version no longer has is no difference.
        changed = [
            f"{each.name} was {each.before!r}, is {each.now!r}"
            for each in changes({name: before.get(name) for name in now}, now)
        ]
        if changed:
            raise AgentError(
                f"{self.folder}: holds an agent with other settings ({'; '.join(changed)}); use these, or name another "
                "--out"
            )

    def _skip(self, problem: str) -> None:
        self.problems.append(problem)
        self.say(f"skipped: {problem}")

    def _check_input(self) -> None:
        """Checks at the start that first network and policy exist. Raises AgentError, InputError."""
        from node.agent.filling import check_policy

        if self.settings.fill:
            check_policy(self.settings)
        if self.store.stage(AGENT, "start") is None:
            if self.settings.learning.start:
                from node.training.stage import resolve

                resolve(self.settings.learning.start)
            for source in self.settings.learning.start_data:
                check_source(source)

    # --- tracing and order ------------------------------------------------------------------------------------------

    def _is_traced(self, repository: Repository) -> bool:
        return self.store.stage(repository.number, "trace") is not None

    def _is_worth_tracing_again(self, repository: Repository) -> bool:
        """Whether files failed and nothing depends on the theorems yet. The reason may have been a full disk or
        memory."""
        learned = self.store.stage(repository.number, "train") is not None
        return not learned and any(each.error for each in self.store.files(repository.number))

    def _trace(self, opened: Opened) -> None:

        repository = opened.repository
        # 1. Nothing to do if the records are there, unless files failed whose reason may be gone by now.
        if self._is_traced(repository) and not self._is_worth_tracing_again(repository):
            return
        self.say(
            f"{repository.name}: tracing {counted(len(opened.source.group.files), 'file')} with {opened.toolchain.name}"
        )
        # 2. Tracing takes minutes: a line for every file that fails, and TRACE_LINES lines of progress in all.
        steps, done, files = 0, 0, len(opened.source.group.files)
        every = -(-files // TRACE_LINES)

        def report(file: TracedFile) -> None:
            nonlocal steps, done
            steps += sum(len(block.steps) for theorem in file.theorems for block in theorem.blocks)
            done += 1
            if file.error:
                self.say(f"  {file.path}: {file.error.splitlines()[0]}")
            elif done % every == 0:
                self.say(f"  {done} of {counted(files, 'file')}: {steps} steps so far")

        # 3. A repository that cannot be traced is left out; the others go on.
        folder = self._folder(repository)
        try:
            traced = trace(opened.source, opened.toolchain, self.settings, folder / "trace", report)
        except AgentError as error:
            self._skip(f"{repository.name}: {error}")
            return
        # 4. Record it. Which theorems are held out is decided here, before anything trains on them.
        details = {"theorems": len(traced.theorems), "steps": steps}
        lean = f"{opened.toolchain.version} ({opened.toolchain.name})"
        theorems = with_held_out(traced.theorems, self.settings.learning.held_out)
        # The files of an earlier trace go first, and the stage ends with all that follows from the trace: after a kill
        # nothing is done again, so nothing may be missing.
        DataFiles.below(folder).remove()
        self.store.keep_trace(repository.number, lean, traced.files, theorems, traced.seconds, details)
        held = sum(each.held_out for each in theorems)
        self.say(f"{repository.name}: {len(theorems)} theorems, {steps} steps; {held} theorems held out")

    def _curriculum(self) -> None:
        """Sorts the new repositories after the learned ones, and classifies all theorems."""
        traced = [each for each in self.store.repositories() if self._is_traced(each)]
        learned = [each.number for each in traced if self.store.stage(each.number, "train") is not None]
        theorems = {each.number: self.store.theorems(each.number) for each in traced}
        proved = [each.difficulty for found in theorems.values() for each in found if each.difficulty is not None]
        parts = thresholds(proved)
        waiting = {
            number: [each.difficulty for each in found]
            for number, found in sorted(theorems.items())
            if number not in learned
        }
        order = [*learned, *ordered(waiting, parts, self.settings.order)]
        classes = [
            (parts.category(each.difficulty), each.number)
            for found in theorems.values()
            for each in found
            if each.difficulty is not None or "sorry" in each.problem
        ]
        self.store.keep_curriculum({number: place for place, number in enumerate(order, 1)}, classes)
        self.store.note("thresholds", {"easy": _finite(parts.easy), "medium": _finite(parts.medium)})

    # --- learning and filling ---------------------------------------------------------------------------------------

    def _learn(self, usable: list[Opened]) -> None:
        start_files, network = self._start()
        by_number = {each.repository.number: each for each in usable}
        in_order = [each for each in self.store.repositories() if each.place is not None]
        self._measure(AGENT, network, start_files)
        for place, repository in enumerate(in_order):
            stage = self.store.stage(repository.number, "train")
            if stage is None and repository.number in by_number:
                network = self._train(repository, network, start_files, in_order[:place])
            elif stage is not None:
                network = Path(stage.details["network"])
            self._measure(repository.number, network, start_files)
            if self.settings.fill and repository.number in by_number:
                self._fill(by_number[repository.number], Phase.NETWORK, network)
        if self.settings.fill and self.settings.filling.last:
            for repository in in_order[:-1]:
                if repository.number in by_number:
                    self._fill(by_number[repository.number], Phase.LAST, network)

    def _start(self) -> tuple[DataFiles, Path]:
        """The data and the checkpoint of the first network. Raises TrainingError, AgentError."""
        from node.agent.learning import train_start

        learning = self.settings.learning
        files = DataFiles.below(self.folder / "start")
        if (stage := self.store.stage(AGENT, "start")) is not None:
            return files, Path(stage.details["network"])
        started = time.monotonic()
        files = write_start(self.folder / "start", learning.start_data, learning.held_out)
        if learning.start:
            from node.training.stage import resolve

            network = resolve(learning.start)
        else:
            self.say(f"a fresh network is trained on {', '.join(learning.start_data)}: {learning.start_steps} steps")
            network = train_start(self.settings, self.folder / NETWORKS, files)
        self.store.end_stage(AGENT, "start", time.monotonic() - started, {"network": str(network)})
        return files, network

    def _data(self, repository: Repository) -> DataFiles:
        folder = self._folder(repository)
        files = DataFiles.below(folder)
        if not files.valid.exists():  # this file is written last
            theorems = self.store.theorems(repository.number)
            held = {(each.path, each.name) for each in theorems if each.held_out}
            files = write_repository(folder, folder / "trace", held)
        return files

    def _train(self, repository: Repository, network: Path, start_files: DataFiles, before: list[Repository]) -> Path:
        """Trains on a repository and returns the new checkpoint. Raises TrainingError."""
        from node.agent.learning import train_on

        started, steps, checkpoint = time.monotonic(), 0, network
        new = self._data(repository)
        if new.has_train:
            self.say(f"{repository.name}: training")
            old = [start_files, *(self._data(each) for each in before)]
            run = f"{repository.number:03}-{repository.name}"
            checkpoint, steps = train_on(self.settings, self.folder / NETWORKS, run, network, new, old)
        details = {"network": str(checkpoint), "steps": steps}
        self.store.keep_training(repository.number, time.monotonic() - started, details)
        return checkpoint

    def _measure(self, training: int, network: Path, start_files: DataFiles) -> None:
        """Measures a network on the held-out theorems of all repositories, including later ones."""
        from node.agent.learning import measure

        measured_before = {each.repository for each in self.store.evaluations() if each.training == training}
        files = {each.number: self._data(each) for each in self.store.repositories() if each.place is not None}
        missing = {
            number: each for number, each in {AGENT: start_files, **files}.items() if number not in measured_before
        }
        if not any(each.has_valid for each in missing.values()):
            return
        self.say(f"measuring the network on the held-out theorems of {counted(len(missing), 'source')}")
        measured = measure(self.settings, self.folder / NETWORKS, network, missing)
        self.store.keep_evaluations(
            Evaluation(training, number, each.loss, each.accuracy, each.tokens) for number, each in measured.items()
        )

    def _fill(self, opened: Opened, phase: Phase, network: Path | None) -> None:
        """Searches the gaps of a repository, unless this phase is finished. Raises AgentError, Interrupted."""
        from node.agent.filling import fill, policy_of

        repository, stage = opened.repository, f"fill-{phase}"
        if self.store.stage(repository.number, stage) is not None:
            return
        started = time.monotonic()
        folder = self._folder(repository) / ("fill-list" if phase is Phase.BASELINE else "fill")
        problems = fill(self.settings, self.store, repository, opened.toolchain, phase, network, folder, self.say)
        policy = policy_of(self.settings, phase, network)
        self.store.end_stage(
            repository.number, stage, time.monotonic() - started, {"policy": policy, "problems": problems}
        )
        told = summary(self.store.attempts(repository.number, phase))
        self.say(f"{repository.name}: {told}")

    def _write(self) -> None:
        """Writes the newest verified files into the user's repositories."""
        for repository in self.store.repositories():
            patches = best_patches(self.store, repository)
            if patches and repository.own:
                problems = write_patches(repository, patches)
                for problem in problems:
                    self._skip(problem)
                self.say(f"{repository.name}: {counted(len(patches) - len(problems), 'file')} written")
            elif patches:
                self.say(f"{repository.name}: is a clone and is not changed; the diffs are in the report")

    def _folder(self, repository: Repository) -> Path:
        return self.folder / REPOSITORIES / repository.name


def _finite(number: float) -> float | None:
    return None if number == float("inf") else number


# --- opens the repositories that the command line names, each with its files and its Lean -----------------------------


@dataclass
class Opened:
    """A repository of this run."""

    repository: Repository
    source: Source
    toolchain: LeanToolchain


def open_all(
    settings: AgentSettings, store: AgentStore, say: Callable[[str], None], skip: Callable[[str], None]
) -> list[Opened]:
    """The named repositories without duplicates. `skip` gets a message for each one that cannot be used. Raises
    AgentError."""
    opened: list[Opened] = []
    written = {
        digest_of(patch.new): patch.old
        for known in store.repositories()
        for phase in Phase
        for patch in store.patches(known.number, phase)
    }
    for text in settings.projects:
        try:
            source = open_source(text, written)
            toolchain = _toolchain(settings, source, say)
        except (AgentError, LeanProblem, OSError) as error:
            skip(f"{text}: {str(error).removeprefix(f'{text}: ')}")
            continue
        root = source.group.root
        known = store.repository(source.source, source.commit, root, own=source.own, name=source.name)
        if all(known.number != each.repository.number for each in opened):
            opened.append(Opened(known, source, toolchain))
    return opened


def _toolchain(settings: AgentSettings, source: Source, say: Callable[[str], None]) -> LeanToolchain:
    """Raises LeanProblem."""
    toolchain = toolchain_of(source.group, settings.lean)
    for note in toolchain.notes:
        say(f"{source.name}: {note}")
    return asyncio.run(toolchain.confined()) if settings.sandbox else toolchain


# ----------------------------------------------------------------------------------------------------------------------
# Writes verified proofs into the user's repositories. Repeated calls have the same result.


def write_patches(repository: Repository, patches: list[Patch]) -> list[str]:
    """Writes the files that have not changed since their gaps were searched. Returns one line for each file that was
    not written, with the reason; files that have the proofs already are not listed."""
    problems = []
    for patch in patches:
        path = repository.root / patch.path
        try:
            content = path.read_bytes()
            if content == patch.new:
                continue
            if digest_of(content) != patch.old:
                raise NotWritten("the file has changed since its gaps were searched; apply the report's diff by hand")
            write_file(path, content, patch.new)
        except NotWritten as error:
            problems.append(f"{repository.name}: {patch.path}: not written: {error}")
        except OSError as error:
            problems.append(f"{repository.name}: {patch.path}: not written: {error.strerror or error}")
    return problems
