"""The run directory: its layout, the lock that gives it to one process, and the wording of its errors."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from common import curves
from common.protocol.subjects import check_run_name
from common.records.database import RunDirectoryError, explained
from common.run_folder import owned

SPACE_NEEDED = 64 * 1024 * 1024
"""Bytes that must be free at start: some checkpoints of the demo's network, and the database's growth meanwhile."""


class RunDirectory:
    """`runs/<run>/`, owned by this process from `open` to `close`."""

    def __init__(self, root: Path, run: str) -> None:
        self.path = root / check_run_name(run)
        self.database = self.path / "proofs.sqlite"
        self.replay = self.path / "replay"
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.evaluations = self.path / curves.EVALUATIONS
        self.config = self.path / "config.toml"
        self.summary = self.path / "summary.json"
        self.weights = self.path / "weights"
        self.logs = self.path / "logs"
        self._owner = self.path / "owner.json"
        self._held = ExitStack()

    def open(self, wait: float = 0.0) -> None:
        """Create and lock the directory. `wait`: seconds to wait for the lock of a process that is about to end.

        Raises RunDirectoryError, which names the process that holds the lock or says why it cannot be written.
        """
        with explained(self.path):
            self._held.enter_context(owned(self.path, self._in_use, lock="lock", wait=wait))
            for folder in (self.replay, self.checkpoints, self.weights):
                folder.mkdir(exist_ok=True)
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
            self._held.callback(self._owner.unlink, missing_ok=True)
            self._owner.write_text(json.dumps(owner), encoding="utf-8")
            self._check_space()

    def close(self) -> None:
        """Release the directory."""
        self._held.close()

    def _in_use(self) -> RunDirectoryError:
        try:
            owner = json.loads(self._owner.read_text(encoding="utf-8"))
            holder = f"process {owner['pid']} on {owner['host']} (since {owner['since']})"
        except (OSError, ValueError, KeyError):
            holder = "another process"
        return RunDirectoryError(f"{self.path} is in use by {holder}; stop it, or use --run")

    def _check_space(self) -> None:
        disk = os.statvfs(self.path)
        free = disk.f_bavail * disk.f_frsize
        if free < SPACE_NEEDED:
            raise RunDirectoryError(
                f"{self.path}: {free // 2**20} MiB are free, a run needs {SPACE_NEEDED // 2**20} MiB to start; free "
                "some space, or choose another folder with --directory"
            )
