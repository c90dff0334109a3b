"""The display of the demo while it runs, and the table of results at its end."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.output.visible import say
from common.protocol.messages import Heartbeat, Point
from common.settings import BusSettings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from node.command.demo.command import DemoSettings

LINE_EVERY = 10.0
"""Seconds between progress lines if standard error is not a terminal."""

PHASES = {
    "warm-start": "warm start: supervised training on proofs of levels 1 and 2",
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
        self._values: dict[str, dict[str, float]] = {}
        self._roles: dict[str, str] = {}
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

        from common.bus import Bus

        connection = await Bus.connect(bus, run=run, name="demo", wait=None)
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
        self._values[heartbeat.node_id] = heartbeat.values
        self._roles[heartbeat.node_id] = heartbeat.role
        if heartbeat.role == "learner" and heartbeat.state in PHASES and heartbeat.state != self._phase:
            self._phase = heartbeat.state
            if self._live is None:
                say(self.line(), file=sys.stderr, flush=True)

    def _see(self, _: str, point: Point) -> None:
        self._point.update(point.values)
        self._step = point.step

    def totals(self) -> dict[str, float]:
        """The latest values of all nodes, summed by role."""
        sums: dict[str, float] = defaultdict(float)
        for node, values in self._values.items():
            for key, value in values.items():
                sums[f"{self._roles[node]}.{key}"] += value
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
    from rich.table import Table

    from common.output.terminal import Console

    console = Console()
    table = Table(title=f"run {summary['run']} ({summary['kind']})", title_justify="left", show_header=False)
    for title, key in ROWS:
        table.add_row(title, str(summary[key]))
    before, after = summary["undecided_before"], summary["undecided_after"]
    if before or after:
        table.add_row("undecided (infrastructure failed)", f"{before} before, {after} after; left out of the gain")
    gain, low, high = (summary[key] * 100 for key in ("difference", "ci_low", "ci_high"))
    table.add_row("gain, points (95% interval)", f"{gain:+.1f} ({low:+.1f} to {high:+.1f})")
    console.print(table)
    groups = Table("", "statements", "before", "after", title="by family and level", title_justify="left")
    for rows in summary["solved_by"].values():
        for name, (count, before, after) in rows.items():
            groups.add_row(f"level {name}" if name.isdigit() else name, str(count), str(before), str(after))
    console.print(groups)
