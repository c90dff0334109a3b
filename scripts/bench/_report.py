"""Reports the results of a benchmark: prints them as JSON with facts of the machine, and writes them to a file."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Facts of the machine that are needed to interpret a result."""
    import torch

    return {
        "cpus": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "machine": platform.machine(),
        "torch": torch.__version__,
    }


def asked(settings: object) -> dict[str, Any]:
    """The settings of a measurement, as JSON values."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in vars(settings).items()}


def report(results: Any, file: Path | None) -> None:
    """Print the results, and write them to `file` if there is one. Raises OSError."""
    text = json.dumps(results, indent=2)
    print(text)
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")
