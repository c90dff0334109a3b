"""`python -m scripts.docs.site [build|serve]`: builds or serves the documentation site with mkdocs-material.

mkdocs-material is the extra `docs` of this project. It is installed into the environment if it is missing.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence

from scripts.docs.__main__ import ROOT

COMMANDS = {"build": ("build", "--strict"), "serve": ("serve", "--strict")}


def requirements() -> list[str]:
    """The packages of the extra `docs`."""
    import tomllib

    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra: list[str] = content["project"]["optional-dependencies"]["docs"]
    return extra


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    command = argv[0] if argv else "build"
    if command not in COMMANDS:
        print(f"python -m scripts.docs.site: no command `{command}`; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    if importlib.util.find_spec("material") is None:
        print(f"installing {', '.join(requirements())}", file=sys.stderr)
        install = subprocess.run([sys.executable, "-m", "pip", "install", "-q", *requirements()], check=False)
        if install.returncode:
            print(
                "python -m scripts.docs.site: mkdocs-material could not be installed; install it by hand: "
                f"{sys.executable} -m pip install {' '.join(requirements())}",
                file=sys.stderr,
            )
            return 2
    completed = subprocess.run([sys.executable, "-m", "mkdocs", *COMMANDS[command], *argv[1:]], cwd=ROOT, check=False)
    return completed.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
