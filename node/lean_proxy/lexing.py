"""Lean's lexical structure, as far as it says where a text ends: comments, strings, brackets. No Lean needed.

A candidate that is not closed in itself would swallow or end what stands around it. So it never gets there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧", "⟪": "⟫", "⌊": "⌋", "⌈": "⌉"}
CLOSING = {close: open_ for open_, close in OPENING.items()}

_CHARACTER = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_RAW_STRING = re.compile(r'r(#*)".*?"\1(?!#)', re.DOTALL)
_BORING = re.compile(r"[\w\s.,:;=<>+*∧∨→↔¬∀∃λ|&^%$!?@~·←↦≤≥≠⊢×∈∘∣]+")
"""Runs of characters that begin nothing; `r` before a string is looked at from the quote."""


@dataclass(frozen=True)
class Lexed:
    """What is code in a text."""

    code: str
    """The text with comments, strings and characters blanked (line breaks stay)."""
    problem: str = ""
    """Why the text is not closed in itself; empty when it is."""
    comments: bool = False
    unusual: bool = False
    """It holds what this reader and Lean might read differently (interpolated or raw strings): do not rely on it."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.code: list[str] = []
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
            self.comments = True
            self.blank(len(text) if end < 0 else end)
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
        self.comments = True
        self.blank(position)
        return ""

    def string(self) -> str:
        before = self.text[self.at - 1] if self.at else ""
        if before in ("!", "#") or (before == "r" and not _ends_identifier(self.text[: self.at - 1])):
            self.unusual = True
        match = _STRING.match(self.text, self.at)
        if match is None:
            return f"the string at character {self.at} is never closed"
        self.blank(match.end())
        return ""

    def quote(self) -> None:
        """A prime of an identifier, or a character literal."""
        match = _CHARACTER.match(self.text, self.at)
        if match and not _ends_identifier(self.text[: self.at]):
            self.blank(match.end())
        else:
            self.keep(self.at + 1)

    def keep(self, end: int) -> None:
        self.code.append(self.text[self.at : end])
        self.at = end

    def blank(self, end: int) -> None:
        self.code.append("".join("\n" if char == "\n" else " " for char in self.text[self.at : end]))
        self.at = end


def _ends_identifier(before: str) -> bool:
    return bool(before) and (before[-1].isalnum() or before[-1] in "_'!?])»")


def lex(text: str) -> Lexed:
    """Read the lexical structure of a text."""
    scanner = _Scanner(text)
    problem = scanner.run()
    return Lexed("".join(scanner.code), problem, scanner.comments, scanner.unusual)
