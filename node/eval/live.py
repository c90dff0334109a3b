"""Progress of a running evaluation: a live table on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from common.output.visible import visible
from common.statistics import wilson
from node.eval.folder import AttemptRecord, Plan, Standing, StatementRecord
from node.eval.results import FIRST_BUDGET

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from common.output.terminal import Console

REFRESHED = 2
"""Redraws of the table per second. Each takes 2 ms of this process."""

LINE_SECONDS = 10.0
"""Seconds between two lines without a terminal."""

MOST_FAMILIES = 12
"""Most rows of the table; a low terminal shows fewer."""

_OTHER_LINES = 9
"""Lines of the screen that are not rows of families."""


class Counts:
    """Counts of the outcomes so far. Each attempt is counted once, when it ends."""

    def __init__(self, statements: Sequence[StatementRecord]) -> None:
        self.standings: Counter[Standing] = Counter()
        """Attempts by standing."""
        self.refused = {each.name for each in statements if each.refused}
        """Statements that do not elaborate."""
        self.families: Counter[str] = Counter(each.family for each in statements)
        """Statements by family."""
        self.decided_of: Counter[str] = Counter()
        """Decided attempts by family; `solved_of`: solved attempts by family."""
        self.solved_of: Counter[str] = Counter()
        self.within: Counter[int] = Counter()
        """Proofs by the smallest reported budget of simulations that finds them."""
        self._family = {each.name: each.family for each in statements}

    def add(self, record: AttemptRecord) -> None:
        """Counts an attempt that has ended."""
        self.standings[record.standing] += 1
        if record.standing is Standing.NOT_ELABORATED:
            self.refused.add(record.name)
        if not record.decided:
            return
        family = self._family.get(record.name, "")
        self.decided_of[family] += 1
        if record.standing is Standing.SOLVED:
            self.solved_of[family] += 1
            budget = FIRST_BUDGET
            while budget < record.statistics.solved_at_simulations:
                budget *= 2
            self.within[budget] += 1

    @property
    def solved(self) -> int:
        return self.standings[Standing.SOLVED]

    @property
    def decided(self) -> int:
        return self.solved + self.standings[Standing.UNSOLVED]

    def solved_within(self) -> list[tuple[int, int]]:
        """(simulations, attempts solved within that number), for 8, 16, ... up to the budget that includes all
        proofs."""
        totals, total, budget = [], 0, FIRST_BUDGET
        while total < sum(self.within.values()):
            total += self.within[budget]
            totals.append((budget, total))
            budget *= 2
        return totals


class LiveView:
    """Shows a running evaluation inside a `with` block. Call `recorded` with each attempt that has ended."""

    def __init__(
        self,
        plan: Plan,
        statements: Sequence[StatementRecord],
        already: Iterable[AttemptRecord],
        total: int,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`already`: attempts in the folder. `total`: attempts of the whole evaluation, including these."""
        self._plan = plan
        self._total = total
        self._console = console
        self._clock = clock
        self._live: Live | None = None
        self.counts = Counts(statements)
        latest = {(each.name, each.number): each for each in already}
        for record in latest.values():
            if record.standing is not Standing.UNDECIDED:  # it is played again, and counted then
                self.counts.add(record)
        self._before = self._done_when_said = self._done
        self._began = self._said = clock()

    @property
    def _done(self) -> int:
        return self.counts.standings.total()

    def __enter__(self) -> LiveView:
        self._began = self._said = self._clock()
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                get_renderable=self.table, console=self._console, refresh_per_second=REFRESHED, transient=True
            )
            self._live.start()
        else:
            self._say()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._done > self._done_when_said:
            self._say()

    def recorded(self, record: AttemptRecord) -> None:
        """Counts an attempt that has ended, and prints a line if one is due."""
        self.counts.add(record)
        if self._live is None and self._clock() - self._said >= LINE_SECONDS:
            self._say()

    def _say(self) -> None:
        self._said, self._done_when_said = self._clock(), self._done
        self._console.print(self.line(), markup=False, highlight=False, soft_wrap=True)

    def line(self) -> str:
        """The whole progress in one line."""
        return f"{self._done}/{self._total} attempts, {self._outcomes()}; {self._speed()}"

    def table(self) -> RenderableType:
        """The table for the terminal."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        head = Table.grid(padding=(0, 1), expand=True)
        head.add_column(ratio=1)
        head.add_column(no_wrap=True)
        bar = ProgressBar(total=max(1, self._total), completed=self._done)
        head.add_row(bar, Text(f"{self._done}/{self._total} attempts"))
        parts: list[RenderableType] = [
            Text(f"{visible(self._plan.label)} on {visible(self._plan.benchmark.spec)}", style="bold", no_wrap=True),
            head,
            Text(self._speed(), style="dim"),
            Text(self._outcomes()),
        ]
        if within := self.counts.solved_within():
            share = [f"{budget}: {solved / self.counts.decided:.1%}" for budget, solved in within]
            parts.append(Text(f"solved within simulations  {'  '.join(share)}", no_wrap=True, overflow="ellipsis"))
        if len(self.counts.families) > 1:
            parts.append(self._families())
        return Group(*parts)

    def _families(self) -> RenderableType:
        """The table of the largest families, as many as fit on the screen."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("family", no_wrap=True, max_width=40)
        for name in ("solved", "of", "share"):
            table.add_column(name, justify="right")
        shown = max(1, min(MOST_FAMILIES, self._console.size.height - _OTHER_LINES))
        for family, _ in self.counts.families.most_common(shown):
            solved, decided = self.counts.solved_of[family], self.counts.decided_of[family]
            share = f"{solved / decided:.1%}" if decided else ""
            table.add_row(Text(visible(family) or "-"), str(solved), str(decided), share)
        if (remaining := len(self.counts.families) - shown) > 0:
            table.add_row(Text(f"and {remaining} smaller ones", style="dim"))
        return table

    def _outcomes(self) -> str:
        """Counts of the outcomes, and the solve rate with its interval."""
        counts = self.counts
        parts = [f"{counts.solved} solved", f"{counts.standings[Standing.UNSOLVED]} unsolved"]
        if undecided := counts.standings[Standing.UNDECIDED]:
            parts.append(f"{undecided} undecided")
        if counts.refused:
            parts.append(f"{len(counts.refused)} statements not elaborated")
        if counts.decided:
            low, high = wilson(counts.solved, counts.decided)
            parts.append(f"rate {counts.solved / counts.decided:.1%} ({low:.1%} to {high:.1%})")
        return ", ".join(parts)

    def _speed(self) -> str:
        """Attempts per second of this process, and the time that the remaining attempts take at this speed."""
        seconds, played = self._clock() - self._began, self._done - self._before
        remaining = max(0, self._total - self._done)
        if not played or seconds <= 0:
            return f"{remaining} to play"
        rate = played / seconds
        return f"{rate:.2f} attempts/s, {_duration(seconds)} so far, {_duration(remaining / rate)} left"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"
