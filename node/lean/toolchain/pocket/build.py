"""Compile pocket Lean's library to .olean files, once per wheel version and source text.

python -m node.lean.toolchain.pocket.build [--out DIRECTORY]

The result is a directory for LEAN_PATH. It is built in a temporary directory and renamed at the end, so it is complete
or absent. A lock file makes concurrent callers wait for one build."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path

from filelock import FileLock

from common.files import cache_directory
from common.output.command import UserError
from node.lean.toolchain.pocket import kernel, launcher

# --- The command and the environment that run pocket Lean ------------------------------------------------------------
#
# subprocess.run([*toolchain.command(), "--json", "--stdin"], env=toolchain.environment(), ...)


def environment() -> dict[str, str]:
    """All variables that Lean needs: LEAN_PATH, LEAN_BACKTRACE, the path of the native library. None is inherited.

    Builds the library on first use (seconds; later calls return at once). Raises PocketBuildError.
    """
    return lean_environment(library())


@cache
def library() -> Path:
    """Directory of the compiled library, which is built on first use, and locked until this process ends."""
    while not hold(directory := build()):
        pass  # another process deleted the build before it was locked: build again
    return directory


# --- Locks the builds of pocket Lean in the cache while they are in use, and deletes old unused builds ---------------
#
# A process that runs Lean from a build holds a shared lock on the build's seal until the process ends. A process that
# deletes a build first takes an exclusive lock on the seal. The system releases both locks when their process ends,
# also after a crash.


SEAL = "BUILT"
"""A file in a built directory, written last. It has the build's key, then the size in bytes and path of each file."""

MOST_BUILDS = 2
"""Builds that stay in the cache: the current one, and one of another branch or checkout."""

_held: list[int] = []
"""Descriptors of locked seals. They stay open, and so locked, until this process ends."""


