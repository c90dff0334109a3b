"""`proofmesh stp run FILE`, `resume RUN` and `focus RUN STATEMENT`: run self-play with its mesh on this machine."""

from __future__ import annotations

import asyncio
import math
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from common import config, run_folder
from common.files import write_whole
from common.limits import Duration, Natural, Positive
from common.output.command import Exit, refuse
from common.output.terminal import Console, lines
from common.output.visible import say, say_data
from common.protocol.subjects import BadRunName
from common.settings import BusSettings
from node.command.demo import monitor_port
from node.llm import models
from node.llm.address import BadModel
from node.llm.models import served_name
from node.model.checkpoint_folders import CheckpointError
from node.stp.data.initial import RunData, data_of
from node.stp.readers import RECIPE
from node.stp.records import FILE, StpError
from node.stp.settings import CHOSEN, FOCUS, StpPlan, StpSettings, read_plan
from ui.settings import UiSettings

PROG = "proofmesh stp"
"""The name before errors."""

STARTING = 600.0
"""Seconds to wait for our own broker. A start takes minutes on a busy machine; a crash of the broker is reported at
once."""

ANSWERING = 10.0
"""Seconds to wait for a broker that should already run."""

REGISTRY = 120.0
"""Seconds to wait for the run's registry on such a broker, which accepts connections before it has created one."""

TRIES = 4
"""How often an attempt is played whose infrastructure fails."""

MAY_CHANGE = ("rounds", "cycles", "minutes", "tracker")
"""Settings that may change when a run is resumed."""


@dataclass
class RunOptions:
    """Flags of `stp run`, which override the recipe."""

    run: str = ""
    """Name of the run, and of its folder; empty: as in the recipe."""
    directory: str = ""
    """Folder of the run directories; empty: as in the recipe."""
    url: str = ""
    """The broker of a running mesh with inference nodes, provers and lean-proxies; empty: start
    a mesh here, which nodes of other machines may join."""
    here: bool = False
    """Play in this process alone, without a broker and without nodes; for small runs on one machine."""
    stp: StpSettings = field(default_factory=StpSettings)
    """Settings of [stp]."""


