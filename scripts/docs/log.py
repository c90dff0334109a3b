"""`python -m scripts.docs.log`: formats LOG.md: sorted by date, newest first, with lines of at most 120 columns.

New entries may be anywhere in the file, as `## SUBJECT` with a date in their first paragraph. The command moves each
paragraph below its date (`## 2026-11-23`) and subject (`### SUBJECT`), and wraps lines. Words do not change. Lines of
tables and code are not wrapped. Running it again changes nothing.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from dataclasses import dataclass

from scripts.docs.__main__ import ROOT

PATH = ROOT / "LOG.md"

WIDTH = 120

BEGINNING = 60
"""A date within this number of characters from the start of a paragraph is the paragraph's date. Later dates are only
mentioned."""

_DATE = re.compile(r"20\d\d-\d\d-\d\d")
_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+")
_MARKER = re.compile(r" (?=(?:[-+*>|]|#+|\d+[.)])(?: |$))")
"""A space before a word that would start a list, a quote or a heading at the beginning of a line."""


class Changed(AssertionError):
    """The layout would change words."""


@dataclass(frozen=True)
class Block:
    """A paragraph, a list, a table or code."""

    date: str
    subject: str
    lines: tuple[str, ...]


def laid_out(text: str) -> str:
    """The formatted log. Raises Changed."""
    introduction, blocks = _read(text)
    parts = [*introduction]
    for date in sorted({block.date for block in blocks}, reverse=True):
        parts.append(f"## {date}")
        on_date = [block for block in blocks if block.date == date]
        for subject in dict.fromkeys(block.subject for block in on_date):
            parts.append(f"### {subject}")
            parts += ["\n".join(_wrapped(block.lines)) for block in on_date if block.subject == subject]
    result = "\n\n".join(parts) + "\n"
    if _words(text) != _words(result):
        difference = (_words(text) - _words(result)) + (_words(result) - _words(text))
        raise Changed(f"these words would change: {' '.join(list(difference)[:20])}")
    return result


def _read(text: str) -> tuple[list[str], list[Block]]:
    """The text before the first entry, and all entries in their order."""
    introduction: list[str] = []
    blocks: list[Block] = []
    date = subject = ""
    sections = _sections(text)
    for number, lines in enumerate(sections):
        heading = lines[0]
        if heading.startswith("### "):
            subject = heading.removeprefix("### ")
        elif _DATE.fullmatch(heading.removeprefix("## ")):
            date = heading.removeprefix("## ")
        elif heading.startswith("## "):
            subject = heading.removeprefix("## ")
            date = next(
                (match[0] for line in _until_heading(sections[number + 1 :]) if (match := _DATE.search(line))), date
            )
        elif not subject:
            introduction.append("\n".join(_wrapped(lines)))
        else:
            beginning = _DATE.search(" ".join(lines)[:BEGINNING])
            date = beginning[0] if beginning and "|" not in lines[0] else date
            blocks.append(Block(date, subject, tuple(lines)))
    return introduction, blocks


def _sections(text: str) -> list[list[str]]:
    """The paragraphs of a text. A heading is its own paragraph; consecutive lines of a list are one paragraph."""
    paragraphs: list[list[str]] = []
    open_block = False
    for line in text.splitlines():
        if not line.strip():
            open_block = False
        elif line.startswith("#"):
            paragraphs.append([line])
            open_block = False
        elif open_block:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
            open_block = True
    return paragraphs


def _until_heading(sections: list[list[str]]) -> list[str]:
    lines: list[str] = []
    for each in sections:
        if each[0].startswith("#"):
            break
        lines += each
    return lines


def _wrapped(lines: tuple[str, ...] | list[str]) -> list[str]:
    """The block, wrapped to lines of at most WIDTH columns."""
    if lines[0].startswith(("#", "    ", "|")):
        return list(lines)
    # 1. Lines are gathered into a paragraph, which `finish` wraps and puts away.
    result: list[str] = []
    paragraph: list[str] = []
    indent = ""

    def finish() -> None:
        if paragraph:
            # A NUL in place of a space keeps `textwrap` from breaking the line there.
            text = _MARKER.sub("\0", " ".join(line.strip() for line in paragraph)[len(marker) :])
            wrapped = textwrap.wrap(
                marker + text if marker else text,
                WIDTH,
                initial_indent=indent,
                subsequent_indent=indent + " " * len(marker),
                break_long_words=False,
                break_on_hyphens=False,
            )
            result.extend(line.replace("\0", " ") for line in wrapped)
            paragraph.clear()

    # 2. An item of a list begins a new paragraph, a row of a table stands for itself.
    marker = ""
    for line in lines:
        item = _ITEM.match(line)
        if line.startswith("|"):
            finish()
            result.append(line)
            continue
        if item:
            finish()
            indent, marker = item[1], item[0].lstrip()
        elif not paragraph:
            indent, marker = "", ""
        paragraph.append(line)
    finish()
    return result


def _words(text: str) -> Counter[str]:
    """Counts of all words outside headings."""
    return Counter(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def main() -> int:
    """The command; returns its exit code."""
    before = PATH.read_text(encoding="utf-8")
    after = laid_out(before)
    if after != before:
        PATH.write_text(after, encoding="utf-8")
    print(f"LOG.md: {len(after.splitlines())} lines, {'changed' if after != before else 'not changed'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
