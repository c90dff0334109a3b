"""Extracts references from the documents of this repository: links, anchors, files, modules, command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]

FOLDERS = ("broker", "common", "data", "docs", "node", "proofmesh", "requirements", "scripts", "tests", "ui")
"""Folders at the root. A path in a document that begins with one of them is a file of this repository."""

PROGRAMS = ("proofmesh", "just", "./start", "python")
"""Programs whose command lines are checked."""

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)*)`(?!`)")
_PATH = re.compile(rf"(?<![\w/.:-])(?:{'|'.join(FOLDERS)})/[\w./*-]*")
_MODULE = re.compile(r"(?:broker|common|node|scripts|ui)(?:\.\w+)+")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"\w+=\S*")


@dataclass(frozen=True)
class Document:
    """A Markdown file of this repository."""

    path: Path

    @property
    def name(self) -> str:
        """The path relative to the root."""
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def links(self) -> Iterator[str]:
        """Targets of links and pictures, without those in code."""
        yield from _LINK.findall(_INLINE.sub("", _without_blocks(self.text)))

    def anchors(self) -> set[str]:
        """Anchors of the headings, as on GitHub."""
        anchors: set[str] = set()
        for heading in _HEADING.findall(_without_blocks(self.text)):
            anchor = slug(heading)
            number = 1
            while anchor in anchors:
                anchor, number = f"{slug(heading)}-{number}", number + 1
            anchors.add(anchor)
        return anchors

    def code(self) -> Iterator[str]:
        """Lines of code blocks (continued lines joined), and inline code."""
        yield from _joined(_block_lines(self.text))
        yield from (" ".join(code.split()) for code in _INLINE.findall(_without_blocks(self.text)))

    def files(self) -> set[str]:
        """Paths of this repository in its code; they may contain `*`."""
        paths = (path for code in self.code() for path in _PATH.findall(code))
        return {path.rstrip("./") for path in paths if path.partition("/")[2]}

    def modules(self) -> set[str]:
        """Modules of this repository in its code, such as `node.lean.text`."""
        return {code for code in self.code() if _MODULE.fullmatch(code)}

    def commands(self) -> Iterator[list[str]]:
        """Command lines of our programs as words, without environment variables and comments."""
        for code in self.code():
            for part in re.split(r"\s&&\s|\s\|\s|;\s", code.removeprefix("$ ")):
                words = _words(part)
                while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] == "export"):
                    words.pop(0)
                if words and words[0] in PROGRAMS:
                    yield words


def documents() -> list[Document]:
    """The Markdown files at the root and in docs/."""
    return [Document(path) for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))]


def slug(heading: str) -> str:
    """The anchor of a heading on GitHub."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # an unclosed quote: the command continues on the next lines
        return shlex.split(line.replace("'", "").replace('"', ""), comments=True)


def _without_blocks(text: str) -> str:
    """The text without fenced and indented code blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join("" if line.startswith("    ") else line for line in text.splitlines())


def _block_lines(text: str) -> Iterator[str]:
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line.strip()


def _joined(lines: Iterator[str]) -> Iterator[str]:
    whole = ""
    for line in lines:
        whole += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield whole
            whole = ""