def hold(directory: Path) -> bool:
    """Protect a build from deletion until this process ends. Returns False if it has just been deleted."""
    try:
        descriptor = os.open(directory / SEAL, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_there(directory / SEAL, descriptor):
        os.close(descriptor)
        return False
    _held.append(descriptor)
    with contextlib.suppress(PermissionError):  # another user's cache: the seal then keeps the time of the build
        os.utime(directory / SEAL)
    return True


def prune(cache: Path, keep: int = MOST_BUILDS) -> list[Path]:
    """Delete all builds in `cache` except the `keep` last used ones and locked ones. Returns the deleted builds."""
    seals = sorted(cache.glob(f"pocket-*/{SEAL}"), key=_last_used, reverse=True)
    pruned = [seal.parent for seal in seals[keep:] if _take_away(seal)]
    for each in cache.glob(".pruned-pocket-*"):  # includes those of a process that was killed between rename and here
        shutil.rmtree(each, ignore_errors=True)
    return pruned


def _last_used(seal: Path) -> float:
    try:
        return seal.stat().st_mtime
    except FileNotFoundError:  # another process is pruning
        return 0.0


def _take_away(seal: Path) -> bool:
    """Rename the build of a seal, to delete it. Returns False if the build is locked or already gone."""
    try:
        descriptor = os.open(seal, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_there(seal, descriptor):
            return False
        # The rename is atomic, so other processes see either the complete build or none.
        seal.parent.rename(seal.parent.with_name(f".pruned-{seal.parent.name}"))
    except OSError:  # locked, another user's, or the new name is taken by a leftover that `prune` deletes
        return False
    finally:
        os.close(descriptor)
    return True


def _is_there(path: Path, descriptor: int) -> bool:
    """True when the path still leads to the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


SOURCES = Path(__file__).parent / "lean"

Report = Callable[[str], None]


class PocketBuildError(UserError):
    """Pocket Lean's library could not be built. The message names the module and quotes Lean's message."""


def wheel_version() -> str:
    """Version of the installed wheel that contains Lean. Raises PocketBuildError if it is not installed."""
    try:
        return importlib.metadata.version(launcher.WHEEL)
    except importlib.metadata.PackageNotFoundError:
        raise PocketBuildError(
            f"the wheel {launcher.WHEEL} is not installed: run `just setup` (Linux x86-64, glibc 2.35 or later)"
        ) from None


def module_files(sources: Path) -> dict[str, Path]:
    """Source files by module name: `Pocket/Nat/Basic.lean` is `Pocket.Nat.Basic`. Raises PocketBuildError."""
    files = sorted(sources.rglob("*.lean"))
    if not files:
        raise PocketBuildError(f"{sources}: no .lean files in this folder; install proofmesh again")
    return {".".join(file.relative_to(sources).with_suffix("").parts): file for file in files}


def imports(text: str) -> list[str]:
    """Modules that a source file imports, each once. Each import is a line, such as `public import A`."""
    found = re.findall(r"^(?:public )?(?:meta )?import (\S+)\s*$", text, flags=re.MULTILINE)
    return [*dict.fromkeys(found)]


def library_key(sources: Path, version: str) -> str:
    """The key of a build: the wheel's version and a digest of all source names and texts."""
    digest = hashlib.blake2b(digest_size=8)
    for module, file in module_files(sources).items():
        content = file.read_bytes()
        digest.update(f"{module}\0{len(content)}\0".encode() + content)
    return f"{version}-{digest.hexdigest()}"


def build(out: Path | None = None, *, sources: Path = SOURCES, report: Report = lambda line: None) -> Path:
    """Directory with the compiled library, which is built if necessary.

    `out` is the directory to build into. It must be empty, absent or an earlier build. The default is a directory of
    the cache with the key in its name; old builds in the cache are then deleted. Raises PocketBuildError, with Lean's
    message if a module does not compile.
    """
    key = library_key(sources, wheel_version())
    target = out.absolute() if out is not None else cache_directory() / f"pocket-{key}"
    if built_key(target) == key:
        report(f"up to date: {target}")
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / f".{target.name}.lock"):
            build_locked(target, key, sources, report)
        if out is None:
            for old in prune(target.parent):
                report(f"deleted an old build that is not in use: {old}")
    except OSError as error:
        raise PocketBuildError(f"cannot build into {target}: {error}; set PROOFMESH_CACHE to another folder") from error
    return target


def is_built() -> bool:
    """Whether the library is in the cache, so that `library` builds nothing. Raises PocketBuildError."""
    key = library_key(SOURCES, wheel_version())
    return built_key(cache_directory() / f"pocket-{key}") == key


def build_locked(target: Path, key: str, sources: Path, report: Report) -> None:
    """Build, unless another process did so while this one waited for the lock. Raises PocketBuildError and OSError."""
    if built_key(target) == key:
        report(f"built by another process: {target}")
        return
    if target.exists() and not (target / SEAL).exists() and any(target.iterdir()):
        raise PocketBuildError(f"{target}: not empty and not a build of pocket Lean; choose another directory")
    for unfinished in target.parent.glob(f".{target.name}.*"):
        if unfinished.is_dir():  # of a killed build: a running build would hold the lock
            shutil.rmtree(unfinished)
    build_aside(target, key, sources, report)


def seal(directory: Path, key: str) -> None:
    """Mark a directory as completely built: write the key and the sizes of its files into SEAL."""
    files = sorted(file for file in directory.rglob("*") if file.is_file())
    lines = [f"{file.stat().st_size} {file.relative_to(directory)}" for file in files]
    (directory / SEAL).write_text("\n".join([key, *lines]))


def built_key(directory: Path) -> str | None:
    """The key that a directory was built for; None if it is not a build, or if a file is missing or truncated."""
    try:
        key, *lines = (directory / SEAL).read_text().splitlines()
        for size, _, path in (line.partition(" ") for line in lines):
            if (directory / path).stat().st_size != int(size):
                return None
        return key
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def build_aside(target: Path, key: str, sources: Path, report: Report) -> None:
    """Compile into a temporary directory in the same folder as `target`, then rename it to `target`."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    started = time.perf_counter()
    try:
        compile_all(module_files(sources), temporary, report)
        seal(temporary, key)
        temporary.chmod(0o755)  # mkdtemp makes private directories
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    report(f"built in {time.perf_counter() - started:.1f} s: {target}")


def compile_all(
    files: dict[str, Path], out: Path, report: Report, *, library: Path | None = None, compiled: Iterable[str] = ()
) -> None:
    """Compile all modules, each after its imports. One module for each core runs at the same time.

    `library`: the compiled library that they may import; None: they are that library. `compiled`: those that are in
    `out` already. An .olean file in `out` is complete, because Lean renames it when it is written.
    """
    done = set(compiled)
    waiting = {
        module: [name for name in imports(file.read_text(encoding="utf-8")) if name in files]
        for module, file in files.items()
        if module not in done
    }
    running: dict[Future[float], str] = {}
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        try:
            while waiting or running:
                for module in [name for name, needed in waiting.items() if done.issuperset(needed)]:
                    del waiting[module]
                    running[pool.submit(compile_module, module, files[module], out, library)] = module
                if not running:
                    raise PocketBuildError(f"modules import each other in a circle: {', '.join(sorted(waiting))}")
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    module = running.pop(future)
                    report(f"  {module} {future.result():.2f} s")
                    done.add(module)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # start no more modules, and wait for the running ones
            raise


def compile_module(module: str, file: Path, out: Path, library: Path | None = None) -> float:
    """Compile one module to an .olean file in `out`. Returns the seconds. Raises PocketBuildError."""
    olean = out.joinpath(*module.split(".")).with_suffix(".olean")
    olean.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    root = file.parents[module.count(".")]  # the default root is the working directory, which may not contain the file
    compiler = [*command(), f"--root={root}", "-o", str(olean), str(file)]
    environment = lean_environment(*([library] if library else []), out) | {launcher.DIE_WITH_PARENT_VARIABLE: "1"}
    outcome = subprocess.run(compiler, env=environment, capture_output=True, text=True, check=False)
    message = (outcome.stdout + outcome.stderr).strip()
    if outcome.returncode != 0 or not olean.exists():
        raise PocketBuildError(f"module {module} ({file}) does not compile (exit {outcome.returncode}):\n{message}")
    return time.perf_counter() - started


def command() -> list[str]:
    """Command line that acts as a `lean` executable. Python starts faster isolated (-I) and without packages (-S)."""
    return [sys.executable, "-I", "-S", str(Path(launcher.__file__).resolve())]


def kernel_command() -> list[str]:
    """Command line of the separate kernel (`kernel.py`)."""
    return [sys.executable, "-I", "-S", str(Path(kernel.__file__).resolve())]


def lean_environment(*modules: Path) -> dict[str, str]:
    """All environment variables that Lean needs, with these directories of compiled modules."""
    return {
        "LEAN_PATH": os.pathsep.join(map(str, modules)),
        "LEAN_BACKTRACE": "0",
        launcher.LIBRARY_VARIABLE: launcher.find_library(),
    }


def main() -> int:
    """Entry point of `python -m node.lean.toolchain.pocket.build`."""
    parser = argparse.ArgumentParser(description="Compile pocket Lean's library.")
    parser.add_argument("--out", type=Path, default=None, help="directory to build into (default: the cache)")
    try:
        build(parser.parse_args().out, report=print)
    except PocketBuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
