"""`proofmesh demo`: a whole mesh on this machine learns to prove theorems, within twelve minutes on two idle cores.

Warm start (cached), evaluation on test statements, reinforcement learning, the same evaluation again, a table of the
results. After Ctrl-C, the same command resumes the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from common import config
from common.files import recipe, write_whole
from common.life.waiting import unless_stopped
from common.limits import Duration, Natural, Port
from common.machine import listenable, measure
from common.output.command import Exit, command, refuse
from common.output.visible import say
from common.protocol.messages import Heartbeat, Point
from common.protocol.subjects import check_run_name
from common.report.table import Table
from common.settings import BusSettings

if TYPE_CHECKING:
    from rich.console import RenderableType


RECIPE = recipe("demo")

PLAN = "plan.json"
"""File in the run directory: the plan that was made for this machine at the start of the run."""

MINUTES_VARIABLE = "DEMO_MINUTES"


def _minutes() -> float | None:
    text = os.environ.get(MINUTES_VARIABLE, "")
    if not text:
        return None
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1.0
    if not 0 < minutes < 1e6:
        raise config.ConfigError(f"{MINUTES_VARIABLE}={text!r}: give a positive number of minutes, such as 6 or 0.5")
    return minutes


@dataclass
class DemoSettings:
    """A mesh on this machine: warm start, evaluation, reinforcement learning, evaluation, summary."""

    run: str = ""
    """Name of the run, and of its folder; empty: `demo`, or `demo-control` with --control."""

    minutes: Duration | None = field(default_factory=_minutes)
    """Minutes of reinforcement learning; default $DEMO_MINUTES. Without either: six minutes, and more on a slow
    machine. The whole demo then ends within twelve minutes on two idle cores, and within thirty on any machine."""

    control: bool = False
    """Control experiment: the same number of supervised steps in place of reinforcement learning."""

    steps: Natural | None = None
    """Steps of the control; default: the steps of the run `demo` in the same folder."""

    repeat: bool = False
    """Evaluate twice before learning, to measure the noise."""

    seed: Natural = 0
    """Seed of the run."""

    port: Port = 5050
    """Port of the monitor. If it is in use, a free one is taken and printed."""

    directory: str = "runs"
    """Folder of the run directories."""

    recipe: Annotated[Path, "A configuration file"] = RECIPE
    """Configuration of the mesh and the learner."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Returns the exit code: 0 done, 1 failed, 2 invalid settings, 130 interrupted."""
    try:
        return command(DemoSettings, argv, _demo, prog="proofmesh demo", description=__doc__)
    except config.ConfigError as error:
        return refuse("proofmesh demo", error)


def _demo(settings: DemoSettings) -> int:
    try:
        settings.run = check_run_name(settings.run or ("demo-control" if settings.control else "demo"))
        folder = Path(settings.directory).absolute() / settings.run
        _put_aside(folder)
        file = write_config(settings, folder, _plan(settings, folder))
    except OSError as error:
        text = f"{error.filename}: {error.strerror}; choose another --directory"
        return refuse("proofmesh demo", text, Exit.FAILED)
    return asyncio.run(_run(settings, folder, file))


