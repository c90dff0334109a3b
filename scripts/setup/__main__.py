"""Set up `.venv`: packages, nats-server, pocket Lean. Finished steps are not repeated.

    ./start --setup [cpu|gpu|tools] [--only just]
    just setup [cpu|gpu|tools]

`tools` is not part of the others: it gets programs that some tests use (promtool, prometheus, Chromium and what drives
it, tsc). The tests are skipped without them.

Uses only the standard library, with any Python 3.11 to 3.13. A set-up that was stopped resumes where it stopped.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.setup import pip, steps, tools, torch

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "proofmesh-setup.json"
LOG = VENV / "proofmesh-setup.log"


def main() -> int:
    """Run set-up; returns the exit code."""
    options = _arguments()
    if options.kind == "tools":
        return _get_tools()
    started = time.monotonic()
    stamp = steps.Stamp(STAMP)
    kind = options.kind or stamp.read().get("kind", "cpu")
    facts = steps.read_facts(ROOT)
    problems = steps.problems(facts, kind, fresh="packages" not in stamp.read())
    if problems:
        for problem in problems:
            say(f"cannot go on: {problem}")
        return 1
    try:
        with _alone():
            steps_done = steps.run(_steps(kind, stamp, only_just=options.only == "just"), stamp, say)
    except steps.StepFailed as error:
        say(f"FAILED: {error}")
        say("finished steps are kept: the same command resumes here")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the same command resumes here")
        return 130
    if steps_done and options.only is None:
        say(f"ready ({kind}) in {time.monotonic() - started:.0f} s on {steps.describe(facts)}")
    return 0


def say(line: str) -> None:
    """Print a line of progress on standard error, since standard output belongs to the recipes."""
    print(f"setup: {line}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./start --setup", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "kind",
        nargs="?",
        choices=("cpu", "gpu", "tools"),
        help="build of torch (default: the last choice, or cpu); tools: only the programs that some tests use",
    )
    parser.add_argument("--only", choices=("just",), help="just: stop once `just` is installed")
    return parser.parse_args()


def _get_tools() -> int:
    """Get the programs that are neither here nor on PATH, and the packages that drive the browser. What fails does not
    stop the others; returns the exit code."""
    failed = False
    with _alone():
        for program in tools.USED_BY:
            if tools.find(program) is not None:
                continue
            try:
                tools.get(program)
                say(f"{program}: now in {tools.BIN}")
            except tools.NoWay as reason:
                say(f"left out: {reason}")
            except tools.NoTool as error:
                say(f"FAILED: {error}")
                failed = True
        try:
            stamp = steps.Stamp(STAMP)
            if problems := steps.problems(steps.read_facts(ROOT), "cpu", fresh=False):
                raise steps.StepFailed(problems[0])
            steps.run([_environment(), _browser_packages()], stamp, say)
        except steps.StepFailed as error:
            say(f"FAILED: playwright: {error}\n  without it only {tools.USED_BY['chromium']} skipped")
            failed = True
    return int(failed)


def _environment() -> steps.SetupStep:
    key = steps.digest([str(ROOT), _python_version()])
    return steps.SetupStep("environment", key, _make_venv, holds=lambda: pip.venv_works(VENV))


def _browser_packages() -> steps.SetupStep:
    """Playwright, which drives a browser, and axe. Only tests use them, so `packages` does without."""
    file = ROOT / "requirements" / "browser.txt"
    return steps.SetupStep(
        "browser packages",
        steps.digest([_python_version(), file]),
        lambda: pip.run_pip(PYTHON, ["install", "--no-compile", "-r", str(file)], LOG, say),
        holds=lambda: any(VENV.glob("lib/python3*/site-packages/playwright/__init__.py")),
    )


def _python_version() -> str:
    return ".".join(map(str, sys.version_info[:2]))


def _steps(kind: str, stamp: steps.Stamp, *, only_just: bool) -> Iterator[steps.SetupStep]:
    yield _environment()
    yield steps.SetupStep("just", steps.digest([_pin("rust-just")]), _install_just, holds=(VENV / "bin/just").exists)
    if only_just:
        return
    files = [ROOT / "requirements/base.txt", ROOT / f"requirements/{kind}.txt", ROOT / "pyproject.toml"]
    yield steps.SetupStep(
        "packages", steps.digest([kind, _python_version(), *files]), lambda: _install_packages(kind, stamp)
    )
    yield steps.SetupStep("nats-server", None, lambda: _tool("nats-server"))
    yield steps.SetupStep("pocket Lean", None, lambda: _tool("pocket-lean"))


def _pin(package: str) -> str:
    """The line of requirements/base.txt that pins a package."""
    lines = (ROOT / "requirements/base.txt").read_text().splitlines()
    return next(line.strip() for line in lines if line.startswith(f"{package}=="))


def _make_venv() -> None:
    pip.make_venv(VENV, say)


def _install_just() -> None:
    pip.run_pip(PYTHON, ["install", "--no-compile", "--no-deps", _pin("rust-just")], LOG, say)


def _install_packages(kind: str, stamp: steps.Stamp) -> None:
    for name in pip.remove_torn_packages(VENV):
        say(f"the installation of {name} was interrupted; installing it again")
    requirements = ROOT / "requirements" / f"{kind}.txt"
    # Byte code is normally compiled on first use, since compiling all of it now doubles the installation time. But if
    # Python is set not to save byte code, it is compiled now: otherwise each start with torch takes some seconds more.
    if kind == "cpu":
        torch.forget_gpu(VENV)
        torch.install_cpu(PYTHON, requirements, LOG, say)
        pip.run_pip(PYTHON, ["install", "--no-compile", "--no-deps", "-r", str(requirements)], LOG, say)
    else:
        torch.prepare_gpu(VENV, PYTHON, requirements, LOG, say)
        pip.run_pip(PYTHON, ["install", "--no-compile", "-r", str(requirements)], LOG, say)
    pip.run_pip(PYTHON, ["install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], LOG, say)
    if kind == "cpu":
        pip.run_pip(PYTHON, ["check"], LOG, say)
    if sys.dont_write_bytecode:
        say("compiling byte code, because PYTHONDONTWRITEBYTECODE is set and Python would not save it on first use")
        pip.write_byte_code(VENV, PYTHON)
    stamp.write("kind", kind)


def _tool(name: str) -> str:
    """Get a program in the new environment; returns what is new. Raises RuntimeError if it fails."""
    command = [str(PYTHON), "-m", "scripts.setup.tools", name]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if completed.returncode:
        lines = (completed.stderr.strip() or completed.stdout.strip()).splitlines()
        crashed = bool(lines) and lines[0].startswith("Traceback")
        raise RuntimeError("\n".join(lines[-8:] if crashed else lines[:8]))
    return completed.stdout.strip()


@contextmanager
def _alone() -> Iterator[None]:
    """Lock the checkout, because two concurrent set-ups would break each other. The lock ends with the process."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up runs here; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


if __name__ == "__main__":
    sys.exit(main())