def main_run(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    import tyro

    arguments = list(argv)
    file = next((each for each in arguments if each.endswith(".toml")), "")
    if not file and not {"-h", "--help"} & set(arguments):
        return refuse(PROG, "no recipe given: name a file, such as scripts/recipes/stp-pocket.toml")
    try:
        default = RunOptions(stp=read_plan(Path(file)).settings if file else StpSettings())
        options = tyro.cli(
            Annotated[RunOptions, tyro.conf.arg(name="")],
            args=[each for each in arguments if each != file],
            default=default,
            prog="proofmesh stp run FILE",
            description="Self-play by a recipe. The same command resumes after a kill.",
        )
        config.check_flags(options)
        changes: dict[str, Any] = {"stp": msgspec.to_builtins(options.stp)}
        run = {key: value for key, value in (("name", options.run), ("dir", options.directory)) if value}
        plan = read_plan(Path(file), {**changes, "run": run})
        return played_plan(plan, options.url, here=options.here)
    except (config.ConfigError, BadRunName) as error:
        return refuse(PROG, error)


@dataclass
class ResumeOptions:
    """Resume a run of self-play with its recipe."""

    run: Annotated[Path, "positional"]
    """Folder of the run."""
    url: str = ""
    """The broker of a running mesh, as for `stp run`."""
    here: bool = False
    """Play in this process alone, as for `stp run`."""


def main_resume(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    import tyro

    options = tyro.cli(
        ResumeOptions, args=list(argv), prog="proofmesh stp resume", config=(tyro.conf.PositionalRequiredArgs,)
    )
    try:
        plan = plan_of(options.run)
        if plan.directory.parent.name == FOCUS:
            return refuse(
                PROG, f"{options.run} is a run of `stp focus`: repeat that command with the same statement and --seed"
            )
        return played_plan(plan, options.url, here=options.here)
    except (config.ConfigError, BadRunName) as error:
        return refuse(PROG, error)


def plan_of(run: Path) -> StpPlan:
    """The plan of the run in this folder. Raises ConfigError if there is no run, or if its recipe is damaged."""
    folder = run.absolute()
    if not (folder / RECIPE).is_file():
        raise config.ConfigError(f"{run} holds no run of self-play (no {RECIPE}); `proofmesh stp run FILE` starts one")
    return replace(read_plan(folder / RECIPE), directory=folder)


def played_plan(
    plan: StpPlan, url: str = "", data: RunData | None = None, again: str = "", *, here: bool = False
) -> int:
    """Play a run to its end; returns the exit code. `url`, `here`: see `RunOptions`. `data`: the initial data; None: as
    in its settings. `again`: the command that resumes it, for messages; empty: `stp resume`.

    Raises ConfigError.
    """
    if url and here:
        raise config.ConfigError("--here plays in this process, and --url on a running mesh: choose one")
    again = again or f"proofmesh stp resume {plan.directory}{' --here' if here else ''}"
    try:
        with owned(plan.directory):
            keep_recipe(plan, again)
            return asyncio.run(_run(plan, url, data, again, here=here))
    except StpError as error:
        return refuse(PROG, error, Exit.FAILED)
    except OSError as error:
        return refuse(PROG, f"{error.filename or plan.directory}: {error.strerror or error}", Exit.FAILED)


@contextmanager
def owned(directory: Path) -> Iterator[None]:
    """Lock the run directory, so that only one process plays the run. Raises StpError, OSError."""
    in_use = f"{directory}: another process plays this run; wait for it, or choose another --run"
    with run_folder.owned(directory, lambda: StpError(in_use)):
        yield


def keep_recipe(plan: StpPlan, again: str) -> None:
    """Write the recipe into the run directory. Raises ConfigError if the run has records and was begun with other
    settings."""
    import tomli_w

    file = plan.directory / RECIPE
    if file.exists() and (plan.directory / FILE).exists():
        changed = run_folder.changes(_essentials(read_plan(file)), _essentials(plan))
        if changed:
            raise config.ConfigError(
                f"{plan.directory} was begun with other settings ({', '.join(each.name for each in changed)}; see "
                f"{file}): choose another name for this run, or resume it with the old settings by `{again}`"
            )
    content = {
        **plan.mesh,
        "run": {**plan.mesh.get("run", {}), "name": plan.name, "dir": str(plan.directory.parent)},
        "stp": config.table_of(plan.settings),
        # Without the settings that the run chooses itself, which a recipe may not have.
        **{
            section: {key: value for key, value in config.table_of(training).items() if key not in CHOSEN[plan.trainer]}
            for section, training in plan.trainings.items()
        },
    }
    write_whole(file, tomli_w.dumps(content).encode())


def _essentials(plan: StpPlan) -> dict[str, Any]:
    """The settings that the results of a run depend on, by section."""
    settings = {key: value for key, value in asdict(plan.settings).items() if key not in MAY_CHANGE}
    settings["model"] = identity_of(plan.settings.model)
    return {"stp": settings, **{name: asdict(stage) for name, stage in plan.trainings.items()}}


def identity_of(model: str) -> str:
    """The model without its servers, which may change while a run is stopped. Invalid addresses are unchanged."""
    try:
        return models.parse_model(model).identity if model else ""
    except BadModel:
        return model


def mesh_config(plan: StpPlan) -> dict[str, Any]:
    """Configuration of the run's mesh: the recipe's sections, without a learner, and what the run's network needs."""
    content = {key: dict(value) for key, value in plan.mesh.items()}
    content["run"] = {**content.get("run", {}), "name": plan.name, "dir": str(plan.directory.parent)}
    content["up"] = {**content.get("up", {}), "learner": 0}
    monitor = content.get("ui", {})
    content["ui"] = {**monitor, "port": monitor_port(monitor.get("port", UiSettings().port))}
    content["broker"] = {"port": 0, "store": str(plan.directory / "broker"), **content.get("broker", {})}
    # What the recipe says comes before what the network needs.
    prover: dict[str, Any] = {"policy": "inference"}
    model, template = plan.settings.model, plan.settings.template
    if model:
        prover["policy"] = f"{served_name(models.parse_model(model))}@{template}"
        if Path(template).suffix == ".toml":
            prover["templates"] = [template]
        content["inference"] = {"model": model, "follow": str(plan.directory), **content.get("inference", {})}
    content["prover"] = {**prover, **content.get("prover", {})}
    return content


async def _run(plan: StpPlan, url: str, data: RunData | None, again: str, *, here: bool) -> int:
    """Play the run to its end. Raises StpError, ConfigError, OSError."""
    import tomli_w

    from common.bus import BusError
    from common.life import logging
    from common.life.waiting import unless_stopped
    from node.lean.toolchain.lean_toolchain import LeanProblem
    from node.mesh.mesh import Mesh
    from node.mesh.plan import PortInUse
    from node.mesh.supervisor import ChildFailed
    from node.play.attempts import ProvingFailed
    from node.play.serving import ServingError
    from node.prover.policies.names import BadPolicy

    broken = (StpError, ChildFailed, PortInUse, BusError, ServingError, CheckpointError)
    broken_here = (LeanProblem, BadPolicy, ProvingFailed)
    # 1. Ctrl-C ends the run in order.
    logging.configure("error")
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    with StpView(plan) as view:
        # 2. The data comes before the mesh starts, so that errors in it are reported at once.
        begun = data if data is not None else await asyncio.to_thread(data_of, plan)
        # 3. The rounds: on a running mesh, in this process, or on a mesh of our own.
        try:
            file = plan.directory / "mesh.toml"
            if not url:
                write_whole(file, tomli_w.dumps(mesh_config(plan)).encode())
            if url:
                playing = _connected(BusSettings(url=url), plan, view, begun, wait=ANSWERING, registry=REGISTRY)
                await unless_stopped(playing, stopped)
            elif here:
                await unless_stopped(_here(file, plan, view, begun), stopped)
            else:
                async with Mesh.from_file(file, view.note) as mesh:
                    if mesh.ui_url:
                        view.note(f"monitor: {mesh.ui_url}")
                    await unless_stopped(_beside(mesh, plan, view, begun), stopped)
        except (*broken, *broken_here) as error:
            raise StpError(f"{error}. All records are kept: resume with `{again}`") from error
    if stopped.is_set():
        say(f"stopped; resume with `{again}`", file=sys.stderr)
        return Exit.INTERRUPTED
    return Exit.DONE


async def _here(file: Path, plan: StpPlan, view: Any, data: RunData) -> None:
    """Play the rounds in this process, with the settings that the nodes of a mesh would have. Raises LeanProblem,
    BadPolicy, ProvingFailed, ConfigError."""
    from common.machine import read_machine, sizes
    from node.inference.settings import InferenceSettings
    from node.lean.opened import open_lean
    from node.lean.toolchain.find import confined_toolchain
    from node.lean_proxy.settings import LeanProxySettings
    from node.play.here import LocalAttempts
    from node.prover.policies.names import INFERENCE
    from node.prover.settings import ProverSettings
    from node.stp.rounds import played

    processes = config.load(LeanProxySettings, file, "lean_proxy")
    prover = config.load(ProverSettings, file, "prover")
    threads = config.load(InferenceSettings, file, "inference").threads or sizes(read_machine()).inference_threads
    toolchain = await confined_toolchain(processes.lean)
    async with (
        open_lean(processes, toolchain) as lean,
        LocalAttempts(lean, prover, network=INFERENCE, threads=threads, tries=TRIES, note=view.note) as attempts,
    ):
        await played(plan, attempts, view, data)


async def _beside(mesh: Any, plan: StpPlan, view: Any, data: RunData) -> None:
    """Play the rounds while the mesh runs. The first failure ends both, and its exception is raised."""
    # No time limit for the registry: a crash of the broker ends the wait.
    connected = _connected(mesh.bus, plan, view, data, wait=STARTING, registry=math.inf)
    playing, watching = asyncio.create_task(connected), asyncio.create_task(mesh.wait())
    try:
        done, _ = await asyncio.wait({playing, watching}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (playing, watching):
            task.cancel()
        await asyncio.gather(playing, watching, return_exceptions=True)
    for task in done:
        task.result()


async def _connected(
    broker: BusSettings, plan: StpPlan, view: Any, data: RunData, *, wait: float, registry: float
) -> None:
    """Connect to a mesh's broker and play the rounds. `wait`: most seconds until it accepts a connection. `registry`:
    most seconds after that until it has created the run's registry. Raises BusError."""
    from common.bus import Bus, Role, persistently
    from common.protocol.attempts import SELF_PLAY
    from node.play.mesh import MeshAttempts
    from node.stp.rounds import played

    bus = await Bus.connect(broker, run=plan.name, name="stp", role=Role.STP, wait=wait)
    end = time.monotonic() + registry
    try:
        await persistently(
            bus.nodes,
            "the broker has no registry yet",
            until=lambda: bus.given_up.is_set() or time.monotonic() > end,
        )
        async with MeshAttempts(bus, SELF_PLAY, tries=TRIES) as attempts:
            await played(plan, attempts, view, data)
    finally:
        await bus.close()


# --- the display: a progress bar of the current part, and a line for each finished part -----------------------------

LINE_EVERY = 15.0
"""Seconds between progress lines if standard error is not a terminal."""


class StpView:
    """Implements `node.stp.work.Watcher` on standard error."""

    def __init__(self, plan: StpPlan) -> None:
        self._plan = plan
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._begun = self._last_line = time.monotonic()
        self._name, self._total = "", 0
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> StpView:
        self._progress.start()
        self.note(f"self-play {self._plan.name}, records in {self._plan.directory}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Print a message."""
        seconds = int(time.monotonic() - self._begun)
        self._console.print(lines(f"[{seconds // 60:02}:{seconds % 60:02}] {text}"), soft_wrap=True)

    def part(self, name: str, total: int) -> None:
        """A part with `total` pieces begins."""
        self._name, self._total = name, total
        self._progress.reset(self._task, description=name, total=total or None)

    def advance(self, done: int) -> None:
        """`done` pieces of the current part are finished."""
        self._progress.update(self._task, completed=done)
        now = time.monotonic()
        if self._progress.disable and now - self._last_line > LINE_EVERY:
            self._last_line = now
            self.note(f"{self._name}: {done:,} of {self._total:,}" if self._total else f"{self._name}: {done:,}")


# --- rounds around one hard statement (`stp focus`) ------------------------------------------------------------------


@dataclass
class FocusOptions:
    """Conjecture variants of a statement, prove them and learn from them, until the statement is proved or the budget
    ends."""

    run: Annotated[Path, "positional"]
    """Folder of a run of self-play. Its network and proofs are the starting point."""
    statement: Annotated[str, "positional"]
    """`theorem NAME BINDERS : CONCLUSION`, or the name of a statement of the run's data."""
    rounds: Positive = 20
    """Most rounds."""
    minutes: Duration = 20.0
    """Minutes after which no further round begins; 0: no limit."""
    conjectures: Positive = 64
    """Conjectures of each round."""
    samples: Positive = 32
    """Proofs sampled for the statement and for each conjecture, in each round."""
    seed: Natural = 0
    """Seed of all sampling."""


def main_focus(argv: Sequence[str]) -> int:
    """The command. Returns the exit code: 0 proved, 1 not proved, 2 bad input."""
    import tyro

    options = tyro.cli(
        FocusOptions,
        args=list(argv),
        prog="proofmesh stp focus",
        description="Rounds of self-play around one hard statement.",
        config=(tyro.conf.PositionalRequiredArgs,),
    )
    from node.bank.statements import Refused, theorem
    from node.stp.rounds import Focus, begin, focused_plan
    from node.stp.store import StpStore

    try:
        config.check_flags(options)
        # The focused run is a new run; the source run is only read.
        source = plan_of(options.run)
        records = StpStore(source.directory / FILE, read_only=True)
        try:
            target = records.theorem(options.statement) or theorem(options.statement)
            focus = Focus(options.conjectures, options.samples, options.rounds, options.minutes)
            plan = focused_plan(source, target, focus, options.seed)
            data = begin(plan, records, data_of(source), target)
        finally:
            records.close()
        code = played_plan(plan, data=data, again=f"proofmesh stp focus {options.run} ... --seed {options.seed}")
        if code != Exit.DONE:
            return code
        store = StpStore(plan.directory / FILE, read_only=True)
        try:
            proofs = store.proofs(target.name)
        finally:
            store.close()
    except (config.ConfigError, BadRunName, Refused) as error:
        return refuse(PROG, error)
    except (StpError, CheckpointError) as error:
        return refuse(PROG, error, Exit.FAILED)
    if not proofs:
        say(f"not proved within the budget; records in {plan.directory}", file=sys.stderr)
        return Exit.FAILED
    shortest = min(proofs, key=lambda proof: proof.length)
    body = "\n".join(f"  {line}" for line in shortest.script.splitlines())
    say_data(f"{target.signature} := by\n{body}")
    return Exit.DONE
