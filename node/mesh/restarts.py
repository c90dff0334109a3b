"""Decides whether and when to restart a child that crashed. A pure state machine: times in, decisions out."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.output.command import Exit


@dataclass(frozen=True)
class RestartRules:
    """Exponential back-off, and a limit of restarts within a window. All times in seconds."""

    first_delay: float = 0.5
    factor: float = 2.0
    longest_delay: float = 30.0
    limit: int = 5
    """Most restarts within `window`; one more crash ends the mesh."""
    window: float = 120.0
    """Must be longer than the delays of `limit` restarts together (0.5 + 1 + ... + 8 = 15.5 s); otherwise the limit
    could never be reached."""
    stable: float = 30.0
    """Seconds of running after which a child counts as healthy: the next back-off begins at `first_delay`."""


@dataclass(frozen=True)
class Restart:
    """Restart the child after `delay` seconds."""

    delay: float


@dataclass(frozen=True)
class GiveUp:
    """Do not restart the child."""

    reason: str


@dataclass
class RestartHistory:
    """The recent crashes of one child."""

    rules: RestartRules
    started_at: float = 0.0
    deaths: list[float] = field(default_factory=list)
    """Times of the crashes within the window."""
    in_a_row: int = 0
    """Crashes since the child last ran for `stable` seconds."""

    def started(self, now: float) -> None:
        """Record a start of the child."""
        self.started_at = now

    def died(self, now: float, code: int) -> Restart | GiveUp:
        """Record that the child ended with this exit code (negative: killed by a signal), and decide what to do."""
        if code == Exit.UNUSABLE:  # an invalid configuration: a restart cannot help
            return GiveUp("its configuration is wrong (exit code 2)")
        rules = self.rules
        self.in_a_row = 1 if now - self.started_at >= rules.stable else self.in_a_row + 1
        self.deaths = [time for time in self.deaths if now - time < rules.window] + [now]
        if len(self.deaths) > rules.limit:
            return GiveUp(f"it crashed {len(self.deaths)} times within {rules.window:g} s")
        delay = rules.first_delay * rules.factor ** (self.in_a_row - 1)
        return Restart(min(delay, rules.longest_delay))
