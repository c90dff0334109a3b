"""`python -m scripts.docs.site [build|serve]`: builds or serves the documentation site with mkdocs-material.

mkdocs-material is the extra `docs` of this project. It is installed into the environment if it is missing. mkdocs reads
this file, too: its hooks make pages of the site from the documents at the root of the repository.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LOG.md": "log.md",
}
"""Documents at the root, and their pages."""

_LINK = re.compile(r"(\]\()([^)#\s]+)")

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


def on_files(files: Any, config: Any) -> Any:
    """Add the documents at the root to the pages of the site."""
    from mkdocs.structure.files import File

    for document, page in PAGES.items():
        path = ROOT / document
        if path.is_file():
            files.append(File.generated(config, page, content=_for_site(path.read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Change links to documents at the root into links to their pages."""
    for document, target in PAGES.items():
        markdown = markdown.replace(f"](../{document}", f"]({target}")
    return markdown


def _for_site(text: str) -> str:
    """A document at the root, with its links adapted to the site."""

    def target(match: re.Match[str]) -> str:
        name = match[2].removeprefix("docs/")
        return match[1] + PAGES.get(name, name)

    return _LINK.sub(target, text)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
