"""`proofmesh bench [NAME [ARGUMENTS]]`: lists the benches and their parts, or measures one. Important results go into
LOG.md."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from common.output.visible import say

PARTS = {
    "lean": ("lean",),
    "search": ("search", "deep"),
    "bus": ("bus", "keys"),
    "engine": ("engine", "models"),
    "train": ("train",),
    "gpu": ("gpu",),
    "prove": ("latency", "fill", "eval"),
    "premises": ("premises",),
    "mesh": ("loop",),
    "monitor": ("monitor",),
}
"""The parts of each bench, which is a module of this package. A part is the class of the module that is named like it,
and is measured by `proofmesh bench PART` or `proofmesh bench BENCH PART`."""


def benchmarks() -> dict[str, str]:
    """Name of each part and the first line of its docstring, read without importing it."""
    found: dict[str, str] = {}
    for bench, parts in PARTS.items():
        tree = ast.parse(Path(__file__).with_name(f"{bench}.py").read_text(encoding="utf-8"))
        texts = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.ClassDef)}
        found |= {part: texts[part.title()].partition("\n")[0] for part in parts}
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """List the benches, or measure a part; returns the exit code."""
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    available = benchmarks()
    if name in ("-h", "--help"):
        print("proofmesh bench NAME [ARGUMENTS]    (each has --help)")
        for bench, parts in PARTS.items():
            print(f"\n{bench}")
            for part in parts:
                say(f"  {part:<12}{available[part]}")
        return 0
    if name in PARTS and rest and rest[0] in PARTS[name]:
        name, *rest = rest
    if name not in available:
        names = ", ".join(PARTS.get(name, available))
        others = f"name a part of it: {names}" if name in PARTS else f"there are {names}"
        say(f"proofmesh bench: no benchmark `{name}`; {others}", file=sys.stderr)
        return 2
    (bench,) = (bench for bench, parts in PARTS.items() if name in parts)
    module = importlib.import_module(f"scripts.bench.{bench}")
    from scripts.bench.harness import run

    return run(getattr(module, name.title()), name, rest)


if __name__ == "__main__":
    sys.exit(main())
