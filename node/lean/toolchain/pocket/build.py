"""Compile pocket Lean's library to .olean files, once per wheel version and source text.

python -m node.lean.toolchain.pocket.build [--out DIRECTORY]

The result is a directory for LEAN_PATH. It is built beside its final place and renamed, so it is complete or absent; a
lock file lets concurrent callers wait for one build.
"""

import argparse
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from filelock import FileLock

from common.cache import cache_directory
from node.lean.toolchain.pocket import kernel, launcher
from node.lean.toolchain.pocket.builds import SEAL, prune

SOURCES = Path(__file__).parent / "lean"

Report = Callable[[str], None]


class PocketBuildError(Exception):
    """Pocket Lean's library could not be built; the message names the module and holds Lean's own message."""


def wheel_version() -> str:
    """Version of the installed wheel that carries Lean. Raises PocketBuildError when there is none."""
    try:
        return importlib.metadata.version(launcher.WHEEL)
    except importlib.metadata.PackageNotFoundError:
        raise PocketBuildError(
            f"the wheel {launcher.WHEEL} is not installed: run `just setup` (Linux x86-64, glibc 2.35 or later)"
        ) from None


def module_files(sources: Path) -> dict[str, Path]:
    """Module name to source file: `Pocket/Nat/Basic.lean` is `Pocket.Nat.Basic`."""
    files = sorted(sources.rglob("*.lean"))
    if not files:
        raise PocketBuildError(f"{sources}: no .lean files here; is the installation complete?")
    return {".".join(file.relative_to(sources).with_suffix("").parts): file for file in files}


def imports(text: str) -> list[str]:
    """Modules that a source file imports: one `import A` a line, before everything else but `prelude` and comments."""
    return re.findall(r"^import (\S+)\s*$", text, flags=re.MULTILINE)


def library_key(sources: Path, version: str) -> str:
    """Names a build: the wheel's version and a digest of every source's name and text."""
    digest = hashlib.blake2b(digest_size=8)
    for module, file in module_files(sources).items():
        content = file.read_bytes()
        digest.update(f"{module}\0{len(content)}\0".encode() + content)
    return f"{version}-{digest.hexdigest()}"


def build(out: Path | None = None, *, sources: Path = SOURCES, report: Report = lambda line: None) -> Path:
    """Directory with the compiled library, built if it is not there yet.

    `out` is where to put it, by default a directory of the cache named by the key; old builds go from there. An `out`
    that holds something else than an earlier build is refused. Raises PocketBuildError with Lean's message when a
    module does not compile.
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
                report(f"deleted, since it is old and unused: {old}")
    except OSError as error:
        raise PocketBuildError(f"cannot build into {target}: {error}; PROOFMESH_CACHE names another place") from error
    return target


def build_locked(target: Path, key: str, sources: Path, report: Report) -> None:
    """Build, unless another process did so while this one waited for the lock. Raises PocketBuildError and OSError."""
    if built_key(target) == key:
        report(f"built meanwhile by another process: {target}")
        return
    if target.exists() and not (target / SEAL).exists() and any(target.iterdir()):
        raise PocketBuildError(f"{target}: not empty and not a build of pocket Lean; choose another directory")
    for left in target.parent.glob(f".{target.name}.*"):
        if left.is_dir():  # of a build that was killed: whoever still builds here would hold the lock
            shutil.rmtree(left)
    build_aside(target, key, sources, report)


def seal(directory: Path, key: str) -> None:
    """Declare a directory built: write down its key and its files."""
    files = sorted(file for file in directory.rglob("*.olean"))
    lines = [f"{file.stat().st_size} {file.relative_to(directory)}" for file in files]
    (directory / SEAL).write_text("\n".join([key, *lines]))


def built_key(directory: Path) -> str | None:
    """The key that a directory was built for; None when it is no build or a file of it is missing or cut short."""
    try:
        key, *lines = (directory / SEAL).read_text().splitlines()
        for size, _, path in (line.partition(" ") for line in lines):
            if (directory / path).stat().st_size != int(size):
                return None
        return key
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def build_aside(target: Path, key: str, sources: Path, report: Report) -> None:
    """Compile into a temporary directory beside `target`, then rename it into place."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    started = time.perf_counter()
    try:
        compile_all(module_files(sources), temporary, report)
        seal(temporary, key)
        temporary.chmod(0o755)  # mkdtemp made it private
        if target.exists():
            shutil.rmtree(target)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    report(f"built in {time.perf_counter() - started:.1f} s: {target}")


def compile_all(files: dict[str, Path], out: Path, report: Report) -> None:
    """Compile every module after those it imports, as many at once as there are cores."""
    waiting = {module: [name for name in imports(file.read_text()) if name in files] for module, file in files.items()}
    done: set[str] = set()
    running: dict[Future[float], str] = {}
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        while waiting or running:
            for module in [name for name, needed in waiting.items() if done.issuperset(needed)]:
                del waiting[module]
                running[pool.submit(compile_module, module, files[module], out)] = module
            if not running:
                raise PocketBuildError(f"modules import each other in a circle: {', '.join(sorted(waiting))}")
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                module = running.pop(future)
                try:
                    report(f"  {module} {future.result():.2f} s")
                except PocketBuildError:
                    waiting.clear()  # nothing new starts; what runs is waited for by the pool
                    raise
                done.add(module)


def compile_module(module: str, file: Path, out: Path) -> float:
    """Compile one module to an .olean file in `out`; returns the seconds it took. Raises PocketBuildError."""
    olean = out.joinpath(*module.split(".")).with_suffix(".olean")
    olean.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    root = file.parents[module.count(".")]  # Lean takes its working directory for the root, and wants the file below it
    command = [*lean_command(), f"--root={root}", "-o", str(olean), str(file)]
    environment = lean_environment(out) | {launcher.DIE_WITH_PARENT_VARIABLE: "1"}
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    message = (outcome.stdout + outcome.stderr).strip()
    if outcome.returncode != 0 or not olean.exists():
        raise PocketBuildError(f"module {module} ({file}) does not compile (exit {outcome.returncode}):\n{message}")
    return time.perf_counter() - started


def lean_command() -> list[str]:
    """Command line that is a `lean` executable: isolated (-I) and without site packages (-S), for a fast start."""
    return [sys.executable, "-I", "-S", str(Path(launcher.__file__).resolve())]


def kernel_command() -> list[str]:
    """Command line of Lean's kernel by itself; append the path of a plan."""
    return [sys.executable, "-I", "-S", str(Path(kernel.__file__).resolve())]


def lean_environment(library: Path) -> dict[str, str]:
    """Environment variables that Lean needs, with `library` as the directory of compiled modules."""
    return {"LEAN_PATH": str(library), "LEAN_BACKTRACE": "0", launcher.LIBRARY_VARIABLE: launcher.find_library()}


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
