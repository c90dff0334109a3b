"""Hooks of mkdocs that make pages of the site from the documents at the root of the repository."""

from __future__ import annotations

import re
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
