"""Scans Lean text for comments, strings and brackets, which decide where a piece of text ends. No Lean needed.

A text is balanced if it closes every bracket, string and comment that it opens, and no others. A candidate that is not
balanced could absorb the text behind it, or end the block around it, so it is never sent to Lean.

This scanner does not know all of Lean's tokens, because libraries add more. So text that is code to the scanner may be
a string or comment to Lean, or the other way round. `ambiguity` finds such places; texts with one are refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

# --- Recognizes identifiers in Lean text, by the same characters as Lean ---------------------------------------------
#
# Source: `isIdFirst` and `isIdRest` (Lean 4, Init/Meta/Defs.lean).
#
# Regular expressions with `\w` differ from Lean: it reads `Cᵒᵖ` as `C` and an operator, and `n!` as one name. Use this
# module where a wrong reading costs more than a failed guess.


LETTERS = (
    "A-Za-z_"
    "À-ÖØ-öø-ſ"  # Latin letters with accents
    "α-κμ-ωΑ-ΟΡΤ-Ωϊ-ϻἀ-῾"  # Greek except λ, Π and Σ
    "℀-⅏𝒜-𝖟"
)
"""Characters with which a name may begin, as ranges of a character class."""

_REST = LETTERS + "0-9'!?₀-₉ₐ-ₜᵢ-ᵪⱼ"

NAME = rf"[{LETTERS}][{_REST}]*"
"""One component of a name."""

_DOTTED = re.compile(rf"{NAME}(?:\.{NAME})*")


NO_NAME = rf"[^\W{_REST}]"
"""A letter or digit to Python that belongs to no name in Lean, such as `ᵒ` and `²`."""

_SYMBOL = r"[^\w\s()\[\]{}⟨⟩.,;:'\"«»]"
"""A character of a symbol that a library may continue with letters, such as Mathlib's `→o` and `→SL[`."""

WORD = re.compile(r"[^\W\d][\w']*[?%!]*")

_WORDS = (
    WORD,
    *(
        re.compile(rf"(?<={before})[{LETTERS}][\w']*[?%!]*")
        for before in (
            NO_NAME,  # `αᵒᵖopen`: to Lean, two of these letters belong to no name
            rf"{_SYMBOL}\w",  # `→oopen`
            rf"{_SYMBOL}\w\w",
        )
    ),
)


def words_in(code: str) -> Iterator[re.Match[str]]:
    """All words in which Lean may see a keyword. Where a symbol or a number may end, a word begins inside another one.
    (Numbers directly before a name: see `ambiguity`.)"""
    for pattern in _WORDS:
        yield from pattern.finditer(code)


def first_word(tactic: str) -> str:
    """The first word of a tactic, without brackets and bullets before it: `rw` of `(rw [h] at k)`; empty: it has
    none."""
    match = _DOTTED.search(tactic)
    return match.group() if match else ""


SHADOWED = "✝"
"""Lean prints this behind an inaccessible name, with a number: `h✝¹`."""

LOCAL = re.compile(rf"(?<![{_REST}.{SHADOWED}])({NAME}(?:{SHADOWED}[⁰¹²³⁴-⁹]*)?)")
"""A name that may be in the local context: the part of a dotted name before its first dot (`h` in `h.1`). It does not
match the name behind a dot (`.inl h`) or a metavariable (`?h`)."""

ATTRIBUTE = r"@\[[^\]]{0,1000}\]"
"""Pattern of a list of attributes. Its length is limited, so that many unclosed ones are not all read to the end."""

OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⟦": "⟧", "⟪": "⟫", "⌊": "⌋", "⌈": "⌉"}
CLOSING = {close: open_ for open_, close in OPENING.items()}

_CHARACTER = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'", re.DOTALL)
_STRING_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
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
        match = None if '"' in self.endless else _STRING_LITERAL.match(self.text, self.at)
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


_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһոցԛԝмткᴀᴄᴅᴇᴏɑıοαεινκρτυχѵ",
    "aeopcyxijsdhngqwmtkacdeoaioaeivkptuxv",
)
"""Cyrillic, Greek and phonetic letters that look like Latin ones. To Lean, `ѕоrry` and `sorry` are different names; to
people, they look the same."""


def folded(text: str) -> str:
    """The text with compatibility forms and look-alike letters replaced by the plain letters that they look like."""
    return unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)


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


