"""Lean's lexical structure, as far as it decides where a text ends: comments, strings, brackets. No Lean needed.

A text is closed in itself when it closes every bracket, string and comment that it opens, and no other. A candidate
that is not would swallow what stands behind it, or end what stands around it, so Lean never sees it.

This reader does not know all of Lean's tokens: libraries add to them. Where the two could disagree, one would take for
a string or comment what is code to the other. `ambiguity` finds such places, and a text with one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧", "⟪": "⟫", "⌊": "⌋", "⌈": "⌉"}
CLOSING = {close: open_ for open_, close in OPENING.items()}

_CHARACTER = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BORING = re.compile(r"[\w\s.,:;=<>+*∧∨→↔¬∀∃λ|&^%$!?@~·←↦≤≥≠⊢×∈∘∣]+")
"""Runs of characters that begin nothing; `r` before a string is looked at from the quote."""


@dataclass(frozen=True)
class Lexed:
    """What in a text is code, and what is comment or string."""

    code: str
    """The text with comments, strings and characters blanked (line breaks stay)."""
    problem: str = ""
    """Why the text is not closed in itself; empty when it is."""
    comments: bool = False
    bare: str = ""
    """The text with comments blanked only, at the same places."""
    glued: bool = False
    """A comment begins right behind a sign, with which its first characters may make another token (`<--x`)."""
    unusual: bool = False
    """It holds an interpolated or raw string, which Lean may read differently: such a candidate runs alone."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.code: list[str] = []
        self.bare: list[str] = []
        self.glued = False
        self.stack: list[tuple[str, int]] = []
        self.comments = False
        self.unusual = False

    def run(self) -> str:
        """Scan to the end; returns the problem, if any."""
        while self.at < len(self.text):
            match = _BORING.match(self.text, self.at)
            if match:
                self.keep(match.end())
                continue
            problem = self.special()
            if problem:
                return problem
        if self.stack:
            bracket, position = self.stack[-1]
            return f"{bracket!r} at character {position} is never closed"
        return ""

    def special(self) -> str:
        """One character that may begin something; returns the problem, if any."""
        text, at = self.text, self.at
        char = text[at]
        if text.startswith("--", at):
            end = text.find("\n", at)
            self.comment(len(text) if end < 0 else end)
        elif text.startswith("/-", at):
            return self.block_comment()
        elif text.startswith("-/", at):
            return "`-/` ends a comment that was not begun"
        elif char == '"':
            return self.string()
        elif char == "'":
            self.quote()
        elif char == "«":
            end = text.find("»", at)
            if end < 0:
                return f"'«' at character {at} is never closed"
            self.keep(end + 1)
        else:
            return self.bracket(char)
        return ""

    def bracket(self, char: str) -> str:
        if char in OPENING:
            self.stack.append((char, self.at))
        elif char in CLOSING and (not self.stack or self.stack.pop()[0] != CLOSING[char]):
            return f"{char!r} at character {self.at} closes what was not opened"
        self.keep(self.at + 1)
        return ""

    def block_comment(self) -> str:
        """Lean's block comments nest."""
        depth, position = 1, self.at + 2
        while depth:
            opened, closed = self.text.find("/-", position), self.text.find("-/", position)
            if closed < 0:
                return f"the comment at character {self.at} is never closed"
            if 0 <= opened < closed:
                depth, position = depth + 1, opened + 2
            else:
                depth, position = depth - 1, closed + 2
        self.comment(position)
        return ""

    def comment(self, end: int) -> None:
        before = self.text[self.at - 1] if self.at else " "
        self.glued |= not (before.isspace() or before.isalnum() or before in _ENDS)
        self.comments = True
        self.bare.append(_blank(self.text[self.at : end]))
        self.code.append(self.bare[-1])
        self.at = end

    def string(self) -> str:
        before = self.text[self.at - 1] if self.at else ""
        if before in ("!", "#") or (
            before == "r" and not _ends_identifier(self.text[max(self.at - 2, 0) : self.at - 1])
        ):
            self.unusual = True
        match = _STRING.match(self.text, self.at)
        if match is None:
            return f"the string at character {self.at} is never closed"
        self.blank(match.end())
        return ""

    def quote(self) -> None:
        """A prime of an identifier, or a character literal."""
        match = _CHARACTER.match(self.text, self.at)
        if match and not _ends_identifier(self.text[max(self.at - 1, 0) : self.at]):
            self.blank(match.end())
        else:
            self.keep(self.at + 1)

    def keep(self, end: int) -> None:
        self.code.append(self.text[self.at : end])
        self.bare.append(self.text[self.at : end])
        self.at = end

    def blank(self, end: int) -> None:
        self.code.append(_blank(self.text[self.at : end]))
        self.bare.append(self.text[self.at : end])
        self.at = end


