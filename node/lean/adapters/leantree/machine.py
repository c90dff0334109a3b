"""The machine's part of the status of a LeanTree server."""

from __future__ import annotations

from typing import Any

import psutil


def machine_status() -> dict[str, Any]:
    """Use of each core since the last call, in percent, and of memory, in bytes."""
    memory = psutil.virtual_memory()
    return {
        "cpu_percent_per_core": psutil.cpu_percent(percpu=True),
        "ram": {
            "total_bytes": memory.total,
            "available_bytes": memory.available,
            "used_bytes": memory.used,
            "percent": memory.percent,
        },
        "leanserver_rss_bytes": psutil.Process().memory_info().rss,
    }