_PLAIN_STRING_LITERAL = re.compile(r"""(?<![\w'!#»\\"])"[^"\\{}«»'\n]*"(?!['"])""")
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
    doubtful = _PLAIN_STRING_LITERAL.sub(
        lambda match: " " * len(match.group()) if _clear(match.group()) else match.group(), bare
    )
    for pattern, meaning in _UNCLEAR:
        if match := pattern.search(doubtful):
            line = bare.count("\n", 0, match.start()) + 1
            return f"{match.group()[:20]!r} in line {line} {meaning}"
    return glued_number(bare)


def glued_number(text: str) -> str:
    """Says where a name stands directly behind a number; empty if it does nowhere. To Lean, `0x1open` is a number and a
    keyword, and to a pattern of words it is one word."""
    read = tokens_of(text)
    for token, following in pairwise(read.tokens):
        if token.kind == "number" and following.kind == "name" and following.start == token.end:
            return f"{text[token.start : following.end][:20]!r} is a number with a name directly behind it"
    rest = text[read.end : read.end + 20]
    return f"{rest!r} begins with an incomplete number" if rest[:1].isdigit() else ""


def _clear(string: str) -> bool:
    return not re.search(r"--|/-|-/", string)


# --- Finds every `sorry` in a text. Pure -----------------------------------------------------------------------------


_SORRY = re.compile(r"(?<![\w.'!?])sorry(?![\w'!?]|\.[^\W\d])")
_QUOTED_NAME = re.compile(r"«[^«»\n]*»")
_MANY_TIMES = re.compile(r"(\b(all_goals|any_goals|repeat'?|iterate( \d+)?)|<;>)[(\s]*$")
"""The text before a tactic that runs more than once. A `sorry` in such a tactic has no single goal."""


_LOOK_BACK = 200
"""Number of characters before a `sorry` that are searched for such text. A file may have hundreds of `sorry`s."""


@dataclass(frozen=True)
class Mention:
    """A `sorry` in a text."""

    start: int
    many: bool
    """True if it may run more than once."""

    @property
    def end(self) -> int:
        return self.start + len("sorry")

    def moved(self, by: int) -> Mention:
        """The same mention, in a text with `by` more characters before it."""
        return Mention(self.start + by, self.many)


def mentions(text: str) -> list[Mention]:
    """Every `sorry` of a text outside comments, strings and names in guillemets."""
    code = _QUOTED_NAME.sub(lambda match: "x" * len(match.group()), blanked(text))
    return [
        Mention(match.start(), bool(_MANY_TIMES.search(code[max(0, match.start() - _LOOK_BACK) : match.start()])))
        for match in _SORRY.finditer(code)
    ]


# --- Divides a Lean text into tokens, in linear time. No Lean needed -------------------------------------------------
#
# Names, numbers, strings, characters and comments are divided as Lean does. A symbol is one character, because which
# longer ones exist depends on the libraries. Where a longer symbol or an error would make Lean divide the text
# differently, the place is reported as doubtful.