_ENDS = "_'.,;()[]{}⟨⟩»\""
"""What a comment may follow without white space: none of it makes a token with `-` or `/`."""


def _blank(text: str) -> str:
    return "".join("\n" if char == "\n" else " " for char in text)


def _ends_identifier(before: str) -> bool:
    return bool(before) and (before[-1].isalnum() or before[-1] in "_'!?])»")


def lex(text: str) -> Lexed:
    """Read the lexical structure of a text."""
    scanner = _Scanner(text)
    problem = scanner.run()
    code, bare = "".join(scanner.code), "".join(scanner.bare)
    return Lexed(code, problem, scanner.comments, bare, scanner.glued, scanner.unusual)


def outside_brackets(code: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Positions outside all brackets between two places; none behind a bracket that closes what was not opened."""
    depth = 0
    for position in range(start, len(code) if end is None else end):
        if code[position] in OPENING:
            depth += 1
        elif code[position] in CLOSING:
            depth -= 1
        elif depth == 0:
            yield position


def blanked(text: str) -> str:
    """A text with comments, strings and characters blanked, at the same places, whatever else is wrong with it."""
    return "".join(_scanned(text).code)


def uncommented(text: str) -> str:
    """A text with comments blanked only, at the same places, whatever else is wrong with it."""
    return "".join(_scanned(text).bare)


def _scanned(text: str) -> _Scanner:
    """The text read to its end; what is wrong with it counts as code."""
    scanner = _Scanner(text)
    while scanner.run() and scanner.at < len(text):
        scanner.keep(scanner.at + 1)
        scanner.stack.clear()
    return scanner


_PLAIN_STRING = re.compile(r"""(?<![\w'!#»\\"])"[^"\\{}«»'\n]*"(?!['"])""")
_UNCLEAR = (
    (re.compile(r"--|/-|-/"), "looks like a comment, and is none to Lean or is one to it alone"),
    (re.compile(r"«[^»]*[\"'()\[\]{}⟨⟩\n][^»]*»|'«|«'"), "is a name with signs in it that Lean may read otherwise"),
    (re.compile(r"'[()\[\]{}⟨⟩⦃⦄⟦⟧⟪⟫⌊⌋⌈⌉]'"), "is a bracket to one reader, and a character to another"),
    (re.compile(r'"'), "belongs to a string that is not plain: it may hold code, or end elsewhere for Lean"),
)


def ambiguity(bare: str) -> str:
    """What in a text without comments Lean may read otherwise than this reader; empty when there is nothing.

    Strings stay clear when nothing before the quote changes their kind, and no escape, brace or quote is in them.
    """
    # Without plain strings, which are found from the left as both readers do: no quote before them is left over.
    rest = _PLAIN_STRING.sub(lambda match: " " * len(match.group()) if _clear(match.group()) else match.group(), bare)
    for pattern, meaning in _UNCLEAR:
        if match := pattern.search(rest):
            line = bare.count("\n", 0, match.start()) + 1
            return f"{match.group()[:20]!r} in line {line} {meaning}"
    return ""


def _clear(string: str) -> bool:
    return not re.search(r"--|/-|-/", string)
