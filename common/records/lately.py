"""Why a mesh is slow: where the time of its latest attempts went, and which of four faults that means, if any.

The learner sums up its timelines every few seconds, and its heartbeats carry the sums (`proofmesh top`, the monitor);
`proofmesh report` sums up the records of a run. Both then ask `cause`.
"""

from __future__ import annotations

import enum
import math
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

from common.output.words import percent
from common.records.rows import Parts

WINDOW = 120.0
"""Seconds that a heartbeat sums up: many attempts, and a fault is seen within a minute or two."""

SLOW_SECONDS = 0.8
"""An expansion that waits longer for Lean, or for the policy, is slow: Lean takes 0.1 s to 0.6 s in small libraries on
two cores, and a small network less. Above it, the larger of the two is named if it takes much of the
time."""

MUCH = 0.3
"""A share of the time of slots and results that is worth a word. A healthy mesh spends most of it in Lean."""

SILENT_SECONDS = 10.0
"""A learner that was not heard for so long is stopped, or blocked: heartbeats come every second."""

TIMELINES_SINCE = 12
"""Schema version from which records have timelines of attempts."""

IDLE_SINCE = 13
"""Schema version from which timelines say how long the slot was free before."""

_PREFIX = "lately_"


@dataclass(frozen=True)
class Lately:
    """Sums over the attempts that were recorded within a time."""

    attempts: int
    """With a timeline."""
    expansions: int
    policy: float
    """Seconds that their expansions waited for the policy: of each expansion, though they overlap."""
    lean: float
    idle: float
    """Seconds that search slots were free before these attempts came."""
    parts: Parts
    """Seconds by part."""

    def values(self) -> dict[str, float]:
        """As values of a heartbeat."""
        own = {name: value for name, value in asdict(self).items() if name != "parts"}
        return {f"{_PREFIX}{name}": round(value, 3) for name, value in (own | asdict(self.parts)).items()}

    @staticmethod
    def of_values(values: Mapping[str, float]) -> Lately | None:
        """From the values of a learner's heartbeat; None if it does not say."""
        try:
            parts = Parts(**{each.name: values[f"{_PREFIX}{each.name}"] for each in fields(Parts)})
            attempts, expansions, *spent = (values[f"{_PREFIX}{name}"] for name in _OWN)
        except KeyError:
            return None
        policy, lean, idle = spent
        return Lately(int(attempts), int(expansions), policy, lean, idle, parts)


_OWN = tuple(each.name for each in fields(Lately) if each.name != "parts")


