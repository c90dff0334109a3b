"""`proofmesh bench [NAME [ARGUMENTS]]`: lists the benchmarks, or runs one. Important results go into LOG.md."""

from __future__ import annotations

import ast
import pkgutil
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from common.output.visible import say


def benchmarks() -> dict[str, str]:
    """Name of each benchmark and the first line of its docstring, read without importing it."""
    folder = Path(__file__).parent
    names = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    return {name: _first_line(folder / f"{name}.py") for name in names}


def _first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def main(argv: Sequence[str] | None = None) -> int:
    """List the benchmarks, or run one; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    available = benchmarks()
    if not arguments or arguments[0] in ("-h", "--help"):
        print("proofmesh bench NAME [ARGUMENTS]    (each has --help)\n")
        for name, line in available.items():
            say(f"  {name:<12}{line}")
        return 0
    if arguments[0] not in available:
        say(f"proofmesh bench: no benchmark `{arguments[0]}`; there are {', '.join(available)}", file=sys.stderr)
        return 2
    sys.argv = [f"proofmesh bench {arguments[0]}", *arguments[1:]]
    runpy.run_module(f"scripts.bench.{arguments[0]}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
