"""`python -m scripts.docs [protocol|configuration|metrics ...]`: writes generated pages; without names, all of them.

`--check` writes nothing, and exits with code 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = ("protocol", "configuration", "metrics")

COMMAND = "just docs-generate"

NOTE = f"<!-- Generated from the code by `{COMMAND}`. Change the code's docstrings, not this page. -->\n\n"


def generated(page: str) -> str:
    """The current text of a page, from the code."""
    text: str = importlib.import_module(f"scripts.docs.{page}").page()
    return NOTE + text


def path_of(page: str) -> Path:
    """The file of a page."""
    return ROOT / "docs" / f"{page}.md"


def stale(page: str) -> bool:
    """Whether the file of a page is out of date."""
    path = path_of(page)
    return not path.is_file() or path.read_text(encoding="utf-8") != generated(page)


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"{', '.join(PAGES)}; none: all")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is out of date")
    options = parser.parse_args()
    pages = options.pages or PAGES
    for page in pages:
        if page not in PAGES:
            parser.error(f"no generated page `{page}`; there are {', '.join(PAGES)}")
    if options.check:
        old = [page for page in pages if stale(page)]
        for page in old:
            print(f"docs/{page}.md is out of date; run `{COMMAND}`")
        return 1 if old else 0
    for page in pages:
        path_of(page).write_text(generated(page), encoding="utf-8")
        print(f"docs/{page}.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
