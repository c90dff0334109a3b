"""What this Lean and this project can do: each check runs the code that `verify`, `prove`, `fill` and `trace` run.

The checks follow each other, because later ones use what earlier ones have found. Nothing is written into the project
or the cache: what the checks would keep there goes into a folder of their own, which is removed at the end.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from common.files import CACHE_VARIABLE
from common.lean import OutcomeKind, Theorem
from common.machine import read_machine
from common.output.words import duration, number_of
from common.protocol.messages import Failure, LeanRunReply, LeanRunRequest
from common.settings import LeanSettings
from node.command.doctor.material import (
    CHEATS,
    DIFFERENCES,
    HONEST,
    MET,
    OWN_TACTICS,
    OWN_TEXT,
    READ_FILES,
    TEN,
    Proof,
    Sample,
    dotted,
    is_module,
    proofs_of,
    requests_of,
    samples,
    version_of,
    would_change,
)
from node.command.doctor.rows import Row, State, checked, in_thread, short
from node.command.projects import project_of
from node.lean.check.files.sources import collect
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.second.calling import SecondKernel
from node.lean.gaps.finder import GapFinder
from node.lean.opened import OpenedLean, open_lean
from node.lean.process.fresh import Limits, run_fresh
from node.lean.process.protections import detect
from node.lean.settings import LeanProcessSettings
from node.lean.text.statement import imports
from node.lean.toolchain import lake
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.records import TracedFile
from node.lean.trace.sources import Group, groups
from node.lean.trace.tracing import TraceLimits, Tracer
from node.lean.worker.pool import Pool, prepare, workers_that_fit

GROUP = "lean"

# --- limits -----------------------------------------------------------------------------------------------------------

FIND_SECONDS = 40.0
"""For Lake and elan: these take seconds where a large workspace is read for the first time."""

SECOND_SECONDS = 40.0
"""The second kernel first reads Lean's library in Python: some seconds for pocket Lean, more for a full one."""

SLOW_SECOND = 20.0
"""Twice what pocket Lean's library takes on two idle cores."""

SLOW_SPLIT = 5.0
"""Seconds of an import from which a trace with split tactics would take a large part of the two minutes."""

SLOW_HEADER = 20.0
"""Seconds of an import from which starting a worker is what a run waits for."""

SLOW_TACTIC = 1.0
"""Median seconds of a tactic from which a search of a thousand of them takes a quarter of an hour on each worker."""

SLOW_VERIFY = 30.0
"""Seconds of one verification from which `[lean_proxy] verify_seconds` (60) is near."""


