"""Measures how fast this machine is right now, relative to a reference machine.

One process per core counts how often it finishes a fixed piece of work. Few cores, slow cores, and cores that other
programs use all give a lower count.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from common.sizing import read_machine

SECONDS = 1.5
"""Seconds of counting: several time slices of the scheduler."""

REFERENCE = 19_000.0
"""Rounds per second on two idle cores of the machine that the demo's plan was measured on."""

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
"""The piece of work: dictionaries, sorting and text, like most of proofmesh's Python code."""


@dataclass(frozen=True)
class Pace:
    """The result of a measurement."""

    cores: int
    """Cores that this process may use."""
    rounds: float
    """Rounds per second, all cores together."""

    @property
    def share(self) -> float:
        """Speed relative to the reference: 1 on two idle cores of the same kind."""
        return self.rounds / REFERENCE


def measure(seconds: float = SECONDS) -> Pace:
    """Run the piece of work on every core for some seconds. Raises OSError if no process can be started."""
    cores = read_machine().cores
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(seconds)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(cores)]
    counts = [process.communicate()[0].strip() for process in processes]
    return Pace(cores, sum(int(rounds) for rounds in counts if rounds.isdigit()) / seconds)
