"""`proofmesh eval`: evaluates a policy and a search method on a benchmark: solve rate and cost.

    eval --bench pocket:test --policy own:runs/demo      a bank's split
    eval --bench minif2f:test --lean.project DIR         a known data set (`proofmesh bank list`)
    eval --bench FILE[,FILE]                             .jsonl rows {"name", "statement"}, .txt, .lean with `sorry`s
    eval compare A B ...                                 evaluations of the same statements, in pairs
    eval show [FOLDER ...]                               results as a table

Every proof is verified by Lean's kernel. Each finished attempt is saved in a folder; after a kill or Ctrl-C the same
command resumes. Statements that this Lean refuses, and attempts that failed because of infrastructure, are counted
separately, not as unsolved.

Exit code: 0 the evaluation is finished (with any number of solved statements), 2 bad input (also if no statement
elaborates), 3 infrastructure failed, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from common.config import config_file, load_lean
from common.lean import TacticRule
from common.limits import Duration, Natural, Positive, Samples
from common.machine import own_version
from common.output.command import Exit, UserError, command
from common.output.visible import escaped_json
from common.protocol.attempts import Method, TreeMethod
from common.settings import SAMPLES, LeanSettings, Sampling
from common.watch.tracking import check_tracker
from node.llm.settings import ModelSettings
from node.prover.search.parameters import SearchParameters

if TYPE_CHECKING:
    from common.output.terminal import Console
    from node.bank.benchmarks import Benchmark
    from node.eval.folder import Evaluation, EvaluationFolder, LeanFacts, Plan, StatementRecord
    from node.eval.results import Results
    from node.eval.venue import Venue

EVALUATIONS = Path("evals")
"""Default parent folder of evaluations."""

SESSION_EVERY = 5.0
"""Seconds between notes of the time and CPU that this process has used. After a kill, at most this much is not
counted."""

MANY = 4
"""From this number of additional proof files on, only their number is printed."""


@dataclass
class EvalSettings:
    """Evaluate a policy on a benchmark."""

    bench: str
    """The statements to prove: `pocket:test`, `bank:FOLDER`, a known data set such as `minif2f:test` (`proofmesh bank
    list`), or files (.jsonl, .json, .parquet, .txt, .lean), separated by commas. Of some families alone:
    `puzzles[Wheels7]:test`."""

    policy: str = ""
    """The policy that proposes tactics: `own:PATH` (a checkpoint, or the newest one of a run's folder),
    `openai:URL#MODEL` (a language model on a server), `hf:ID_OR_FOLDER+ADAPTER` (a language model in this process; the
    adapter is optional), `tactics` (a fixed list), `tactics:FILE` (one tactic per line) or `neighbours:RUN` (the list
    and the tactics of a run's proofs, by similarity of their states). Add `@TEMPLATE` to a language model if its name
    does not determine its prompt. `own:PATH+tactics` mixes policies, `own:PATH*2+tactics` with shares;
    `own:PATH,tactics` lets them take turns.
    Empty: the newest checkpoint of runs/demo, or the list if there is none. For whole proofs: a model that writes them,
    or `proofs:FILE` with rows {"name", "proof"} from any prover. On a running mesh (--url): `inference`, `openai:MODEL`
    or `hf:ID_OR_FOLDER` (a model that the mesh serves), `tactics`, or several; empty: the provers' own policy."""

    checkpoint: str = ""
    """A weights file, a checkpoint or a run's folder: short for `--policy own:PATH`."""

    method: Annotated[Method, tyro.conf.EnumChoicesFromValues] = Method.MCTS
    """How to search. `whole-proof` does not search: it samples whole proofs, and Lean tries each."""

    correct: Natural = 0
    """For `whole-proof`: how many times a refused proof goes back to the model with Lean's errors, to be corrected. A
    correction counts as a sampled proof."""

    then: Literal["", TreeMethod] = ""
    """For `whole-proof`: the search method that uses the second half of the budget. It starts from the correct
    beginnings of the failed proofs. The policy then also needs a part that proposes tactics: `proofs:FILE+tactics`.
    Empty: no search."""

    simulations: Natural = 512
    """Budget of an attempt: expansions of proof states, or sampled whole proofs; 0: no limit."""

    lean_attempts: Natural = 0
    """Budget of an attempt: tactics, or whole proofs, that Lean tries; 0: no limit."""

    seconds: Duration = 0.0
    """Budget of an attempt: seconds; 0: no limit. The results then depend on the machine and its load."""

    passes: Positive = 1
    """Attempts at each statement, each with its own seed. You can add more later, in the same folder."""

    seed: Natural = 0
    """Seed of the attempts."""

    limit: Natural = 0
    """Evaluate only this number of statements, spread over families and levels, always the same ones; 0: all."""

    samples: Samples = SAMPLES
    """Tactics that a network samples per expansion, or whole proofs per request to a model."""

    sampling: Sampling = field(default_factory=Sampling)
    """Sampling parameters. Language models use those of their authors, unless you set some here."""

    allow: list[str] = field(default_factory=list)
    """The only tactics that a proof may have: heads (`rfl`, `rw`) and forms (`"rw [h*]"`, `"exact _"`). Empty: those
    that the bank's manifest allows, by default all."""

    ban: list[str] = field(default_factory=list)
    """Tactics that no proof may have, such as `simp`, `omega`, `decide`. Empty: those that the bank's manifest bans."""

    premises: str = ""
    """Folder of a premise index (`proofmesh premises index`). Retrieved premises are added to the prompts of models
    that read premises, and are proposed as tactics with other policies. Empty: none."""

    search: SearchParameters = field(default_factory=SearchParameters)
    """Parameters of the search, as in section [prover.search] of a mesh."""

    models: ModelSettings = field(default_factory=ModelSettings)
    """Settings of language models and of the requests to them."""

    out: Path | None = None
    """Folder of the evaluation; default: a folder in `evals`, named after benchmark, policy and method."""

    data: list[Path] = field(default_factory=list)
    """Folders with local copies of known data sets; $PROOFMESH_DATA names one, too. Otherwise the hub's copy is
    used."""

    revision: str = ""
    """Revision of the hub's copy."""

    tracker: str = ""
    """Trackers that get the results, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several with
    commas. Each is an optional package (docs/operations.md)."""

    keep_searches_mb: Natural = 64
    """Most MiB of search trees that the evaluation's folder keeps, for `proofmesh inspect`; 0: none. Where there is no
    room, the least interesting ones go first."""

    searches: Natural = 0
    """Concurrent searches; 0: four per core, or the number of the mesh's search slots."""

    workers: Natural = 0
    """Lean workers; 0: sized to the machine. A mesh (--url) has its own."""

    url: str = ""
    """Broker of a running mesh, whose provers then search; empty: search in this process."""

    run: str = "demo"
    """Name of that mesh's run."""

    json: bool = False
    """Print the results as one JSON object in place of tables."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config. A running mesh (--url) has its own."""

    config: Path | None = None
    """A TOML file with a section [lean]; flags win over it."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code. Raises ConfigError."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["compare"]:
        from node.command.evaluate import compare as eval_compare

        return eval_compare.main(arguments[1:])
    if arguments[:1] == ["show"]:
        from node.command.evaluate import show as eval_show

        return eval_show.main(arguments[1:])
    file = config_file(arguments)
    default = EvalSettings(bench=tyro.MISSING, lean=load_lean(file), config=file)
    return command(
        EvalSettings,
        arguments,
        _evaluate,
        prog="proofmesh eval",
        description=__doc__,
        default=default,
        interrupted="interrupted; the same command resumes",
    )


async def _evaluate(settings: EvalSettings) -> int:
    from common.life.waiting import ended_by
    from common.output.terminal import Console
    from node.bank.benchmarks import check_lean, load_benchmark
    from node.lean.text.allowed import rule_of
    from node.prover.service import GC_THRESHOLDS

    check(settings)
    rule_of(settings.allow, settings.ban)  # a mistyped entry is told before anything starts
    gc.set_threshold(*GC_THRESHOLDS)  # the same as in a prover
    call = _Call(settings, Console(stderr=True), asyncio.Event())
    with ended_by(signal.SIGINT, signal.SIGTERM, stopping=call.stopping):
        # Names are often mistyped: they are checked before Lean starts and before the broker is asked.
        policy = settings.policy if settings.url else call.checked_policy()
        benchmark = load_benchmark(settings.bench, data=settings.data, revision=settings.revision)
        async with _venue(call, policy) as venue:
            if venue.toolchain is not None:
                check_lean(benchmark, venue.toolchain)
            return await call.evaluate(venue, benchmark)


def check(settings: EvalSettings) -> None:
    """Check that the flags can be combined. Raises UserError."""
    check_tracker(settings.tracker)
    if settings.checkpoint and settings.policy:
        raise UserError("--checkpoint and --policy both name a policy: use one of them")
    if settings.url and settings.checkpoint:
        raise UserError(
            "--checkpoint cannot be used with --url, since the mesh has its own network: start a mesh that serves this "
            f"checkpoint with `proofmesh up --policy own:{settings.checkpoint}`"
        )
    if settings.url and settings.sampling != Sampling():
        raise UserError("--sampling cannot be used with --url: set [prover] sampling in the mesh's configuration")
    if settings.url and settings.premises:
        raise UserError("--premises cannot be used with --url: set [prover] premises in the mesh's configuration")
    if settings.url and settings.search != SearchParameters():
        raise UserError("--search cannot be used with --url: set [prover.search] in the mesh's configuration")
    if (settings.correct or settings.then) and settings.method is not Method.WHOLE_PROOF:
        flag = "--correct" if settings.correct else "--then"
        raise UserError(f"{flag} is for whole proofs only: use it with --method {Method.WHOLE_PROOF}")
    if settings.method is Method.WHOLE_PROOF and settings.passes > 1 and not settings.simulations:
        raise UserError(
            "several --passes of whole proofs need --simulations, the number of proofs per pass: each pass continues "
            "after these proofs"
        )
    if not (settings.simulations or settings.lean_attempts or settings.seconds):
        raise UserError("an attempt without any budget would not end: give --simulations, --lean-attempts or --seconds")


@dataclass
class _Call:
    """One call of the command."""

    settings: EvalSettings
    console: Console
    """For messages to the user; results go to standard output."""
    stopping: asyncio.Event

    def note(self, text: str) -> None:
        """Print a message to the user."""
        from common.output.terminal import lines

        self.console.print(lines(f"proofmesh eval: {text}"), soft_wrap=True)

    def checked_policy(self) -> str:
        """The policy that this process evaluates, after a check that it can be opened. Raises BadPolicy."""
        from node.play.policies import check, of_the_demo

        settings = self.settings
        policy = settings.policy or (f"own:{settings.checkpoint}" if settings.checkpoint else "")
        if not policy:
            demo = of_the_demo(self.note)
            policy = f"own:{demo}" if demo else "tactics"
            self.note(f"no --policy given: evaluating {policy}")
        check(policy, settings.method, settings.then, settings.correct)
        return policy

    async def evaluate(self, venue: Venue, benchmark: Benchmark) -> int:
        """Play the missing attempts, and write the results."""
        from node.eval.folder import Evaluation, EvaluationFolder, Standing, read
        from node.eval.outputs import write_outputs
        from node.eval.statements import chosen
        from node.lean.text.allowed import rule_of

        settings = self.settings
        # 1. The plan, of what is asked for and where it is played.
        for note in benchmark.notes:
            self.note(f"{benchmark.spec}: {note}")
        if benchmark.unread:
            self.note(describe_unread(benchmark))
        banks = benchmark.rule or TacticRule()
        rule = rule_of(settings.allow or banks.allow, settings.ban or banks.ban)
        statements = chosen(benchmark, settings.limit, rule)
        plan = plan_of(settings, benchmark, statements, venue, rule)
        # 2. The folder: a new one gets plan and statements, one of an earlier run must have the same plan.
        with EvaluationFolder(settings.out or EVALUATIONS / name_of(plan)) as folder:
            evaluation = folder.begin(plan)
            if not evaluation.statements:
                statements = await self._elaborated(venue, benchmark, statements)
                folder.write(plan, statements)
                evaluation = Evaluation(folder.path, plan, tuple(statements), ())
            await self._play(venue, folder, evaluation)
            # 3. The results. In a thread: drawing takes seconds, and a second Ctrl-C must still work.
            results = await asyncio.to_thread(write_outputs, read(folder.path), settings.passes)
            if settings.tracker:
                await asyncio.to_thread(_track, settings, folder.path, results)
        printed(results, folder.path, json=settings.json)
        if self.stopping.is_set() and results.missing:
            self.note(f"interrupted; {results.missing} attempts are missing: the same command plays them")
            return Exit.INTERRUPTED
        if results.statements and not results.total.statements:
            return Exit.UNAVAILABLE if results.standings[Standing.UNDECIDED] else Exit.UNUSABLE
        return Exit.DONE

    async def _elaborated(
        self, venue: Venue, benchmark: Benchmark, statements: Sequence[StatementRecord]
    ) -> list[StatementRecord]:
        """Elaborate all statements, and add Lean's error to those that it refuses. Statements of our own bank are known
        to be accepted and are not elaborated; if one is refused, its attempt reports it. A refused header says nothing
        about a statement: its attempts are played again once Lean loads it."""
        from node.bank.benchmarks import POCKET
        from node.eval.statements import with_refusals
        from node.lean.toolchain.advice import HEADER_REFUSED

        refused = {} if benchmark.spec.partition(":")[0] == POCKET else await venue.refusals(statements)
        if refused:
            self.note(describe_refusals(refused, len(statements), venue.lean))
        its_own = {name: error for name, error in refused.items() if not error.startswith(HEADER_REFUSED)}
        return with_refusals(statements, its_own)

    async def _play(self, venue: Venue, folder: EvaluationFolder, evaluation: Evaluation) -> None:
        """Play the missing attempts."""
        from common.records.searches import KeptSearches
        from node.eval.live import LiveView
        from node.eval.player import Runner, due, open_player

        plan, passes = evaluation.plan, self.settings.passes
        missing = due(evaluation.statements, evaluation.attempts, passes)
        if not missing or self.stopping.is_set():
            return
        if evaluation.attempts:
            self.note(f"{folder.path}: resuming, {len(missing)} attempts are missing")
        total = sum(not each.refused for each in evaluation.statements) * passes
        live = LiveView(plan, evaluation.statements, evaluation.attempts, total, self.console)
        most = self.settings.keep_searches_mb * 2**20
        with closing(KeptSearches(folder.path, most)) if most else nullcontext() as searches:
            async with open_player(venue, plan, searches) as player, _session(venue, folder):
                with live:
                    await Runner(player, folder, self.stopping, live.recorded).run(missing)


def _track(settings: EvalSettings, folder: Path, results: Results) -> None:
    """Give the results to the trackers. Raises UserError."""
    from msgspec import to_builtins

    from common.watch.tracking import Tracked

    tracked = Tracked(settings.tracker, folder, to_builtins(results.plan))
    total = results.total
    values = {"solved": total.solved, "statements": total.statements, "share": total.rate, "missing": results.missing}
    levels = {f"level {level}": tally.rate for level, tally in results.levels.items()}
    tracked.write(results.passes, {name: float(value) for name, value in (values | levels).items()})
    tracked.close()


@asynccontextmanager
async def _venue(call: _Call, policy: str) -> AsyncIterator[Venue]:
    """The venue that plays the attempts: a mesh, or this process."""
    settings = call.settings
    if settings.url:
        from node.eval.over_mesh import mesh_venue

        plays = (settings.method, settings.then, settings.correct)
        async with mesh_venue(settings.url, settings.run, policy, settings.searches, call.note, plays) as venue:
            yield venue
        return
    # Imported only here, because with a mesh (--url) this process needs no Lean and no policy.
    from node.eval.alone import LoneVenue
    from node.lean.settings import LeanProcessSettings
    from node.lean.toolchain.find import confined_toolchain

    processes = LeanProcessSettings(lean=settings.lean, workers=settings.workers)
    toolchain = await confined_toolchain(settings.lean)
    yield LoneVenue(
        toolchain,
        processes,
        policy,
        searches=settings.searches,
        models=settings.models,
        premises=settings.premises,
        search=settings.search,
        note=call.note,
    )


def describe_unread(benchmark: Benchmark) -> str:
    """How many rows are not statements, and the reason for the first of them."""
    name, reason = benchmark.unread[0][:2]
    first = "the first is" if len(benchmark.unread) > 1 else "it is"
    return f"{len(benchmark.unread)} of {benchmark.rows} rows are not statements; {first} {name}: {reason}"


def describe_refusals(refused: Mapping[str, str], statements: int, lean: LeanFacts) -> str:
    """How many statements Lean refuses, its most frequent error, and a hint."""
    reasons = Counter(reason.strip().partition("\n")[0][:160] for reason in refused.values())
    reason, count = reasons.most_common(1)[0]
    which = f"most frequent error ({count} times)" if count > 1 else "for example" if len(refused) > 1 else "error"
    text = f"this Lean refuses {len(refused)} of {statements} statements; {which}: {reason}"
    if "unknown module" in reason and "project" not in lean.library:
        text += " (use --lean.project with a Lake project that has these modules)"
    return text


def plan_of(
    settings: EvalSettings,
    benchmark: Benchmark,
    statements: Sequence[StatementRecord],
    venue: Venue,
    rule: TacticRule | None = None,
) -> Plan:
    """The plan of the evaluation, from flags and venue."""
    from node.eval.folder import Budgets, Plan
    from node.eval.statements import facts_of

    return Plan(
        benchmark=facts_of(benchmark, statements),
        lean=venue.lean,
        policy=venue.policy,
        label=venue.label,
        weights=venue.weights,
        method=settings.method,
        budgets=Budgets(
            simulations=settings.simulations, lean_attempts=settings.lean_attempts, seconds=settings.seconds
        ),
        samples=settings.samples,
        correct=settings.correct,
        then=settings.then,
        sampling=venue.sampling or settings.sampling,
        leaves=venue.leaves,
        seed=settings.seed,
        allow=rule.allow if rule is not None else (),
        ban=rule.ban if rule is not None else (),
        search=settings.search.changes(),
        passes=settings.passes,
        mesh=venue.mesh,
        proofmesh=own_version(),
    )


def name_of(plan: Plan) -> str:
    """The default folder name of an evaluation. Equal plans, which may continue in the same folder, get equal names."""
    from node.eval.folder import identity

    digest = hashlib.blake2b(identity(plan), digest_size=3).hexdigest()
    parts = (plan.benchmark.name, plan.benchmark.split, plan.policy, plan.method)
    words = (re.sub(r"[^\w.+]+", "-", Path(part).name if "/" in part else part).strip("-") for part in parts)
    return "-".join([*filter(None, words), digest])[-120:]


@asynccontextmanager
async def _session(venue: Venue, folder: EvaluationFolder) -> AsyncIterator[None]:
    """Record the time and CPU seconds of this process, every few seconds and at the end."""
    from node.eval.alone import own_cpu

    began = time.monotonic()

    def note() -> None:
        folder.note_session(time.monotonic() - began, own_cpu(), venue.lean_cpu())

    async def keep() -> None:
        while True:
            await asyncio.sleep(SESSION_EVERY)
            note()

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        note()


def printed(results: Results, folder: Path, *, json: bool) -> None:
    """Print the results and their files, or one JSON object. They must already be in the folder."""
    from common.output.terminal import Console, line
    from node.eval.outputs import PICTURE, PROOFS, REPORT, RESULTS, summary_lines

    if json:
        sys.stdout.write(escaped_json((folder / RESULTS).read_text(encoding="utf-8")))
        return
    console = Console()
    console.print(summary_lines(results))
    more_files = sorted(file.name for file in folder.glob(f"{Path(PROOFS).stem}-*.lean"))
    many = f"{PROOFS} and {len(more_files)} more files of proofs"
    shown = [PROOFS, *more_files] if len(more_files) < MANY else [many]
    console.print(line(f"in {folder}: {', '.join([REPORT, PICTURE, RESULTS, *shown])}"))


if __name__ == "__main__":
    sys.exit(main())
