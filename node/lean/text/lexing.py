"""Scans Lean text for comments, strings and brackets, which decide where a piece of text ends. No Lean needed.

A text is balanced if it closes every bracket, string and comment that it opens, and no others. A candidate that is not
balanced could absorb the text behind it, or end the block around it, so it is never sent to Lean.

This scanner does not know all of Lean's tokens, because libraries add more. So text that is code to the scanner may be
a string or comment to Lean, or the other way round. `ambiguity` finds such places; texts with one are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧", "⟪": "⟫", "⌊": "⌋", "⌈": "⌉"}
CLOSING = {close: open_ for open_, close in OPENING.items()}

_CHARACTER = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_COMMENT_SIGN = re.compile(r"/-|-/")
_BORING = re.compile(r"[\w\s.,:;=<>+*∧∨→↔¬∀∃λ|&^%$!?@~·←↦≤≥≠⊢×∈∘∣]+")
"""Runs of characters that begin no comment, string or bracket. The `r` of a raw string is checked at its quote."""


@dataclass(frozen=True)
class Lexed:
    """A text divided into code, comments and strings."""

    code: str
    """The text with comments, strings and character literals replaced by spaces (line breaks stay)."""
    problem: str = ""
    """Why the text is not balanced; empty if it is."""
    comments: bool = False
    """True if the text has comments."""
    bare: str = ""
    """The text with only its comments replaced by spaces."""
    glued: bool = False
    """True if a comment directly follows an operator and may form another token with it (`<--x`)."""
    unusual: bool = False
    """True if it has an interpolated or raw string, which Lean may read differently. Such a candidate runs alone."""


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
        self.endless: set[str] = set()
        """Beginnings of what never ends: from there on they count as code, so that no text is searched twice."""

    def run(self) -> str:
        """Scan to the end or to the first problem. Returns the problem; empty if there is none."""
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
        """Scan a comment, string or bracket that may begin here. Returns the problem; empty if there is none."""
        text, at = self.text, self.at
        char = text[at]
        if text.startswith("--", at):
            end = text.find("\n", at)
            self.comment(len(text) if end < 0 else end)
        elif text.startswith("/-", at):
            return self.block_comment()
        elif text.startswith("-/", at):
            return f"`-/` at character {at} ends a comment that was not opened"
        elif char == '"':
            return self.string()
        elif char == "'":
            self.quote()
        elif char == "«":
            end = -1 if char in self.endless else text.find("»", at)
            if end < 0:
                self.endless.add(char)
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
        """Scan a block comment."""
        end = -1 if "/-" in self.endless else comment_end(self.text, self.at)
        if end < 0:
            self.endless.add("/-")
            return f"the comment at character {self.at} is never closed"
        self.comment(end)
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
        match = None if '"' in self.endless else _STRING.match(self.text, self.at)
        if match is None:
            self.endless.add('"')
            return f"the string at character {self.at} is never closed"
        self.blank(match.end())
        return ""

    def quote(self) -> None:
        """Scan a prime of an identifier, or a character literal."""
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
"""Characters that a comment may directly follow, because they form no token with `-` or `/`."""


def comment_end(text: str, start: int) -> int:
    """End of the block comment that begins at an offset; -1 if it has none. Lean's block comments nest."""
    depth = 1
    # Lean looks for further signs behind the third character, which decides whether this is documentation.
    for sign in _COMMENT_SIGN.finditer(text, start + 3):
        depth += 1 if sign.group() == "/-" else -1
        if not depth:
            return sign.end()
    return -1


def _blank(text: str) -> str:
    return "".join("\n" if char == "\n" else " " for char in text)


def _ends_identifier(before: str) -> bool:
    return bool(before) and (before[-1].isalnum() or before[-1] in "_'!?])»")


def lex(text: str) -> Lexed:
    """Scan the lexical structure of a text."""
    scanner = _Scanner(text)
    problem = scanner.run()
    code, bare = "".join(scanner.code), "".join(scanner.bare)
    return Lexed(code, problem, scanner.comments, bare, scanner.glued, scanner.unusual)


def outside_brackets(code: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Offsets in a range that are outside all brackets. Ends at a closing bracket without an opening one."""
    depth = 0
    for position in range(start, len(code) if end is None else end):
        if code[position] in OPENING:
            depth += 1
        elif code[position] in CLOSING:
            depth -= 1
        elif depth == 0:
            yield position


def blanked(text: str) -> str:
    """A text with comments, strings and character literals replaced by spaces, even if it is not balanced."""
    return "".join(_scanned(text).code)


def uncommented(text: str) -> str:
    """A text with only its comments replaced by spaces, even if it is not balanced."""
    return "".join(_scanned(text).bare)


def unclosed_comment(text: str) -> int:
    """Where the first comment begins that is never closed; -1 if all are."""
    scanner = _Scanner(text)
    while scanner.run() and scanner.at < len(text):
        if text.startswith("/-", scanner.at):
            return scanner.at
        scanner.keep(scanner.at + 1)
        scanner.stack.clear()
    return -1


def _scanned(text: str) -> _Scanner:
    """Scan a text to its end. Unbalanced parts count as code."""
    scanner = _Scanner(text)
    while scanner.run() and scanner.at < len(text):
        scanner.keep(scanner.at + 1)
        scanner.stack.clear()
    return scanner


_PLAIN_STRING = re.compile(r"""(?<![\w'!#»\\"])"[^"\\{}«»'\n]*"(?!['"])""")
_UNCLEAR = (
    (re.compile(r"--|/-|-/"), "looks like a comment, but Lean may read it differently"),
    (re.compile(r"«[^»]*[\"'()\[\]{}⟨⟩\n][^»]*»|'«|«'"), "is a name with characters that Lean may read differently"),
    (re.compile(r"'[()\[\]{}⟨⟩⦃⦄⟦⟧⟪⟫⌊⌋⌈⌉]'"), "may be a bracket or a character literal to Lean"),
    (re.compile(r'"'), "belongs to a string that is not plain: to Lean, it may contain code or end elsewhere"),
)


def ambiguity(bare: str) -> str:
    """The first place in a text without comments that Lean may read differently; empty if there is none.

    A string is plain if no character before its quote changes its kind, and it has no escape, brace or quote.
    """
    # Remove plain strings first, from the left as Lean reads them, so that every remaining quote is a doubtful one.
    doubtful = _PLAIN_STRING.sub(
        lambda match: " " * len(match.group()) if _clear(match.group()) else match.group(), bare
    )
    for pattern, meaning in _UNCLEAR:
        if match := pattern.search(doubtful):
            line = bare.count("\n", 0, match.start()) + 1
            return f"{match.group()[:20]!r} in line {line} {meaning}"
    return ""


def _clear(string: str) -> bool:
    return not re.search(r"--|/-|-/", string)
