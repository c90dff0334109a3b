"""`proofmesh prove`: searches for a proof of a statement, or of a gap in a Lean file, that Lean accepts.

    prove STATEMENT                    'theorem t (p q : Prop) : p ∧ q → q ∧ p'
    prove FILE:LINE                    the `sorry` on that line, or the theorem on that line
    prove FILE NAME                    a theorem of the file; its own proof is ignored
    prove --context FILE STATEMENT     with the whole file in scope
    prove --from FILE.jsonl|.txt|-     many: rows {"name", "statement"}, or one statement per line

Lean and the search run in this process, without a broker. With `--url` the provers of a running mesh search, with the
network of its inference nodes.

Exit code: 0 proved (all of them), 1 not proved within the budget, or disproved, 2 Lean refuses the statement, or bad
input, 3 infrastructure failed.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from common.config import config_file, load, load_lean
from common.limits import Natural, Positive, Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say, say_data, visible
from common.settings import LeanSettings
from node.proving.settings import ProvingSettings

if TYPE_CHECKING:
    from node.proving.answers import Answer
    from node.proving.explain import SearchRecorder
    from node.proving.prover import Budget, TheoremProver
    from node.proving.rows import Row
    from node.proving.statements import Target

FIXED = "tactics"
"""Name of the policy that is a fixed list of tactics."""


@dataclass
class ProveSettings:
    """Prove a statement, a theorem of a file, a `sorry`, or many statements."""

    target: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STATEMENT|FILE:LINE|FILE NAME")]
    """The statement to prove, or its place in a Lean file."""

    context: Path | None = None
    """A Lean file. All its declarations and open namespaces are in scope of the statement."""

    from_: Annotated[str, tyro.conf.arg(name="from")] = ""
    """Many statements: a .jsonl file of rows {"name", "statement"}, a .txt file with one statement per line, or `-`
    for standard input."""

    seconds: Timeout = 20.0
    """Time budget of the search, for each statement."""

    simulations: Positive = 2000
    """Search budget: expansions of proof states, or sampled whole proofs, for each statement."""

    lean_attempts: Natural = 0
    """Search budget: tactics, or whole proofs, sent to Lean, for each statement; 0: no limit. Closing tactics, which
    are tried before the search, do not count."""

    jobs: Natural = 0
    """Concurrent statements with --from; 0: one for each Lean worker."""

    disprove: bool = False
    """Also search for a proof of the negation at the same time. The first proof ends both searches."""

    explain: Path | None = None
    """Write the search to FILE.json and FILE.html: states, tactics, priors, visits, values, Lean's messages."""

    proving: Annotated[ProvingSettings, tyro.conf.arg(name="")] = field(default_factory=ProvingSettings)
    """The policy and the search; section [prove] of --config."""

    checkpoint: str = ""
    """A weights file or a checkpoint folder: short for `--policy own:PATH`."""

    fixed: bool = False
    """Use the fixed list of tactics, even if there is a model: short for `--policy tactics`."""

    url: str = ""
    """Broker of a running mesh, whose provers then search; empty: search in this process."""

    run: str = "demo"
    """Name of that mesh's run."""

    json: bool = False
    """Print one JSON object for each statement instead of the proof's text."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config. A file in a Lake project uses that project. A
    running mesh (--url) has its own."""

    config: Path | None = None
    """A TOML file with sections [lean] and [prove]; flags win over it."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code. Raises ConfigError."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    file = config_file(arguments)
    default = ProveSettings(target=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    return command(ProveSettings, arguments, _prove, prog="proofmesh prove", description=__doc__, default=default)


def _prove(settings: ProveSettings) -> int:
    from node.proving.statements import read_file, read_target

    report = Report(json=settings.json, many=bool(settings.from_))
    try:
        check(settings)
        if settings.from_:
            above = read_file(settings.context) if settings.context else None
            return asyncio.run(_many(settings, above, report))
        return asyncio.run(_one(settings, read_target(settings.target, settings.context), report))
    finally:
        report.close()


def check(settings: ProveSettings) -> None:
    """Check that the flags can be combined. Raises UserError, BadPolicy."""
    if settings.from_ and settings.target:
        raise UserError("--from FILE gives the statements; leave the other statement out")
    if not settings.from_ and not settings.target:
        raise UserError("nothing to prove: give a statement, FILE:LINE, FILE NAME, or --from FILE (see --help)")
    if settings.explain and settings.from_:
        raise UserError("--explain shows the search of one statement: use it without --from")
    if settings.explain and settings.proving.whole_proofs:
        raise UserError("--explain shows a search, and the method whole-proof does not search: use another --method")
    if (settings.proving.correct or settings.proving.then) and not settings.proving.whole_proofs:
        flag = "--correct" if settings.proving.correct else "--then"
        raise UserError(f"{flag} is for whole proofs only: use it with --method whole-proof")
    named = [flag for flag, value in (("--checkpoint", settings.checkpoint), ("--fixed", settings.fixed)) if value]
    if len(named) > 1 or (named and settings.proving.policy not in ("", FIXED if settings.fixed else "")):
        raise UserError(f"{' and '.join(named)} and --policy name policies: use one of them")
    if settings.url and settings.proving.premises:
        raise UserError("--premises cannot be used with --url: set [prover] premises in the mesh's configuration")
    if settings.url:
        from node.play.policies import check_for_mesh

        proving = proving_of(settings)
        check_for_mesh(proving.policy, proving.method, proving.then, proving.correct)
    elif "hf:" in settings.proving.policy:
        from node.play.policies import check as check_policy

        # Before Lean starts, which takes seconds. The folder of a model is often mistyped.
        check_policy(settings.proving.policy, settings.proving.method, settings.proving.then, settings.proving.correct)


def budget_of(settings: ProveSettings) -> Budget:
    from node.proving.prover import Budget

    return Budget(settings.seconds, settings.simulations, settings.lean_attempts)


def proving_of(settings: ProveSettings) -> ProvingSettings:
    """The proving settings, with the policy of --checkpoint or --fixed."""
    if settings.fixed:
        return replace(settings.proving, policy=FIXED)
    return replace(settings.proving, policy=f"own:{settings.checkpoint}") if settings.checkpoint else settings.proving


async def _one(settings: ProveSettings, target: Target, report: Report) -> int:
    from node.proving import answers

    # 1. What cannot be searched is refused before Lean starts.
    if settings.disprove and not target.negations:
        raise UserError(
            f"{target.where}: --disprove cannot negate the goal of a `sorry` within a proof: leave --disprove out"
        )
    # 2. The search. It is recorded only for --explain, because a record keeps the whole tree.
    recorder = None
    if settings.explain is not None:
        from node.proving.explain import SearchRecorder

        recorder = SearchRecorder()
    report.note(f"searching for a proof of {target.readings[0].signature}")
    async with opened_prover(settings, target.file, report.note, recorder) as (prover, _):
        answer = await answers.answer(prover, target, budget_of(settings), disprove=settings.disprove)
        report.add(answer)
        # 3. The answer is out already: a page that cannot be written does not take it back.
        if recorder is not None and settings.explain is not None:
            try:
                report.note(f"the search: {', '.join(map(str, recorder.write(settings.explain, answer)))}")
            except OSError as error:
                raise UserError(f"--explain {settings.explain}: cannot be written: {error.strerror}") from error
        try:
            await prover.keep_header(target.readings[0])
        except asyncio.CancelledError:  # Ctrl-C
            report.note("not saved")
    # 4. The exit code tells a wrong statement and failed machinery from a search that found nothing.
    codes = {
        answers.PROVED: Exit.DONE,
        answers.BAD_STATEMENT: Exit.UNUSABLE,
        answers.ERROR: Exit.UNAVAILABLE,
    }
    return codes.get(answer.outcome, Exit.FAILED)


async def _many(settings: ProveSettings, above: str | None, report: Report) -> int:
    from node.proving import answers
    from node.proving.answers import prove_rows, rows_of

    budget = budget_of(settings)
    rows = rows_of(settings.from_)
    first = await anext(rows)  # reads before Lean starts, so that an invalid file fails at once
    async with opened_prover(settings, settings.context, report.note) as (prover, at_once):
        results = prove_rows(
            prover,
            with_first(first, rows),
            budget,
            at_once=settings.jobs or at_once,
            disprove=settings.disprove,
            above=above,
        )
        proved = True
        async with aclosing(results):
            async for answer in results:
                report.add(answer)
                proved &= answer.outcome == answers.PROVED
    return Exit.DONE if proved else Exit.FAILED


@asynccontextmanager
async def opened_prover(
    settings: ProveSettings, file: Path | None, note: Callable[[str], None], recorder: SearchRecorder | None = None
) -> AsyncIterator[tuple[TheoremProver, int]]:
    """The prover, and how many statements it takes at once. `file`: the Lean file of the statements.

    Raises ProvingFailed, BusError, LeanProblem.
    """
    # 1. The provers of a mesh have a Lean of their own.
    proving = proving_of(settings)
    if recorder is not None:
        proving = replace(proving, closing=[])  # the search tries closing tactics, too, so that they are in its tree
    if settings.url:
        from common.life import logging
        from node.proving.prover import MESH_AT_ONCE, mesh_prover

        logging.configure("error")  # failures are raised as exceptions
        kept = recorder.keep if recorder else None
        async with mesh_prover(settings.url, settings.run, proving, kept=kept) as prover:
            yield prover, MESH_AT_ONCE
        return
    from common.life.waiting import together
    from node.command.projects import lean_for
    from node.lean.settings import LeanProcessSettings
    from node.lean.toolchain.find import confined_toolchain

    lean = LeanProcessSettings(lean=lean_for(settings.lean, [file] if file else []))
    # 2. Here: heavy modules are imported while Lean's first processes start.
    toolchain, _ = await together(confined_toolchain(lean.lean), asyncio.to_thread(_import_prover))
    from node.lean.opened import open_lean
    from node.proving.prover import local_prover

    watch = recorder.watch if recorder else None
    async with (
        open_lean(lean, toolchain) as opened,
        local_prover(opened, proving, note=note, watch=watch, prepare=not settings.from_) as prover,
    ):
        yield prover, lean.resolved_workers()


def _import_prover() -> None:
    """Import the modules of a search in this process."""
    import node.lean.opened
    import node.play.here
    import node.proving.prover  # noqa: F401


async def with_first(first: Row, rows: AsyncGenerator[Row]) -> AsyncGenerator[Row]:
    """The rows, with the first one put back in front."""
    async with aclosing(rows):
        yield first
        async for row in rows:
            yield row


# --- what is printed: proofs and rows on standard output, all else on standard error ----------------------------------


def row(answer: Answer) -> dict[str, Any]:
    """An answer as one JSON object."""
    fields = {
        "name": answer.name,
        "outcome": answer.outcome,
        "proof": answer.proof,
        "seconds": answer.seconds,
        "reason": answer.reason,
        "lean": answer.lean,
        "by": answer.by,
        "axioms": list(answer.axioms),
        "simulations": answer.simulations,
    }
    return fields | ({"replacement": answer.replacement} if answer.replacement else {})


class Report:
    """Prints answers as they arrive. Call `close` at the end."""

    def __init__(self, *, json: bool, many: bool) -> None:
        self._json = json
        self._many = many
        self._counts: Counter[str] = Counter()
        self._live = many and sys.stderr.isatty() and not sys.stdout.isatty()

    def note(self, text: str) -> None:
        """Print progress for the user."""
        say(text, file=sys.stderr, flush=True)

    def add(self, answer: Answer) -> None:
        """Print an answer."""
        from node.proving.answers import DISPROVED, PROVED

        self._counts[answer.outcome] += 1
        if self._json:
            print(as_json(row(answer)), flush=True)
        elif answer.outcome in (PROVED, DISPROVED):
            say_data(answer.replacement.strip("\n") or answer.lean, end="\n\n" if self._many else "\n", flush=True)
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr)
            say(self._summary(), end="", file=sys.stderr, flush=True)
        elif not (self._many and self._json):
            self.note(f"{f'{visible(answer.name)}: ' if self._many else ''}{_in_words(answer)}")

    def close(self) -> None:
        """Print the summary of many statements."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr)
        if self._many and self._counts:
            self.note(self._summary())

    def _summary(self) -> str:
        return f"{self._counts.total()} statements: " + ", ".join(f"{n} {each}" for each, n in self._counts.items())


def _in_words(answer: Answer) -> str:
    from node.command.hints import with_hint
    from node.proving.answers import BAD_STATEMENT

    by = f", by {answer.by}" if answer.by else ""
    reason = with_hint(answer.reason, answer.name) if answer.outcome == BAD_STATEMENT else answer.reason
    return f"{answer.outcome}: {reason} ({answer.simulations} simulations, {answer.seconds:.1f} s{by})"
