"""CPU seconds of this process and of the Lean processes that it started."""

from __future__ import annotations

import os
import resource

import psutil


def own_cpu() -> float:
    """CPU seconds of this process since its start."""
    return sum(os.times()[:2])


def children_cpu() -> float:
    """CPU seconds of all descendants of this process since its start, ended ones included.

    When a process has ended and its parent has waited for it, the kernel adds its time to the parent's. The times of
    the running descendants, and of the children that they have waited for, are added here.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = used.ru_utime + used.ru_stime
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has just ended: its parent has its time
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