_PART = rf"(?:{NAME}|«[^»]*»)"
_ESCAPE = r"\\(?:[\\\"'ntr{]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|\r?\n)"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+)
    |(?P<line>--[^\n]*)
    |(?P<block>/-)
    |(?P<raw>r\#*")
    |(?P<name>{_PART}(?:\.{_PART})*)
    |(?P<string>"[^"\\]*(?:{_ESCAPE}[^"\\]*)*")
    |(?P<char>'(?:[^\\']|{_ESCAPE})')
    |(?P<broken>[0-9]+[eE](?![0-9+-])|0[xX](?![0-9a-fA-F])|0[bB](?![01])|0[oO](?![0-7]))
    |(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9]+(?:_+[0-9]+)*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    |(?P<symbol>:=|=>|''|.)""",
    re.VERBOSE | re.DOTALL,
)

_FORMS_NO_TOKEN = frozenset(".,;()[]{}⟨⟩")
"""Symbols that form no longer token with a comment or a character literal directly behind them."""

_SAFE_BRACES = re.compile(r"[^{}]*(?:\{[^{}'\"«»\\]*\}[^{}]*)*")
"""A string in which `{`...`}` may be code (`s!"{x}"`), but that ends where a plain string ends."""


_UNUSUAL_DOCUMENTATION = re.compile(r"/-[-!](?:[ \n]|\r\n)*(?:--|/-|[\t\r])")
_SPACE_ERROR = re.compile(r"\t|\r(?!\n)")
_BEHIND_QUOTE = frozenset("\"'-/«»\\#@")


class Token(NamedTuple):
    """A token of a file."""

    kind: str
    """`name`, `string`, `char`, `number` or `symbol`."""
    text: str
    start: int
    end: int
    column: int
    """0: at the start of its line; 1: first in its line, but indented; 2: behind another token."""


@dataclass(frozen=True)
class Tokens:
    """A text divided into tokens, without comments."""

    tokens: list[Token]
    comments: list[tuple[int, int]]
    """Start and end of each comment, documentation included."""
    doubtful: int
    """Offset of the first place that Lean may divide differently; the text's length if there is none."""
    end: int
    """Offset where reading ended: the text's length, or the start of a comment or string that never ends."""

    def code_of(self, text: str) -> str:
        """The text with comments, strings and character literals replaced by spaces, as Lean divides it."""
        code = list(_blank(text))
        for token in self.tokens:
            if token.kind not in ("string", "char"):
                code[token.start : token.end] = token.text
        return "".join(code)


def tokens_of(text: str) -> Tokens:
    """Divide a text into tokens, in linear time: every step moves forwards, and the first failure ends it."""
    tokens: list[Token] = []
    comments: list[tuple[int, int]] = []
    doubtful, at, column = len(text), 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None and match.lastgroup is not None
        kind, start, end = match.lastgroup, at, match.end()
        before = tokens[-1] if tokens and tokens[-1].end == start else None
        # 1. White space and comments.
        if kind == "space":
            if _SPACE_ERROR.search(text, start, end):
                doubtful = min(doubtful, start)
            column = 0 if text[end - 1] == "\n" else 1 if "\n" in match.group() else max(column, 1)
            at = end
            continue
        if kind in ("line", "block"):
            if before is not None and before.kind == "symbol" and before.text not in _FORMS_NO_TOKEN:
                doubtful = min(doubtful, before.start)
            closed = end if kind == "line" else comment_end(text, start)
            if closed < 0:
                return Tokens(tokens, comments, min(doubtful, start), start)
            # Versions of Lean may differ in what the last `/` belongs to. White space and comments behind `/--` belong
            # to that token, and after an error in them, Lean goes on inside the comment.
            if text.startswith(("/--/", "/-/"), start) or _UNUSUAL_DOCUMENTATION.match(text, start):
                doubtful = min(doubtful, start)
            comments.append((start, closed))
            column = 0 if text[closed - 1] == "\n" else max(column, 1)
            at = closed
            continue
        # 2. Strings and other tokens.
        if kind == "raw":
            closing = text.find('"' + "#" * (end - start - 2), end)
            if closing < 0:
                return Tokens(tokens, comments, min(doubtful, start), start)
            kind, end = "string", closing + (end - start - 1)
        elif (kind == "symbol" and text[start] in '"«') or kind == "broken":
            return Tokens(tokens, comments, min(doubtful, start), start)
        if _is_doubtful(text, kind, start, end, before):
            doubtful = min(doubtful, start)
        tokens.append(Token(kind, text[start:end], start, end, column))
        at, column = end, 2
    return Tokens(tokens, comments, doubtful, len(text))


def _is_doubtful(text: str, kind: str, start: int, end: int, before: Token | None) -> bool:
    """True if Lean may read something else here, depending on the tokens of libraries or after an error.

    `before`: the token directly before it.
    """
    glued = before is not None and before.text not in _FORMS_NO_TOKEN - {"]", ")", "}", "⟩"}
    if kind == "string" and text[start] != "r" and "{" in text[start:end]:
        inside = text[start + 1 : end - 1]
        return "--" in inside or "/-" in inside or "\\{" in inside or not _SAFE_BRACES.fullmatch(inside)
    if kind == "char":
        return glued and not text[start + 1].isalnum()  # `xs[i]'h` has a token `]'`
    if kind != "symbol":
        return False
    if text[start] == "'":
        return not _BEHIND_QUOTE.isdisjoint(text[end : end + 3])  # after an error, Lean goes on some characters behind
    # `-/` ends a comment that was not opened; other spaces than Lean's are errors.
    return text.startswith("-/", start) or not text[start].isprintable() or text[start].isspace()
