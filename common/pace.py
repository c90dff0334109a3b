"""How much work this machine does right now, whatever else it does, beside what a plan was made for.

A process for each core counts how often it gets through a fixed piece of work. So one core, slow cores, and cores that
are shared with other programs all show, as less work in the same time.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from common.sizing import read_machine

SECONDS = 1.5
"""How long is counted: several turns of the scheduler's."""

REFERENCE = 19_000.0
"""Rounds a second of two idle cores of the machine that the demo's plan was measured on."""

PROGRAM = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
rounds = 0
while time.monotonic() < end:
    table = {}
    for number in range(600):
        table[number * 7919 % 409] = number
    text = "".join(map(str, sorted(table.values())))
    rounds += len(text) > 0
print(rounds)
"""
"""Dictionaries, sorting and text, as everything but the mathematics is made of."""


@dataclass(frozen=True)
class Pace:
    """What was measured."""

    cores: int
    """Cores that this process may use."""
    rounds: float
    """Pieces of work a second, all cores together."""

    @property
    def share(self) -> float:
        """Of the reference's work: 1 on two idle cores like its own."""
        return self.rounds / REFERENCE


def measure(seconds: float = SECONDS) -> Pace:
    """Keep every core busy for a moment, and count. Raises OSError where no process can be started."""
    cores = read_machine().cores
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(seconds)]
    counting = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(cores)]
    counted = [process.communicate()[0].strip() for process in counting]
    return Pace(cores, sum(int(rounds) for rounds in counted if rounds.isdigit()) / seconds)
