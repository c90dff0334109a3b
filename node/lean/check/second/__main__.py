"""Checks an export in a process of its own: `python -m node.lean.check.second FILE.ndjson [--only NAME...]`.

Exit code 0: everything was checked. 1: something was refused or not checked. 2: the file is not an export.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.output.visible import say
from node.lean.check.second.kernel import Kernel, Limit, names_of, used_by
from node.lean.check.second.parse import BadExport, Declaration, Reader
from node.lean.check.second.special import LEAN_AXIOMS
from node.lean.check.second.terms import Store

STACK_BYTES = 1 << 30
"""For calls that go through Python's C code. The operating system gives a thread only what it touches."""

DEPTH = 400_000
"""Most nested calls. Beyond it, a declaration is not checked."""


@dataclass(frozen=True)
class Task:
    """What to check."""

    file: Path
    only: tuple[str, ...] = ()
    """These constants and all that they use; everything if empty."""
    trusted: int = 0
    """The first declarations of the file are believed to be well typed."""
    seconds: float = 600.0


def check_file(task: Task) -> dict[str, object]:
    """The result in JSON's types. Raises BadExport and OSError. Call `with_large_stack(check_file, ...)`."""
    # 1. Read.
    start = time.monotonic()
    store = Store()
    limit = Limit(task.seconds)
    kernel = Kernel(store, limit)
    with task.file.open(encoding="utf-8", newline="\n") as lines:
        declarations = Reader(store).declarations(lines)
        chosen: Iterable[tuple[int, Declaration]] = enumerate(declarations)
        if task.only:
            chosen = _needed(list(declarations), task.only)
        # 2. Check. A file that is malformed at the end is refused as a whole.
        for place, declaration in chosen:
            kernel.add(declaration, place < task.trusted)
    # 3. The summary. A name that was also refused, as a second declaration, does not count as checked.
    outcome = kernel.outcome
    failed = {*outcome.refused, *outcome.not_checked}
    checked = [name for name in outcome.checked if name not in failed]
    present = {*checked, *failed, *kernel.checker.constants}
    missing = {name: "the file does not declare it" for name in task.only if name not in present}
    return {
        "checked": checked,
        "refused": outcome.refused,
        "not_checked": outcome.not_checked | missing,
        "axioms": {name: kernel.axioms(name) for name in task.only or checked if name in kernel.checker.constants},
        "trusted": outcome.trusted,
        "seconds": round(time.monotonic() - start, 3),
    }


def _needed(declarations: Sequence[Declaration], names: Iterable[str]) -> list[tuple[int, Declaration]]:
    """The declarations that some constants need, with their places, in the file's order."""
    places: dict[str, list[int]] = {}
    for at, declaration in enumerate(declarations):
        for name in names_of(declaration):
            places.setdefault(name, []).append(at)
    seen = set(names)
    waiting = list(seen)
    needed: set[int] = set()
    while waiting:
        # All declarations of a name: a second one must be refused.
        for at in places.get(waiting.pop(), ()):
            if at not in needed:
                needed.add(at)
                new = (used_by(declarations[at]) | set(names_of(declarations[at]))) - seen
                seen |= new
                waiting += new
    return [(at, declarations[at]) for at in sorted(needed)]


def with_large_stack(task: Task) -> dict[str, object]:
    """`check_file` in a thread whose stack suffices for deep terms. Raises what it raises."""
    results: list[dict[str, object]] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(check_file(task))
        except BaseException as error:
            errors.append(error)

    depth, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(DEPTH)
    try:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(depth)
    if errors:
        raise errors[0]
    return results[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m node.lean.check.second", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("file", type=Path, help="an export in lean4export's format 3.1")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="check these and all that they use")
    parser.add_argument("--seconds", type=float, default=600.0, help="time for everything")
    parser.add_argument("--trust-library", type=int, default=0, metavar="N", help="believe the first N declarations")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    task = Task(given.file, tuple(given.only), given.trust_library, given.seconds)
    try:
        result = with_large_stack(task)
    except (BadExport, OSError) as error:
        say(json.dumps({"error": str(error)}) if given.json else f"cannot be read: {error}")
        return 2
    if given.json:
        say(json.dumps(result))
    else:
        _show(result)
    return 1 if result["refused"] or result["not_checked"] else 0


def _show(result: dict[str, object]) -> None:
    axioms: dict[str, list[str]] = result["axioms"]  # type: ignore[assignment]
    for name in result["checked"]:  # type: ignore[attr-defined]
        others = ", ".join(each for each in axioms.get(name, ()) if each not in LEAN_AXIOMS)
        say(f"checked {name} (from the axioms {others})" if others else f"checked {name}")
    for kind in ("refused", "not_checked"):
        for name, reason in result[kind].items():  # type: ignore[attr-defined]
            say(f"{kind.replace('_', ' ')} {name}: {reason}")
    say(f"{len(result['checked'])} constants checked in {result['seconds']} s")  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