@contextmanager
def cache_of_our_own() -> Iterator[None]:
    """In the block, whatever would be kept in the cache folder is kept in one that is removed at the end."""
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="proofmesh-doctor-") as folder:
        os.environ[CACHE_VARIABLE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before


@dataclass
class LeanChecks:
    """The checks of one Lean, in their order. `rows` yields a row for each."""

    lean: LeanSettings
    parts: Collection[str]
    """`lean`, `kernels`, or both."""
    until: float
    """When all of them have to be done, by `time.monotonic`."""
    note: Callable[[str], None] = lambda what: None
    """Called with the name of each check when it begins."""
    toolchain: LeanToolchain | None = None
    group: Group | None = None
    """The files of the project."""
    samples: Sequence[Sample] = ()
    """Files of the project to try things on."""
    traced: tuple[Sample, TracedFile] | None = None
    proofs: Sequence[Proof] = ()
    opened: OpenedLean | None = None
    header_mb: float | None = None
    header_seconds: float = 0.0
    tried_header: bool = False
    verify_seconds: float = 0.0
    trusted: bool | None = None
    """Whether the honest proof was accepted and the cheats were not; None: not looked at."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def rows(self) -> AsyncGenerator[Row]:
        """Run the checks. One that needs what an earlier one has not found is not met."""
        async with self._stack:
            # 1. Lean itself, and the cache where it is. From then on nothing is written there.
            yield await self._checked("toolchain", self._find, FIND_SECONDS)
            self._stack.enter_context(cache_of_our_own())
            if "lean" in self.parts:
                # 2. What a worker costs with the imports of the project's files, and what a file looks like.
                yield await self._checked("versions", self._versions, 5.0, self.toolchain)
                yield await self._checked("module files", self._module_files, 20.0, self.toolchain)
                yield await self._checked("header", self._header, 60.0, self.toolchain)
                yield await self._checked("trace", self._trace, 60.0, self.toolchain)
                # 3. Tactics on a warm worker, and verification in fresh processes.
                yield await self._checked("tactics", self._tactics, 40.0, self.opened)
                yield await self._checked("sorry", self._sorry, 60.0, self.opened)
                yield await self._checked("cheats", self._cheats, 40.0, self.toolchain)
            if "kernels" in self.parts:
                yield await self._checked("leanchecker", self._leanchecker, 30.0, self.toolchain)
                yield await self._checked("second kernel", self._second_kernel, SECOND_SECONDS, self.toolchain)
        # 4. What the commands would do.
        if "lean" in self.parts:
            for name, check in (("verify", self._verify), ("prove", self._prove), ("eval", self._eval)):
                yield (await checked("commands", name, partial(in_thread, check), 15.0))[0]

    async def _checked(
        self, name: str, check: Callable[[], Awaitable[Row]], seconds: float, needs: object = True
    ) -> Row:
        left = self.until - time.monotonic()
        group = "kernels" if name in ("leanchecker", "second kernel") else GROUP
        if needs is None:
            return Row(group, name, "not met", "not looked at, because of a row above")
        if left < 1:
            return Row(group, name, "not met", "not looked at: the checks above took all of the time")
        self.note(f"Lean: {name}")
        return (await checked(group, name, check, min(seconds, left)))[0]

    @property
    def _lean(self) -> LeanToolchain:
        assert self.toolchain is not None
        return self.toolchain

    # --- Lean and its project -----------------------------------------------------------------------------------------

    async def _find(self) -> Row:
        """The toolchain that the settings name, confined as its processes will be."""
        if problem := await in_thread(lambda: would_change(self.lean)):
            raise problem
        # A bit less than the check has, so that Lake's own words say what hangs.
        with lake.asking_for(min(FIND_SECONDS, self.until - time.monotonic()) - 1.0):
            found = await in_thread(lambda: find(self.lean))
        possible = await detect()
        self.toolchain = confined = await found.confined_by(possible)
        if confined.project:
            self.group = (await in_thread(lambda: groups([confined.project])))[0]
        seen = f"Lean {confined.version} ({confined.name})"
        if confined.project:
            seen += f", project {confined.project} with {number_of(len(self.group.files) if self.group else 0, 'file')}"
        facts = {"version": confined.version, "name": confined.name, "project": confined.project}
        here = None if confined.project or self.lean.toolchain else project_of(Path.cwd())
        advice = f"--lean.project {here} looks at the project in this folder" if here else ""
        if confined.notes:
            return Row(GROUP, "toolchain", "warning", f"{seen}; {'; '.join(confined.notes)}", advice, facts)
        lost = [each for each in confined.protections.each() if not each.works and each.name not in possible.gaps()]
        if lost:
            seen = f"{seen}; not confined here in {'; '.join(f'{each.name}: {each}' for each in lost)}"
            advice = advice or "verify no files of other people with this Lean"
            return Row(GROUP, "toolchain", "warning", seen, advice, facts)
        return Row(GROUP, "toolchain", "ok", seen, advice, facts)

    async def _versions(self) -> Row:
        """What this version has, by the table of differences."""
        version = version_of(self._lean.version)
        if version is None:
            return Row(GROUP, "versions", "warning", f"{self._lean.version!r} is no release: what differs is not known")
        lacks = [each for each in DIFFERENCES if version < each.since]
        known = "." if version == MET else f"; our tests run {MET[0]}.{MET[1]}, this one is known by its sources alone."
        if not lacks:
            seen = f"{self._lean.version} has all that differs between versions{known.removesuffix('.')}"
        else:
            told = "; ".join(
                f"no {each.what} (since {dotted(each.since)}, {each.source}): {each.before}" for each in lacks
            )
            seen = f"{told}{known.removesuffix('.')}"
        facts = {"lacks": [each.what for each in lacks], "tested": version == MET}
        return Row(GROUP, "versions", "ok", seen, facts=facts)

    async def _module_files(self) -> Row:
        """How many files begin with `module`: their proofs are in separate compiled files."""
        if self.group is None:
            return Row(GROUP, "module files", "not met", "no project, so no files")
        self.samples = await in_thread(lambda: list(samples(self.group, self._lean)))
        files = self.group.files[:READ_FILES]
        modules = await in_thread(lambda: sum(map(is_module, files)))
        facts = {"files": len(files), "module_files": modules}
        seen = f"{modules} of {number_of(len(files), 'file')} with `module` at the top"
        return Row(GROUP, "module files", "ok", seen, facts=facts)

    # --- tracing ------------------------------------------------------------------------------------------------------

    async def _trace(self) -> Row:
        """Trace the smallest files of the project until one has a tactic proof; without one, a text of our own."""
        # 1. Trace. To split tactics, Lean elaborates the file some times more, each with its imports.
        split = self.header_seconds < SLOW_SPLIT
        tried: list[str] = []
        tracer = Tracer(self._lean, Path(self._lean.project or tempfile.gettempdir()), TraceLimits(seconds=40.0), split)
        for sample in (*self.samples, Sample("a text of our own", OWN_TEXT)):
            traced = await tracer.trace(sample.text, sample.name)
            proofs = [] if traced.error else list(proofs_of(sample.text, traced))
            if proofs:
                self.traced, self.proofs = (sample, traced), proofs
                break
            wrong = traced.error or next((each.error for each in traced.theorems if each.error), "no tactic proof")
            tried.append(f"{sample.name}: {short(wrong)}")
        # 2. What came out, and which files were passed over.
        if self.traced is None:
            advice = "`proofmesh trace FILE` shows all of Lean's messages"
            return Row(GROUP, "trace", "broken", "; ".join(tried), advice)
        sample, traced = self.traced
        steps = sum(len(block.steps) for theorem in traced.theorems for block in theorem.blocks)
        facts = {"file": sample.name, "steps": steps, "trace_seconds": round(traced.seconds, 2)}
        seen = f"{sample.name}: {len(traced.theorems)} theorems, {steps} steps in {traced.seconds:.1f} s"
        if tried:
            own = "the project's own files could not be used" if not sample.module else "other files could not be used"
            return Row(GROUP, "trace", "warning", f"{seen}; {own}: {'; '.join(tried)}", "`proofmesh trace FILE`", facts)
        if self.group is not None and not self.samples:
            seen = f"no compiled file of the project has a tactic proof; {seen}"
            return Row(GROUP, "trace", "ok", seen, facts=facts)
        return Row(GROUP, "trace", "ok", seen, facts=facts)

    # --- workers ------------------------------------------------------------------------------------------------------

    async def _header(self) -> Row:
        """Let one worker import what theorems need here: seconds, memory, and how many workers fit."""
        self.tried_header = True
        # 1. The configured header; else the imports of the file that is tried, for which workers would be started.
        header = self._lean.default_header
        if not header and self.samples:
            header = "\n".join(imports(self.samples[0].text))
        settings = LeanProcessSettings(lean=replace(self.lean, backend="worker"), workers=1, spares=0)
        opened = await self._stack.enter_async_context(open_lean(settings, replace(self._lean, default_header=header)))
        assert isinstance(opened.requests.backend, Pool)
        # 2. The import, in a worker as `prove` and lean-proxies start it.
        process = await prepare(opened.requests.backend)
        self.opened, self.header_mb, self.header_seconds = opened, process.header_mb, process.started_in
        machine = read_machine()
        fit, wanted = workers_that_fit(machine, process.header_mb), LeanProcessSettings().resolved_workers()
        facts = {
            "header": header,
            "header_seconds": round(process.started_in, 2),
            "header_mb": round(process.header_mb),
            "workers_that_fit": fit,
            "workers": min(fit, wanted),
        }
        what = short(header) or "no imports"
        mapped = process.resident_mb() - process.header_mb
        seen = f"{what}: {process.started_in:.1f} s, {process.header_mb:.0f} MB for each worker, {mapped:.0f} MB shared"
        seen += f"; {fit} workers fit into {machine.memory_mb} MB, {wanted} are used on {machine.cores} cores"
        if fit < 1:
            return Row(GROUP, "header", "broken", seen, "import less, or use a machine with more memory", facts)
        if process.started_in > SLOW_HEADER:
            advice = "the first import of a large library reads gigabytes: run this again; else import less"
            return Row(GROUP, "header", "slow", seen, advice, facts)
        if fit < wanted:
            return Row(GROUP, "header", "warning", seen, f"only {fit} workers will run: memory is short", facts)
        return Row(GROUP, "header", "ok", seen, facts=facts)

    async def _tactics(self) -> Row:
        """Ten tactics: those of the traced file at their own states, and plain ones where it has fewer."""
        assert self.opened is not None
        # 1. Steps of the traced file, if it is one of the project's; plain ones up to ten.
        wanted: list[LeanRunRequest] = []
        if self.traced is not None and self.traced[0].module:
            wanted += list(requests_of(self.traced[0].text, self.proofs))[:TEN]
        theirs = len(wanted)
        for binders, conclusion, tactic in OWN_TACTICS[: TEN - theirs]:
            wanted.append(LeanRunRequest(theorem=Theorem("t", binders, conclusion), tactics=(tactic,)))
        # 2. One after the other, as a single search asks for them.
        seconds: list[float] = []
        failed: list[str] = []
        for request in wanted:
            began = time.monotonic()
            reply = await self.opened.requests.run(request)
            seconds.append(time.monotonic() - began)
            if problem := _problem(reply):
                failed.append(f"{request.tactics[0]}: {problem}")
        # 3. How many work, and how long they take.
        median = statistics.median(seconds)
        facts = {"tactics": len(wanted), "of_the_project": theirs, "failed": failed, "median_seconds": round(median, 4)}
        of = f"{theirs} of {self.traced[0].name}" if theirs and self.traced else "none of the project's own"
        seen = f"{len(wanted) - len(failed)} of {len(wanted)} work ({of}), {1000 * median:.0f} ms in the median"
        if failed:
            state: State = "broken" if len(failed) > TEN // 2 else "warning"
            advice = "are imports, opens and options of [lean] those that the project's files have?"
            return Row(GROUP, "tactics", state, f"{seen}; {'; '.join(map(short, failed))}", advice, facts)
        if median > SLOW_TACTIC:
            return Row(
                GROUP, "tactics", "slow", seen, "searches will be short: give them more seconds, or more workers", facts
            )
        return Row(GROUP, "tactics", "ok", seen, facts=facts)

    # --- verification -------------------------------------------------------------------------------------------------

    async def _sorry(self) -> Row:
        """Take a proof out of a text, find the gap as `fill` does, and verify the proof in it."""
        assert self.opened is not None
        if self.traced is None:
            return Row(GROUP, "sorry", "not met", "not looked at, because no file could be traced")
        # 1. The text with `sorry` in place of the proof, and the gap in it.
        sample, proof = self.traced[0], self.proofs[0]
        text = f"{sample.text[: proof.start]}sorry{sample.text[proof.end :]}"
        began = time.monotonic()
        finder = GapFinder(self._lean, start_seconds=60.0)
        try:
            gaps = await finder.find(text)
        finally:
            await finder.close()
        gap = next((each for each in gaps.gaps if each.start == proof.start), None)
        where = f"{proof.theorem.name or proof.theorem.kind} of {sample.name}"
        if gap is None or gap.reason:
            reason = gaps.problem or (gap.reason if gap else "Lean shows no gap there")
            return Row(GROUP, "sorry", "broken", f"the gap in {where} is not found: {reason}", "`proofmesh fill FILE`")
        # 2. The proof, at its place, in fresh processes.
        reply = await self.opened.verifier.verify(gap.theorem(text), proof.script)
        self.verify_seconds = time.monotonic() - began
        facts = {
            "theorem": proof.theorem.name,
            "accepted": reply.accepted,
            "fill_seconds": round(self.verify_seconds, 2),
        }
        if not reply.accepted:
            return Row(GROUP, "sorry", "broken", f"{where}: its own proof is refused: {reply.reason}", "", facts)
        seen = f"{where}: its proof was taken out, the gap found, filled, and accepted in {self.verify_seconds:.1f} s"
        if self.verify_seconds > SLOW_VERIFY:
            return Row(GROUP, "sorry", "slow", seen, "raise [lean_proxy] verify_seconds", facts)
        return Row(GROUP, "sorry", "ok", seen, facts=facts)

    async def _cheats(self) -> Row:
        """An honest proof is accepted, and three cheats are not, by what they are refused for."""
        # 1. All in one file, so that Lean starts once.
        verifier = FileVerifier(self._bare, at_once=1, seconds=40.0, memory_mb=2048)
        try:
            report = await verifier.verify_text(HONEST + CHEATS)
        finally:
            await verifier.close()
        # 2. Trust needs both: a verifier that refuses everything also refuses the cheats.
        verdicts = {each.name: each for each in report.declarations}
        honest = verdicts.get("honest")
        cheats = [each for each in report.declarations if each.name.startswith("by_")]
        accepted = [each.name for each in cheats if each.accepted]
        facts = {"refused": {each.name: each.reason for each in cheats if not each.accepted}, "accepted": accepted}
        self.trusted = not report.problem and honest is not None and honest.accepted and not accepted
        # 3. An accepted cheat comes first: it is worse than an honest proof that is refused.
        if accepted:
            return Row(
                GROUP,
                "cheats",
                "broken",
                f"accepted: {', '.join(accepted)}",
                "trust no verdict here; report this",
                facts,
            )
        if report.problem or honest is None or not honest.accepted:
            reason = report.problem or (honest.reason if honest else "Lean did not reach it")
            return Row(GROUP, "cheats", "broken", f"an honest proof is not accepted either: {reason}", "", facts)
        told = ", ".join(each.name.replace("_", " ") for each in cheats)
        seen = f"an honest proof is accepted, and {len(cheats)} of 3 are refused ({told}), in {report.seconds:.1f} s"
        return Row(GROUP, "cheats", "ok", seen, facts=facts)

    async def _second_kernel(self) -> Row:
        """The kernel of our own, in Python, as `verify --second-kernel` and `recheck` use it."""
        second = SecondKernel(self._bare)
        verifier = FileVerifier(self._bare, at_once=1, seconds=30.0, memory_mb=2048, second=second)
        advice = "only `verify --second-kernel` and `recheck` need it: they take this long once, to read the library"
        try:
            async with asyncio.timeout(min(SECOND_SECONDS, self.until - time.monotonic()) - 1.0):
                report = await verifier.verify_text(HONEST)
        except TimeoutError:
            seen = f"not done after {SECOND_SECONDS:.0f} s: it reads all of Lean's library first, in Python"
            return Row("kernels", "second kernel", "slow", seen, advice)
        finally:
            await verifier.close()
            await second.close()
        facts = {"second_kernel_seconds": round(report.seconds, 2)}
        if not report.accepted or not report.declarations:
            reason = report.problem or next((each.reason for each in report.declarations), "no verdict")
            return Row(
                "kernels", "second kernel", "warning", reason, "`verify --second-kernel` accepts nothing here", facts
            )
        seen = f"accepts an honest proof in {report.seconds:.1f} s"
        if report.seconds > SLOW_SECOND:
            return Row("kernels", "second kernel", "slow", seen, advice, facts)
        return Row("kernels", "second kernel", "ok", seen, facts=facts)

    @property
    def _bare(self) -> LeanToolchain:
        """The same Lean without a header: these texts need no library, and Mathlib's import would take their time."""
        return replace(self._lean, default_header="")

    async def _leanchecker(self) -> Row:
        """Lean's own checker of compiled modules, on a module of the project, where the toolchain has one."""
        name = "leanchecker"
        program = Path(self._lean.command[0]).with_name(name)
        if not program.is_file():
            since = next(each for each in DIFFERENCES if name in each.what)
            told = f"Lean has it since {dotted(since.since)} ({since.source})"
            return Row("kernels", name, "not met", f"this installation has none; {told}; our kernels check without it")
        sample = next(iter(self.samples), None) or next(samples(self.group, self._lean), None)
        if sample is None:
            return Row("kernels", name, "not met", "no compiled module of a project to try it on")
        finished = await run_fresh(
            [str(program), sample.module],
            # Else it would ask `lean` for this folder, and a confined process starts no other.
            environment={**self._lean.environment, "LEAN_SYSROOT": str(program.parents[1])},
            limits=Limits(seconds=28.0, memory_mb=4096),
            keeper=self._lean.keeper((), [program]),
        )
        said = short(finished.errors or finished.output)
        if not finished.code:
            return Row("kernels", name, "ok", f"accepts {sample.module}")
        if "found a problem" in said:  # its words where the kernel refuses a declaration
            return Row("kernels", name, "broken", f"refuses {sample.module}: {said}", "build the project again")
        advice = f"`lake env leanchecker {sample.module}` in the project; verdicts here do not rest on it"
        return Row("kernels", name, "warning", f"does not run on {sample.module}: {said}", advice)

    # --- what commands would do ---------------------------------------------------------------------------------------

    def _verify(self) -> Row:
        """What `verify` would do with the project, or with files of the user."""
        if self.toolchain is None or self.trusted is False:
            return Row("commands", "verify", "broken", "gives no verdicts here, because of the rows above")
        if self.trusted is None:
            return Row("commands", "verify", "not met", "not known: verification was not looked at")
        at_once = len(os.sched_getaffinity(0))
        reads = "" if self._lean.protections.reads else "; code in a file can read your files"
        if self.group is None:
            return Row("commands", "verify", "ok", f"any .lean file for {self._lean.name}, {at_once} at once{reads}")
        files = [each for group in collect([self.group.root], self.group.root) for each in group]
        refused = [each for each in files if each.problem]
        seen = f"{number_of(len(files), 'file')}, {at_once} at once{reads}"
        if self.verify_seconds:
            seen += f"; about {duration(len(files) * self.verify_seconds / at_once)} if all are like {self._sample}"
        facts = {"files": len(files), "refused": len(refused), "at_once": at_once}
        if refused:
            seen = f"cannot read {refused[0].shown} ({refused[0].problem}) and {len(refused) - 1} more, of {seen}"
            return Row("commands", "verify", "warning", seen, "", facts)
        return Row("commands", "verify", "ok", seen, facts=facts)

    @property
    def _sample(self) -> str:
        return self.traced[0].name if self.traced else "it"

    def _prove(self) -> Row:
        """What `prove` would do: header, workers and policy."""
        from node.play.policies import of_the_demo

        if self.toolchain is None or self.header_mb is None:
            state: State = "broken" if self.toolchain is None or self.tried_header else "not met"
            return Row("commands", "prove", state, "does not start here, because of the rows above")
        workers = min(workers_that_fit(read_machine(), self.header_mb), LeanProcessSettings().resolved_workers())
        network = of_the_demo(lambda note: None)
        policy = f"the list of tactics, then with the network {network}" if network else "the list of tactics alone"
        header = short(self._lean.default_header) or "without imports"
        seen = f"{workers} workers, statements {header}, by {policy}"
        facts = {"workers": workers, "header": self._lean.default_header, "network": str(network or "")}
        if self._lean.project and not self._lean.default_header:
            advice = "name what statements need: --lean.imports MODULE; `prove FILE:LINE` takes the file's own imports"
            return Row("commands", "prove", "ok", seen, advice, facts)
        return Row("commands", "prove", "ok", seen, facts=facts)

    def _eval(self) -> Row:
        """Which statements `eval` could play."""
        if self.toolchain is None or self.header_mb is None:
            state: State = "broken" if self.toolchain is None or self.tried_header else "not met"
            return Row("commands", "eval", state, "does not start here, because of the rows above")
        if self._lean.compiled("Mathlib") is not None:
            return Row(
                "commands", "eval", "ok", "benchmarks in Mathlib (minif2f, ...): `proofmesh bank list` names them"
            )
        seen = (
            "the bank that comes with it (pocket); minif2f and others need a project with Mathlib, which this has not"
        )
        return Row("commands", "eval", "ok", seen)


def _problem(reply: object) -> str:
    """Why a tactic did not work; empty if it did."""
    if isinstance(reply, LeanRunReply):
        outcome = reply.outcomes[0]
        worked = outcome.kind in (OutcomeKind.PROVED, OutcomeKind.GOALS)
        return "" if worked else f"{outcome.kind}: {outcome.message}"
    return reply.reason if isinstance(reply, Failure) else f"Lean is busy: {reply}"
