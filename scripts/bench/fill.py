"""Measures how many gaps `proofmesh fill` fills if every second proof of a file is replaced by `sorry`; as JSON.

    python -m scripts.bench.fill [FILE...] [--seconds 20] [--every 2] [--json OUT]

`proofmesh fill --write --again` runs in its own process on a copy of each file. Then the result is checked
independently: `verify` must accept every theorem of the file, and all bytes outside the gaps must be unchanged. Without
files, it uses the fixtures of the tests of `verify`.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from common.output.visible import say
from node.lean.check.files.commands import PROOFS
from node.lean.check.files.compiling import Compiler
from node.lean.check.files.verifier import FileVerifier
from node.lean.gaps.gap import CommandSpan, spans
from node.lean.process.fresh import Limits
from node.lean.text.lexing import blanked, mentions, outside_brackets
from node.lean.toolchain.lean_toolchain import LeanToolchain
from scripts.bench._report import asked, machine, report

FIXTURES = Path(__file__).parents[2] / "tests" / "node" / "lean" / "toolchain" / "pocket" / "ordinary"


@dataclass
class FillBenchSettings:
    """Measure how many gaps are filled, and how fast."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Lean files without `sorry`; empty: the fixtures of `verify`."""
    seconds: float = 20.0
    """Time budget for each gap."""
    every: int = 2
    """Replace every n-th proof, beginning with the first one."""
    flags: tuple[str, ...] = ()
    """More flags for `proofmesh fill`."""
    json: Path | None = None
    """Also write the results to this file."""


async def without_proofs(text: str, every: int, folder: Path) -> str:
    """A file with every n-th proof replaced by `sorry`. Lean gives the positions of its commands."""
    compiler = Compiler(LeanToolchain.pocket(), Limits())
    compiled = await compiler.compile("Main", text, folder, [], salvage=False)
    if compiled.olean is None:
        raise SystemExit(f"proofmesh bench fill: a file does not compile: {compiled.problem or compiled.messages[:1]}")
    pieces, at, code = [], 0, blanked(text)
    commands = spans(compiled.text, compiled.commands, [], text, 0)
    for command in [each for each in commands if each.keyword in PROOFS][::every]:
        place = proof(text, code, command)
        if place is not None:
            pieces += [text[at : place[0]], " := sorry"]
            at = place[1]
    return "".join([*pieces, text[at:]])


def proof(text: str, code: str, command: CommandSpan) -> tuple[int, int] | None:
    """Start (with the spaces before it) and end of a theorem's proof. `code`: the text without comments."""
    end = command.start + len(code[command.start : command.end].rstrip())
    for at in outside_brackets(code, command.start, end):
        cases = code[at] == "|" and not code[code.rfind("\n", 0, at) + 1 : at].strip()
        if code.startswith(":=", at) or cases:
            return command.start + len(text[command.start : at].rstrip()), end
    return None


def equal_elsewhere(gapped: str, filled: str) -> bool:
    """Whether a file is unchanged outside its gaps, except for spaces before a gap."""
    pieces, at = [], 0
    for mention in mentions(gapped):
        pieces.append(re.escape(gapped[at : mention.start].rstrip(" ")))
        at = mention.end
    return re.fullmatch(".*?".join([*pieces, re.escape(gapped[at:])]), filled, re.DOTALL) is not None


async def bench_file(settings: FillBenchSettings, file: Path, folder: Path, verifier: FileVerifier) -> dict[str, Any]:
    """Measure one file."""
    place = Path(tempfile.mkdtemp(dir=folder))
    text = file.read_text(encoding="utf-8")
    gapped = await without_proofs(text, settings.every, place)
    copy = place / file.name
    copy.write_text(gapped, encoding="utf-8")
    command = [sys.executable, "-m", "node.command.cli", "fill", str(copy), "--json", "--write", "--again"]
    command += ["--seconds", str(settings.seconds), *settings.flags]
    started = time.monotonic()
    completed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    wall = time.monotonic() - started
    if not completed.stdout.startswith("{"):
        raise SystemExit(
            f"proofmesh bench fill: {file}: fill ended with code {completed.returncode}: {completed.stderr[-500:]}"
        )
    gaps = json.loads(completed.stdout)["files"][0]["gaps"]
    # Checked independently of what `fill` reports.
    written = copy.read_text(encoding="utf-8")
    verdicts = (await verifier.verify_text(written)).declarations
    refused = [verdict for verdict in verdicts if not verdict.accepted and "uses sorry" not in verdict.reason]
    filled = [gap for gap in gaps if gap["state"] == "filled"]
    times = sorted(gap["seconds"] for gap in filled)
    return {
        "gaps": len(gaps),
        "filled": len(filled),
        "median_s": round(statistics.median(times), 2) if times else None,
        "longest_s": round(times[-1], 2) if times else None,
        "wall_s": round(wall, 1),
        "verified": not refused and len(mentions(written)) == len(gaps) - len(filled),
        "bytes_equal_elsewhere": equal_elsewhere(gapped, written),
        "left": {
            f"{gap['theorem']} (line {gap['line']}): {gap['goal'].partition('⊢')[2].strip()}": gap["reason"]
            for gap in gaps
            if gap["state"] != "filled"
        },
    }


async def bench(settings: FillBenchSettings) -> dict[str, Any]:
    """Measure all files."""
    files = settings.files or tuple(sorted(FIXTURES.glob("*.lean")))
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=1, seconds=120, memory_mb=2048)
    results: dict[str, Any] = {"asked": asked(settings), "machine": machine(), "files": {}}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                result = results["files"][file.name] = await bench_file(settings, file, Path(folder), verifier)
                say(
                    f"{file.name:<28}{result['filled']:>3} of {result['gaps']:<3} {result['wall_s']:>6} s",
                    file=sys.stderr,
                )
    finally:
        verifier.close()
    rows = results["files"].values()
    gaps, filled = sum(row["gaps"] for row in rows), sum(row["filled"] for row in rows)
    results["all"] = {
        "gaps": gaps,
        "filled": filled,
        "share": round(filled / gaps, 3) if gaps else None,
        "verified": all(row["verified"] for row in rows),
        "bytes_equal_elsewhere": all(row["bytes_equal_elsewhere"] for row in rows),
    }
    return results


def main(argv: Sequence[str]) -> int:
    """Entry point."""
    settings = tyro.cli(FillBenchSettings, args=list(argv), prog="proofmesh bench fill")
    report(asyncio.run(bench(settings)), settings.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
