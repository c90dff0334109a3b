"""Programs beside the packages: nats-server and pocket Lean, and what some tests use.

./start --setup tools                                          # no root, nothing installed; any bare Python
python -m scripts.setup.tools nats-server|pocket-lean          # steps of set-up, run in the new environment
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

BIN = Path(__file__).resolve().parents[2] / ".cache" / "tools"
"""Where the programs are. Git ignores it."""

PACKAGES = {"promtool": "prometheus", "prometheus": "prometheus", "chromium": "chromium"}
"""Debian's (and Ubuntu's) package of each program that comes out of one."""

NAMES = {"chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")}
"""The names under which a program is found, where it has several."""

TYPESCRIPT = "typescript@7.0.2"
"""npm's package with tsc."""

USED_BY = {
    "promtool": "the tests of metrics and alerts are",
    "prometheus": "the tests of metrics and alerts are",
    "chromium": "the tests of the monitor's pages in a browser are",
    "tsc": "the check of the types in the monitor's scripts is",
}
"""What is skipped without a program. These are all programs that `./start --setup tools` gets."""

SECONDS = 600
"""Longest time of one command: Chromium is 120 MB to download. Each of apt-get's waits is shorter."""

_PATIENCE = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10"]

_CHROMIUM_FILES = "chromium-files"
"""Folder of BIN with Chromium and the libraries that this system lacks."""

_WRAPPER = f"""#!/bin/sh
# Debian's Chromium, with the libraries that came with it and are not installed on this system.
files=$(cd "${{0%/*}}" && pwd)/{_CHROMIUM_FILES}/usr/lib
for folder in "$files"/*-linux-gnu "$files"/*-linux-gnu/pulseaudio; do
    LD_LIBRARY_PATH=$folder${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
done
export LD_LIBRARY_PATH
exec "$files/chromium/chromium" "$@"
"""


class NoTool(Exception):
    """A program could not be got. The message says what to do."""


class NoWay(NoTool):
    """This machine lacks what gets the program, so nothing was tried."""


def find(program: str) -> str | None:
    """The path of a program on PATH, or here; None if there is none."""
    names = NAMES.get(program, (program,))
    return next((path for place in (None, BIN) for name in names if (path := shutil.which(name, path=place))), None)


def get(program: str) -> None:
    """Get a program of USED_BY, and others that come with it. Raises NoTool."""
    BIN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BIN, prefix=".unpacking-") as scratch:
        if program == "tsc":
            _install_typescript(Path(scratch))
        else:
            _take_out_of_package(program, Path(scratch))


def _take_out_of_package(program: str, folder: Path) -> None:
    """Download a program's package, and take it and the package's other programs out of it."""
    package = PACKAGES[program]
    if absent := [each for each in ("apt-get", "dpkg") if shutil.which(each) is None]:
        raise NoTool(
            f"{program}: this system has no {' and no '.join(absent)}, so Debian's package `{package}` cannot be "
            f"unpacked. {_otherwise(program)}"
        )
    # 1. Unpack the files, of Chromium with those of the packages that it needs.
    _download(program, package, folder)
    for file in folder.glob("*.deb"):
        _run(program, ["dpkg", "-x", str(file), str(folder / "unpacked")], folder)
    found = next((folder / "unpacked" / "usr" / "bin").glob(program), None)
    if found is None:
        raise NoTool(f"{program}: Debian's package `{package}` does not contain it here. {_otherwise(program)}")
    # 2. Keep them. What makes the program found is last, so that one that was stopped half-way is got again.
    if program != "chromium":
        for each in [name for name, other in PACKAGES.items() if other == package]:
            if (file := found.with_name(each)).exists():
                file.replace(BIN / each)
        return
    shutil.rmtree(BIN / _CHROMIUM_FILES, ignore_errors=True)
    (folder / "unpacked").replace(BIN / _CHROMIUM_FILES)
    wrapper = folder / program
    wrapper.write_text(_WRAPPER)
    _keep_if_it_runs(program, wrapper, BIN / program)


def _install_typescript(folder: Path) -> None:
    if absent := [each for each in ("npm", "node") if shutil.which(each) is None]:
        raise NoWay(f"tsc: there is no {' and no '.join(absent)} on PATH, which get it. {_otherwise('tsc')}")
    _run("tsc", ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(BIN / "typescript"), TYPESCRIPT], folder)
    script = folder / "tsc"
    script.write_text('#!/bin/sh\nexec "${0%/*}/typescript/node_modules/.bin/tsc" "$@"\n')
    _keep_if_it_runs("tsc", script, BIN / "tsc")


def _keep_if_it_runs(program: str, script: Path, place: Path) -> None:
    """Put a script into its place, unless it cannot tell the program's version. Raises NoTool."""
    script.chmod(0o755)
    script.replace(place)
    try:
        _run(program, [str(place), "--version"], place.parent)
    except NoTool:
        place.unlink()
        raise


def _otherwise(program: str) -> str:
    """The way that is left, and what is lost without it."""
    names = " or ".join(NAMES.get(program, (program,)))
    return f"Put {names} on PATH another way; without it only {USED_BY[program]} skipped"


def _download(program: str, package: str, folder: Path) -> None:
    """Download a program's package. Chromium's comes with the packages that it needs and that are not installed; other
    programs need none."""
    failure: NoTool | None = None
    for lists in _package_lists(program, folder):
        for partly in folder.glob("*.deb"):
            partly.unlink()
        apt = ["apt-get", *_PATIENCE, *lists]
        try:
            packages = [package]
            if program == "chromium":
                plan = _run(program, [*apt, "--simulate", "install", "--no-install-recommends", package], folder)
                packages = re.findall(r"(?m)^Inst (\S+)", plan) or packages
            _run(program, [*apt, "download", *packages], folder)
            return
        except NoTool as error:
            failure = error
    assert failure is not None
    raise failure


def _package_lists(program: str, folder: Path) -> Iterator[list[str]]:
    """Options of apt-get for the system's lists of packages, and then, where these are missing or old, for own ones."""
    yield []
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    own = ["-o", f"Dir::State={folder}/state", "-o", f"Dir::Cache={folder}/cache"]
    own += ["-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "APT::Sandbox::User="]
    _run(program, ["apt-get", *_PATIENCE, *own, "update"], folder)
    yield own


def _run(program: str, command: list[str], folder: Path) -> str:
    """What a command prints. Raises NoTool if it fails."""
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
            f"network. {_otherwise(program)}"
        )
    return done.stdout


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
