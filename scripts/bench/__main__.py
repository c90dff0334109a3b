"""Lists the benchmarks, or runs one: `python -m scripts.bench [NAME [ARGUMENTS]]`, or `just bench ...`."""

from __future__ import annotations

import ast
import pkgutil
import runpy
import sys
from pathlib import Path


def benchmarks() -> dict[str, str]:
    """Name of each benchmark and the first line of its docstring, read without importing it."""
    folder = Path(__file__).parent
    names = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    return {name: _first_line(folder / f"{name}.py") for name in names}


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def main() -> int:
    """List, or hand over to a benchmark; returns the exit code."""
    known = benchmarks()
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        for name, line in known.items():
            print(f"{name:<12}{line}")
        return 0
    name = sys.argv[1]
    if name not in known:
        print(f"bench: no benchmark `{name}`; there are {', '.join(known)}", file=sys.stderr)
        return 2
    sys.argv = sys.argv[1:]
    runpy.run_module(f"scripts.bench.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
