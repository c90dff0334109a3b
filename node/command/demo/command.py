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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from common import config
from common.files import write_whole
from common.life.waiting import unless_stopped
from common.limits import Duration, Natural, Port
from common.output.visible import say
from common.pace import measure
from common.protocol.subjects import BadRunName, check_run_name
from common.recipes import recipe

RECIPE = recipe("demo")

PLAN = "plan.json"
"""File in the run directory: the plan that was made for this machine at the start of the run."""

MINUTES_VARIABLE = "DEMO_MINUTES"

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT."""


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
    """Minutes of reinforcement learning; default $DEMO_MINUTES. Without either: seven minutes, and more on a slow
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
    import tyro

    try:
        settings = tyro.cli(DemoSettings, args=argv, prog="proofmesh demo", description=__doc__)
        config.check_flags(settings)
        settings.run = check_run_name(settings.run or ("demo-control" if settings.control else "demo"))
        folder = Path(settings.directory).absolute() / settings.run
        _put_aside(folder)
        file = write_config(settings, folder, _plan(settings, folder))
    except (BadRunName, config.ConfigError) as error:
        say(f"proofmesh demo: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        say(f"proofmesh demo: {error.filename}: {error.strerror}; choose another --directory", file=sys.stderr)
        return 1
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
    from common.ports import listenable
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
    from node.command.demo.view import View, show_summary
    from node.mesh.mesh import Mesh
    from node.mesh.supervisor import ChildFailed

    logging.configure("error")  # hides warnings of the first second, before the broker runs
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
    if failure:
        say(f"proofmesh demo: {failure}", file=sys.stderr)
        return 1
    if stopped.is_set():
        say(f"stopped; `proofmesh demo --run {settings.run}` resumes the run", file=sys.stderr)
        return INTERRUPTED
    show_summary(finished(folder / "summary.json", time.monotonic() - started))
    say(f"records in {folder}", file=sys.stderr)
    return 0


def finished(path: Path, seconds: float) -> dict[str, Any]:
    """The learner's summary. The time of the whole command is added to it and saved."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    content["wall_s"] = round(max(seconds, content["wall_s"]), 1)
    write_whole(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return content


# ----------------------------------------------------------------------------------------------------------------------
# Plans the demo for the speed of this machine (`common.pace`), and tells the user the expected time. Pure.
#
# Reinforcement learning goes on until it reaches `[learner.plan] transitions` and `training_steps`, so it takes
# longer on a slow machine. Only the budget of the evaluations' searches must be planned, since it must be the same
# before and after learning.

FAST_ENOUGH = 0.85
"""Share of the reference's speed from which the plan needs no warnings."""

WARM_START = 2.9
"""Minutes on any machine: its time is limited (`[learner.warm_start] seconds`); a slow machine does fewer steps."""

EVALUATION = 0.7
"""Minutes of the recipe's evaluation on the reference machine."""

LEARNING = 4.0
"""Minutes until the reference machine reaches the recipe's numbers of transitions and training steps."""

CLOSING = 0.5

LONGEST_EVALUATION = 1.9
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
    limit, minutes = float(plan.get("limit_minutes", 28.0)), float(plan.get("minutes", 7.0))
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


if __name__ == "__main__":
    sys.exit(main())