def lately(db: sqlite3.Connection, seconds: float = math.inf) -> Lately:
    """The sums over the attempts that were recorded in these last seconds before the latest record. Records of earlier
    versions have no timelines: then no attempt counts."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version < TIMELINES_SINCE:
        return Lately(0, 0, 0.0, 0.0, 0.0, Parts(*(0.0 for _ in fields(Parts))))
    idle = version >= IDLE_SINCE
    names = ["policy", "lean", "idle", *(each.name for each in fields(Parts))]
    sums = ", ".join(f"TOTAL({_COLUMNS.get(name, name) if idle or name != 'idle' else '0'})" for name in names)
    begin = -1.0
    if math.isfinite(seconds):
        begin = (db.execute("SELECT MAX(recorded) FROM results").fetchone()[0] or 0.0) - seconds
    row = db.execute(
        f"SELECT COUNT(*), TOTAL(expansions), {sums} FROM results JOIN timelines USING (attempt_id)"
        " WHERE recorded >= ?",
        (begin,),
    ).fetchone()
    attempts, expansions, policy, waited, free, *spent = row
    return Lately(attempts, int(expansions), policy, waited, free, Parts(*spent))


BUCKET = 100
"""Most attempts that stand for a bucket of time: sums over all of a long run would take seconds."""


def course(db: sqlite3.Connection, buckets: int) -> list[tuple[float, int, Parts]]:
    """Where the time went over the run: for each bucket of time with attempts its middle (Unix time of recording), how
    many attempts were summed up (its first ones), and their seconds by part."""
    first, last = db.execute("SELECT MIN(recorded), MAX(recorded) FROM results").fetchone()
    if first is None or db.execute("PRAGMA user_version").fetchone()[0] < TIMELINES_SINCE:
        return []
    width = max((last - first) / buckets, 1e-3)
    sums = ", ".join(f"TOTAL({each.name})" for each in fields(Parts))
    found = []
    for number in range(buckets):
        begin = first + number * width
        end = begin + width if number < buckets - 1 else math.inf
        count, *spent = db.execute(
            f"SELECT COUNT(*), {sums} FROM (SELECT attempt_id FROM results WHERE recorded >= ? AND recorded < ?"
            " ORDER BY recorded LIMIT ?) JOIN timelines USING (attempt_id)",
            (begin, end, BUCKET),
        ).fetchone()
        if count:
            found.append((begin + width / 2, count, Parts(*spent)))
    return found


@dataclass(frozen=True)
class Slow:
    """An attempt that took long."""

    attempt_id: str
    theorem_id: str
    outcome: str
    recorded: float
    parts: Parts


def slowest(db: sqlite3.Connection, limit: int, seconds: float = math.inf, without: tuple[str, ...] = ()) -> list[Slow]:
    """The attempts that took longest from dispatch to record, of those that were recorded in these last seconds before
    the latest record. `without`: parts of their time that do not count."""
    if db.execute("PRAGMA user_version").fetchone()[0] < TIMELINES_SINCE:
        return []
    names = [each.name for each in fields(Parts)]
    whole = " + ".join(f"timelines.{name}" for name in names if name not in without)
    latest = db.execute("SELECT MAX(recorded) FROM results").fetchone()[0] or 0.0
    lately = math.isfinite(seconds)
    rows = db.execute(
        f"SELECT attempt_id, theorem_id, outcome, recorded, {', '.join(f'timelines.{name}' for name in names)} FROM"
        f" (SELECT attempt_id FROM timelines {'JOIN results USING (attempt_id) WHERE recorded >= ?' if lately else ''}"
        f" ORDER BY {whole} DESC LIMIT ?) JOIN timelines USING (attempt_id) JOIN results USING (attempt_id)"
        f" JOIN attempts USING (attempt_id) ORDER BY {whole} DESC",
        (*((latest - seconds,) if lately else ()), limit),
    ).fetchall()
    return [Slow(attempt, theorem, outcome, at, Parts(*spent)) for attempt, theorem, outcome, at, *spent in rows]


_COLUMNS = {"policy": "seconds_policy", "lean": "seconds_lean"}


# --- the verdict ------------------------------------------------------------------------------------------------------


class Fault(enum.StrEnum):
    """What makes a mesh slow."""

    LEAN = "lean"
    INFERENCE = "inference"
    STARVED = "starved"
    PAUSED = "paused"
    NONE = "none"


@dataclass(frozen=True)
class Cause:
    """The verdict."""

    fault: Fault
    text: str
    """A sentence, with the numbers that it follows from."""
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.advice}".strip()


ADVICE = {
    Fault.LEAN: "If it waits: more lean-proxies or [lean_proxy] workers. If it runs: a lower [prover] tactic_seconds or"
    " [learner] samples.",
    Fault.INFERENCE: "More inference nodes, a GPU, a larger [inference.engine] slots, or a smaller network.",
    Fault.STARVED: "A larger [learner] ahead, or fewer [prover] searches; while an evaluation ends, this is normal.",
    Fault.PAUSED: "Is it stopped, out of CPU, or on a slow disk? A core for the learner alone, or a larger [learner]"
    " results.",
}


def cause(lately: Lately | None, silent: float = 0.0) -> Cause:
    """Which of four faults makes the mesh slow. `silent`: seconds since the learner was heard.

    A slot is free, waits for Lean or for the policy, or computes; a finished result waits for the learner. The largest
    of these is the cause if it takes much of the time, and, of Lean and policy, if it is slow by itself, too: a mesh
    whose Lean is fast spends most of its time there as well. The queue is no fault: attempts are dispatched ahead.
    """
    # 1. A learner that says nothing has no news.
    if silent > SILENT_SECONDS:
        return Cause(Fault.PAUSED, f"The learner is paused: not heard for {silent:.0f} s.", ADVICE[Fault.PAUSED])
    if lately is None or not lately.attempts:
        return Cause(Fault.NONE, "Nothing to tell: no attempt was recorded lately.")
    # 2. The largest that counts.
    found = {each.fault: each for each in suspects(lately)}
    guilty = [each for each in found.values() if each.counts]
    if not guilty:
        shown = ", ".join(f"{each.name} {percent(each.share)}" for each in found.values())
        return Cause(Fault.NONE, f"Nothing is slow ({shown}).")
    worst = max(guilty, key=lambda each: each.share)
    fault, share, seconds = worst.fault, percent(worst.share), worst.seconds
    slots = "of the time of search slots and results"
    text = {
        Fault.LEAN: f"Lean is slow: an expansion waits {seconds:.1f} s for it, {share} {slots}.",
        Fault.INFERENCE: f"Inference is slow: an expansion waits {seconds:.1f} s for it, {share} {slots}.",
        Fault.STARVED: f"Provers are starved: a search slot is free for {seconds:.1f} s before an attempt, {share}"
        f" {slots}.",
        Fault.PAUSED: f"The learner is paused: a result waits {seconds:.1f} s for it, {share} {slots}.",
    }[fault]
    return Cause(fault, text, ADVICE[fault])


class Suspect(NamedTuple):
    """What a verdict follows from: one of the four faults, with its numbers."""

    fault: Fault
    name: str
    share: float
    """Of the time of search slots and results."""
    seconds: float
    """For Lean and inference by expansion, else by attempt."""
    counts: bool
    """Whether it is large enough to be the cause."""


def suspects(lately: Lately) -> list[Suspect]:
    """The four faults with their numbers."""
    parts, attempts, expansions = lately.parts, max(1, lately.attempts), max(1, lately.expansions)
    spent = {
        Fault.LEAN: parts.lean_wait + parts.lean_run,
        Fault.INFERENCE: parts.policy_wait + parts.policy_run,
        Fault.STARVED: lately.idle,
        Fault.PAUSED: parts.dispatch + parts.result_wait + parts.store,
    }
    whole = sum(spent.values()) + parts.search + parts.bus or 1.0
    waits = {Fault.LEAN: lately.lean / expansions, Fault.INFERENCE: lately.policy / expansions}
    return [
        Suspect(
            fault,
            _NAMES[fault],
            seconds / whole,
            waits.get(fault, seconds / attempts),
            seconds / whole >= MUCH and waits.get(fault, math.inf) >= SLOW_SECONDS,
        )
        for fault, seconds in spent.items()
    ]


_NAMES = {
    Fault.LEAN: "Lean",
    Fault.INFERENCE: "inference",
    Fault.STARVED: "free slots",
    Fault.PAUSED: "waiting for the learner",
}
