"""CPU seconds of this process, and of the Lean processes that it has started."""

from __future__ import annotations

import os
import resource

import psutil


def own_cpu() -> float:
    """CPU seconds of this process since it began."""
    return sum(os.times()[:2])


def children_cpu() -> float:
    """CPU seconds of all processes below this one since it began, ended ones included.

    The kernel counts a process to its parent when it has ended and the parent has waited for it; those that live, and
    what they have waited for, are added here.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has ended meanwhile, and counts to its parent
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