def _plan(settings: DemoSettings, folder: Path) -> DemoPlan | None:
    """The plan for this machine. A resumed run keeps its plan. None: the user's flags or the recipe set the time.

    Raises ConfigError, OSError.
    """
    from node.learner.settings import LearnerSettings

    recipe = config.read(settings.recipe)
    config.load(LearnerSettings, settings.recipe, "learner")  # raises ConfigError if the recipe is invalid
    plan = recipe.get("learner", {}).get("plan", {})
    if not plan.get("evaluate"):
        raise config.ConfigError(
            f"{settings.recipe}: [learner.plan] evaluate is not true, but the demo compares two evaluations; set it, "
            "or run the file with `proofmesh up`"
        )
    if settings.minutes is not None or settings.control or "limit_minutes" not in plan:
        return None
    plan_file = folder / PLAN
    if plan_file.exists():
        try:
            return msgspec.json.decode(plan_file.read_bytes(), type=DemoPlan)
        except msgspec.DecodeError:
            say(f"proofmesh demo: {plan_file} is damaged; measuring this machine again", file=sys.stderr)
    pace = measure()
    measured = plan_for(pace.share, pace.cores, recipe)
    say(measured.words, file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(plan_file, msgspec.json.encode(measured))
    return measured


def write_config(settings: DemoSettings, folder: Path, plan: DemoPlan | None = None) -> Path:
    """Write the mesh's configuration file into the run directory. Raises ConfigError, OSError."""
    import tomli_w

    content = mesh_config(settings, config.read(settings.recipe))
    if plan is not None:
        content["learner"].setdefault("evaluation", {})["simulations"] = plan.simulations
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mesh.toml"
    file.write_text(tomli_w.dumps(content), encoding="utf-8")
    return file


def mesh_config(settings: DemoSettings, recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe, with the values of the command line. Raises ConfigError."""
    content: dict[str, Any] = json.loads(json.dumps(recipe))
    content["run"] = {**content.get("run", {}), "name": settings.run, "dir": str(Path(settings.directory).absolute())}
    learner = content.setdefault("learner", {})
    learner["seed"] = settings.seed
    plan = learner.setdefault("plan", {})
    plan["repeat"] = settings.repeat
    if settings.minutes is not None:
        plan["minutes"] = settings.minutes
    if settings.minutes is not None or settings.control:
        for key in ("limit_minutes", "transitions", "training_steps"):
            plan.pop(key, None)
    if settings.control:
        plan["control_steps"] = _control_steps(settings)
        if isinstance(simulations := _demo_summary(settings).get("simulations"), int):
            learner.setdefault("evaluation", {})["simulations"] = simulations
    content.setdefault("ui", {})["port"] = monitor_port(settings.port)
    broker = content.setdefault("broker", {})
    broker.setdefault("port", 0)
    broker.setdefault("store", str(Path(settings.directory).absolute() / settings.run / "broker"))
    return content


def _demo_summary(settings: DemoSettings) -> dict[str, Any]:
    """The summary of the run `demo`, which the control repeats without reinforcement learning; empty if there is
    none."""
    try:
        content = json.loads((Path(settings.directory) / "demo" / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _control_steps(settings: DemoSettings) -> int:
    steps = settings.steps if settings.steps is not None else _demo_summary(settings).get("train_steps")
    if not isinstance(steps, int):
        raise config.ConfigError(
            f"--control takes as many steps as the run `demo`, but {Path(settings.directory) / 'demo'} has no "
            "summary.json with its steps: run `proofmesh demo` first, or give --steps"
        )
    return steps


def monitor_port(preferred: int) -> int:
    """The preferred port, or a free one if it is in use."""
    from node.mesh.plan import free_port

    try:
        return listenable("127.0.0.1", preferred)
    except OSError:
        port = free_port()
    say(f"port {preferred} is in use: the monitor takes {port}", file=sys.stderr)
    return port


def _put_aside(folder: Path) -> None:
    """Rename the folder of a finished run, so that a new run can begin."""
    summary = folder / "summary.json"
    if not summary.exists():
        if (folder / "proofs.sqlite").exists():
            say(f"{folder} has an unfinished run, which is resumed", file=sys.stderr)
        return
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(summary.stat().st_mtime))
    old_run = folder.with_name(f"{folder.name}-{stamp}")
    folder.rename(old_run)
    say(f"the finished run was renamed to {old_run}", file=sys.stderr)


async def _run(settings: DemoSettings, folder: Path, file: Path) -> int:
    """Run the mesh to the end of the learner's plan."""
    from common.life import logging
    from node.mesh.mesh import Mesh
    from node.mesh.supervisor import ChildFailed

    logging.configure("error")  # hides warnings of the first second, before the broker runs
    # 1. The mesh, which Ctrl-C stops in order: its records stay, and the same command resumes.
    started = time.monotonic()
    view = View(folder, settings)
    mesh = Mesh.from_file(file, view.event)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    view.begin(mesh.ui_url)
    await mesh.start()
    watching = asyncio.create_task(view.watch(mesh.bus, mesh.run))
    failure = ""
    try:
        await unless_stopped(mesh.wait(), stopped)
    except ChildFailed as error:
        failure = str(error)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        view.end()
        await mesh.stop()
    # 2. What became of it.
    if failure:
        return refuse("proofmesh demo", failure, Exit.FAILED)
    if stopped.is_set():
        say(f"stopped; `proofmesh demo --run {settings.run}` resumes the run", file=sys.stderr)
        return Exit.INTERRUPTED
    show_summary(finished(folder / "summary.json", time.monotonic() - started))
    say(f"records in {folder}", file=sys.stderr)
    return Exit.DONE


def finished(path: Path, seconds: float) -> dict[str, Any]:
    """The learner's summary. The time of the whole command is added to it and saved."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    content["wall_s"] = round(max(seconds, content["wall_s"]), 1)
    write_whole(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return content


# ----------------------------------------------------------------------------------------------------------------------
# Plans the demo for the speed of this machine (`common.machine`), and tells the user the expected time. Pure.
#
# Reinforcement learning goes on until it reaches `[learner.plan] transitions` and `training_steps`, so it takes
# longer on a slow machine. Only the budget of the evaluations' searches must be planned, since it must be the same
# before and after learning.

FAST_ENOUGH = 0.85
"""Share of the reference's speed from which the plan needs no warnings."""

WARM_START = 2.9
"""Minutes on any machine: its time is limited (`[learner.warm_start] seconds`); a slow machine does fewer steps."""

EVALUATION = 1.9
"""Minutes of the recipe's evaluation on the reference machine."""

LEARNING = 6.0
"""Minutes until the reference machine reaches the recipe's numbers of transitions and training steps."""

CLOSING = 0.5

LONGEST_EVALUATION = 4.0
"""Most minutes of an evaluation; beyond this, its searches get fewer simulations."""

FEWEST_SIMULATIONS = 6


@dataclass(frozen=True)
class DemoPlan:
    """The plan of a demo run."""

    simulations: int
    """Simulations of each search of the evaluations."""
    words: str
    """A line about the expected time, for the user."""


def plan_for(share: float, cores: int, recipe: dict[str, Any]) -> DemoPlan:
    """The plan for a machine with `cores` cores and this share of the reference's speed."""
    learner = recipe.get("learner", {})
    plan, simulations = learner.get("plan", {}), int(learner.get("evaluation", {}).get("simulations", 16))
    limit, minutes = float(plan.get("limit_minutes", 28.0)), float(plan.get("minutes", 6.0))
    share = max(share, 0.01)
    fewer = min(simulations, max(FEWEST_SIMULATIONS, int(simulations * LONGEST_EVALUATION * share / EVALUATION)))
    evaluations = 2 * EVALUATION / share * fewer / simulations
    expected = WARM_START + evaluations + max(minutes, LEARNING / share) + CLOSING
    words = f"{cores} core{'s' if cores > 1 else ''} with {share:.0%} of the power of two idle ones: "
    if share >= FAST_ENOUGH:
        return DemoPlan(simulations, f"{words}this takes about {expected:.0f} minutes")
    words += f"this takes about {min(expected, limit):.0f} minutes, at most {limit + 1:.0f}"
    if fewer < simulations:
        words += f", and its evaluations search with {fewer} simulations in place of {simulations}"
    if expected > limit:
        words += ". That is too little time for all of it: expect a smaller gain"
    return DemoPlan(fewer, words)


# --- The display of the demo while it runs, and the table of results at its end --------------------------------------


LINE_EVERY = 10.0
"""Seconds between progress lines if standard error is not a terminal."""

PHASES = {
    "warm-start": "warm start: supervised training on the bank's short proofs",
    "evaluate-before": "evaluation before learning",
    "repeat-before": "evaluation before learning, once more",
    "rl": "reinforcement learning",
    "control": "control: supervised steps in place of reinforcement learning",
    "evaluate-after": "evaluation after learning",
    "done": "done",
}


class View:
    """Shows the mesh's telemetry: a live panel on a terminal, otherwise a line every ten seconds."""

    def __init__(self, folder: Path, settings: DemoSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._started = time.monotonic()
        self._told: dict[str, tuple[str, dict[str, float]]] = {}
        """Role and latest values of each node. It is replaced as a whole: the panel reads it in a thread of its own."""
        self._point: dict[str, float] = {}
        self._step = 0
        self._phase = "starting"
        self._url = ""
        self._live: Any = None
        self._events: list[str] = []

    def begin(self, url: str) -> None:
        """Print the monitor's address and the run directory, and start the live panel."""
        say(f"monitor: {url or 'none'}", file=sys.stderr)
        say(f"run directory: {self._folder}", file=sys.stderr, flush=True)
        self._url = url
        if sys.stderr.isatty():
            from rich.live import Live

            from common.output.terminal import Console

            self._live = Live(
                get_renderable=self._drawn, console=Console(stderr=True), refresh_per_second=2, transient=True
            )
            self._live.start()

    def end(self) -> None:
        """Stop the live panel."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def event(self, line: str) -> None:
        """Show a line about a node: started, crashed, restarted, ..."""
        self._events = [*self._events[-2:], line]
        if self._live is None:
            say(f"[{self._elapsed()}] {line}", file=sys.stderr, flush=True)

    async def watch(self, bus: BusSettings, run: str) -> None:
        """Follow the mesh's telemetry until cancelled."""
        import asyncio

        from common.bus import Bus, Role

        connection = await Bus.connect(bus, run=run, name="demo", role=Role.VIEWER, wait=None)
        try:
            await connection.subscribe("telemetry.*.*.heartbeat", Heartbeat, self._hear)
            await connection.subscribe("telemetry.learner.*.point", Point, self._see)
            while True:
                if self._live is None:
                    say(self.line(), file=sys.stderr, flush=True)
                await asyncio.sleep(LINE_EVERY)
        finally:
            await connection.close()

    def _hear(self, _: str, heartbeat: Heartbeat) -> None:
        learner = heartbeat.role == "learner"  # a restarted one counts on from the records, so it replaces the old one
        others = {node: told for node, told in self._told.items() if not (learner and told[0] == "learner")}
        self._told = {**others, heartbeat.node_id: (heartbeat.role, heartbeat.values)}
        if learner and heartbeat.state in PHASES and heartbeat.state != self._phase:
            self._phase = heartbeat.state
            if self._live is None:
                say(self.line(), file=sys.stderr, flush=True)

    def _see(self, _: str, point: Point) -> None:
        self._point.update(point.values)
        self._step = point.step

    def totals(self) -> dict[str, float]:
        """The latest values of all nodes, summed by role."""
        sums: dict[str, float] = defaultdict(float)
        for role, values in self._told.values():
            for key, value in values.items():
                sums[f"{role}.{key}"] += value
        return sums

    def line(self) -> str:
        """The progress of the run in one line."""
        return f"[{self._elapsed()}] {PHASES.get(self._phase, self._phase)}: {self.facts()}"

    def facts(self) -> str:
        """The numbers to show in the current phase."""
        totals = self.totals()
        if self._phase == "warm-start":
            loss = f"{self._point['valid_loss']:.3f}" if "valid_loss" in self._point else "not measured yet"
            return f"step {self._step}, validation loss {loss}"
        if self._phase.startswith(("evaluate", "repeat")):
            done, total = totals["learner.eval_done"], totals["learner.eval_total"]
            progress = f"{done:.0f} of {total:.0f} test statements, {totals['learner.eval_solved']:.0f} proved"
            undecided = totals["learner.eval_undecided"]
            return f"{progress}, {undecided:.0f} undecided" if undecided else progress
        left = totals["learner.budget_left_s"]
        facts = [
            f"{totals['learner.results']:.0f} attempts",
            f"{totals['learner.proofs_verified']:.0f} proofs verified",
            f"{totals['learner.train_steps']:.0f} steps",
            f"solve rate {totals['learner.solve_rate']:.0%}",
            f"paused {totals['learner.pause_fraction']:.0%}",
        ]
        return ", ".join([*facts, f"{left:.0f} s left"] if left >= 0 and self._phase == "rl" else facts)

    def _elapsed(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds // 60:02}:{seconds % 60:02}"

    def _drawn(self) -> RenderableType:
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        from common.output.terminal import line as one_line

        grid = Table.grid(padding=(0, 2))
        grid.add_row("elapsed", self._elapsed())
        grid.add_row("phase", PHASES.get(self._phase, self._phase))
        grid.add_row("", self.facts())
        totals = self.totals()
        if self._phase.startswith(("evaluate", "repeat")) and totals["learner.eval_total"]:
            bar = ProgressBar(total=totals["learner.eval_total"], completed=totals["learner.eval_done"], width=50)
            grid.add_row("", bar)
        if "loss" in self._point:
            grid.add_row("loss", f"{self._point['loss']:.3f} at step {self._step}")
        grid.add_row("Lean", f"{totals['lean-proxy.candidates']:.0f} candidates tried")
        grid.add_row("monitor", self._url)
        for line in self._events:
            grid.add_row("", one_line(line, style="dim"))
        return Panel(grid, title=one_line(f"proofmesh demo, run {self._settings.run}"), title_align="left")


ROWS = (
    ("solved before", "solved_before"),
    ("solved after", "solved_after"),
    ("solved both times", "both_solved"),
    ("test statements", "test_total"),
    ("simulations each", "simulations"),
    ("attempts recorded (learner)", "attempts"),
    ("roots solved (provers)", "roots_solved"),
    ("proofs verified (lean-proxies)", "proofs_verified"),
    ("proofs rejected (lean-proxies)", "proofs_rejected"),
    ("proofs recorded (learner)", "recorded_proofs"),
    ("transitions", "transitions"),
    ("training steps", "train_steps"),
    ("expansions per second", "expansions_per_s"),
    ("share of time paused", "pause_fraction"),
    ("seconds in all", "wall_s"),
    ("Lean", "lean_version"),
)


def show_summary(summary: dict[str, Any]) -> None:
    """Print the table of a finished run."""
    from common.output.terminal import Console

    table = Table(("", ""), title=f"run {summary['run']} ({summary['kind']})")
    for title, key in ROWS:
        table.add(title, str(summary[key]))
    before, after = summary["undecided_before"], summary["undecided_after"]
    if before or after:
        table.add("undecided (infrastructure failed)", f"{before} before, {after} after; left out of the gain")
    if factors := summary.get("budget_factors"):
        table.add("more simulations for", ", ".join(factors))
    table.add("gain, points (95% interval)", _gain(summary))
    for name, of_bank in summary.get("banks", {}).items():
        solved = f"{of_bank['solved_before']} -> {of_bank['solved_after']} of {of_bank['test_total']}"
        table.add(f"{name}: solved, gain", f"{solved}, {_gain(of_bank)}")
    groups = Table(("", "statements", "before", "after"), title="by family and level")
    for rows in summary["solved_by"].values():
        for name, (count, before, after) in rows.items():
            groups.add(f"level {name}" if name.isdigit() else name, str(count), str(before), str(after))
    Console().print(table, groups, sep="\n")


def _gain(compared: dict[str, Any]) -> str:
    gain, low, high = (compared[key] * 100 for key in ("difference", "ci_low", "ci_high"))
    return f"{gain:+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
