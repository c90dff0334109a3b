"""Finds the commands of a file, with their positions and kinds, and removes commands without moving the others."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from common.lean import Theorem
from node.lean.check.files.report import FileMessage
from node.lean.text.lexing import ATTRIBUTE, Tokens, blanked, lex, mentions, outside_brackets, tokens_of
from node.lean.text.statement import StatementError, parse_statement

PROOFS = frozenset({"theorem", "lemma", "example"})

DATA = frozenset({"def", "abbrev", "instance", "structure", "class", "inductive", "coinductive", "opaque", "axiom"})

UNCLOSED = "this comment is never closed"

UNREAD = "text"
"""In place of a command's keyword: text that Lean could not parse."""

_NEUTRAL = {UNREAD} | PROOFS | (DATA - {"instance"}) | {"mutual"}
"""Commands that affect others only by the names they declare. Without one, the others mean the same or fail."""

SYNTAX = frozenset(
    {
        *("notation", "notation3", "infix", "infixl", "infixr", "prefix", "postfix", "syntax", "macro", "macro_rules"),
        *("elab", "elab_rules", "binder_predicate", "declare_syntax_cat", "unif_hint"),
    }
)

_MODIFIERS = frozenset(
    {"private", "protected", "public", "meta", "noncomputable", "unsafe", "partial", "nonrec", "local", "scoped"}
)
_KEYWORD = re.compile(rf"(?:{ATTRIBUTE}|[#\w']+)")
_SCOPE = re.compile(r"\s*(?:set_option|open|omit|include|universe|variable)\b[^\n]*?\sin(?=\s)")
_ATTRIBUTES = re.compile(rf"(?:\s*{ATTRIBUTE}){{0,6}}\s*")
_TIME = re.compile(r"\[Elab\.command\] (?:\[([\d.]+)\] )?")
_GUARD = "#guard_msgs"
UNTRACED = "set_option trace.Elab.command false in "
"""Put before a `#guard_msgs` in the same line, because that compares all messages, also the traces we request."""

UNLINTED = "set_option linter.defProp false in "
"""Put before a `#guard_msgs` of an `example`, too: Lean would warn that the definition in its place is a proof."""

_LINTS_PROPOSITIONS = (4, 32)
"""The first version of Lean with this option. Earlier ones do not know it."""

_GUARD_REACH = 64
"""Number of tokens behind `#guard_msgs` among which the keyword of its command is looked for."""

_DECLARED = re.compile(r"(?<![\w.'])(theorem|lemma)\s+((?:«[^»]*»|[^\s:({\[⦃«])+)")
_EXAMPLE = re.compile(r"(?<![\w.'`«])example(?![\w'])")
_QUOTED = re.compile(r"«[^»\n]*\Z")
_START = re.compile(
    r"^(?:@\[|/--|/-!|#|(?:private|protected|public|meta|noncomputable|unsafe|partial|local|scoped|theorem|lemma|def|abbrev"
    r"|example|instance|structure|class|inductive|opaque|axiom|mutual|namespace|section|end|open|variable|universe|set_option"
    r"|attribute|notation3?|infix[lr]?|prefix|postfix|syntax|macro|macro_rules|elab|elab_rules|deriving|export|nonrec"
    r"|coinductive|include|omit|run_cmd|run_elab|run_meta|initialize|simproc|declare_syntax_cat|alias)\b)",
    re.MULTILINE,
)

EXAMPLE_LETTERS = "ℯℊℎℓℕℙℚℝℤℬℰℱℋℐℒℳℛ"
"""An `example` becomes `def ℯ₀₁` of the same length, so that Lean keeps a constant for it and no column moves. Names
may begin with these letter-like symbols. Names that occur in the file are not used."""

_ENDINGS = ("₀₁₂₃₄₅₆₇₈₉", "ₐₑₒₓₔₕₖₗₘₙₚₛₜᵢᵣᵤᵥᵦᵧᵨᵩᵪ", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The other two characters of such a name. Those of a group are used when the groups before it are used up: the first
is enough for 1,700 examples, all of them for 119,952."""

_EXAMPLE_IN_MESSAGE = re.compile(rf"[{EXAMPLE_LETTERS}][{''.join(_ENDINGS)}]{{2}}")
_EXAMPLE_NAME = re.compile(rf"(?=([{EXAMPLE_LETTERS}][{''.join(_ENDINGS)}]{{2}}))")


@dataclass(frozen=True)
class Command:
    """A command of a file. Offsets are in characters."""

    start: int
    end: int
    line: int
    """Its first line, from 1; a documentation comment belongs to the command."""
    last_line: int
    keyword: str
    seconds: float = 0.0
    stop: int = 0
    """Offset where Lean stopped parsing it. Between this and `end` is only white space, unless it does not parse."""

    @property
    def neutral(self) -> bool:
        """True if removing it affects only commands that use its names."""
        return self.keyword in _NEUTRAL or self.keyword.startswith("#")


class Text:
    """A file's text with a name for each `example`."""

    def __init__(self, original: str, lean_version: str = "", named_as: str = "") -> None:
        """`lean_version`: of the Lean that compiles it, which decides what options there are; empty: a new one.

        `named_as`: a text of the same lines, from which commands may have been removed here. An example of this text
        gets the name that it has there.
        """
        original = _with_guards_untraced(original, lean_version)
        code = blanked(original)
        self.original = original
        self.examples: set[str] = set()
        """Names given to the examples."""
        names = _free_names(original)
        places = _examples(code)
        example_names = dict(zip(places, names, strict=False))
        if named_as and named_as != original:
            example_names |= _names_by_line(code, places, named_as)
        self.examples.update(example_names.values())
        self.text = _renamed(original, example_names)
        self.code = _renamed(code, example_names)
        """The text with comments and strings blanked."""
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def offset(self, line: int, column: int) -> int:
        """Character offset of a line and column."""
        if line > len(self._lines):
            return len(self.text)
        return min(self._lines[max(line, 1) - 1] + column, len(self.text))

    def as_written(self, message: str) -> str:
        """A message from Lean with the names of examples replaced by `example`."""
        return _EXAMPLE_IN_MESSAGE.sub(
            lambda match: "example" if match.group() in self.examples else match.group(), message
        )

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self._lines, offset)

    def without(self, commands: Iterable[Command]) -> str:
        """The text with commands blanked."""
        characters = list(self.text)
        for command in commands:
            for at in range(command.start, command.end):
                if characters[at] != "\n":
                    characters[at] = " "
        return "".join(characters)

    def command(self, start: int, end: int, seconds: float = 0.0, stop: int = 0) -> Command:
        """The command between two offsets."""
        line = self.line(start)
        last = line + self.text.count("\n", start, max(start, end - 1))
        return Command(start, end, line, last, self.keyword(start, end), seconds, stop or end)

    def keyword(self, start: int, end: int) -> str:
        """The keyword of the command between two offsets: its first word that is not an attribute or a modifier.

        For commands like `set_option ... in theorem ...`, it is the keyword behind `in`.
        """
        while match := _SCOPE.match(self.code, start, end):
            start = match.end()
        for match in _KEYWORD.finditer(self.code, start, end):
            word = match.group()
            if not word.startswith("@[") and word not in _MODIFIERS:
                name = self.code[match.end() : end].split(maxsplit=1)[:1]
                return "example" if word == "def" and name and name[0].rstrip(":") in self.examples else word
        return ""

    def commands(self, messages: Sequence[tuple[FileMessage, str]]) -> list[Command]:
        """The commands that Lean has reported. Each extends to the start of the next one."""
        places = []
        for message, kind in messages:
            if kind == "trace" and (match := _TIME.match(message.text)):
                start = self.offset(message.line, message.column)
                end = self.offset(message.end_line, message.end_column)
                places.append((start, -end, float(match.group(1) or 0)))
        outermost: list[tuple[int, int, float]] = []
        reached = -1
        for start, negative_end, seconds in sorted(places):
            if start >= reached and start < len(self.text):  # skip the inner commands that a command expands to
                reached = max(-negative_end, start + 1)
                outermost.append((start, reached, seconds))
        starts = [*(start for start, _, _ in outermost), len(self.text)]
        return [
            self.command(start, end, seconds, stop)
            for (start, end), (_, stop, seconds) in zip(pairwise(starts), outermost, strict=True)
        ]

    def after(self, command: Command | None) -> Command | None:
        """The command behind one, recognized by its text. For commands that Lean has not reported."""
        begin = _START.search(
            self.code, 0 if command is None else max(command.start + 1, min(command.stop, command.end))
        )
        return self.beginning_at(begin.start()) if begin else None

    def beginning_at(self, start: int) -> Command:
        """The command that begins at an offset, up to the next one that is recognized by its text."""
        before, following = start, _START.search(self.code, start + 1)
        while following is not None and is_prefix(self.code, before, following.start()):
            before, following = following.start(), _START.search(self.code, following.end())
        return self.command(start, following.start() if following else len(self.text))

    def rest(self, command: Command) -> Command | None:
        """The text behind the part of a command that Lean could parse; None if there is none."""
        between = self.code[command.stop : command.end]
        if not between.strip():
            return None
        start = command.stop + len(between) - len(between.lstrip())
        return replace(self.command(start, command.end), keyword=UNREAD)

    def declared(self, command: Command) -> list[tuple[str, str, int]]:
        """Keyword, name and line of each theorem that a command declares: more than one in a `mutual` block."""
        return [
            (match.group(1), match.group(2), self.line(match.start()))
            for match in _DECLARED.finditer(self.code, command.start, command.end)
        ]

    def namespace(self, commands: Iterable[Command], command: Command) -> str:
        """The namespace of a command, with a dot at its end; empty at the top level."""
        before = [each for each in commands if each.start < command.start]
        return self.namespaces([*before, replace(command, keyword="")])[command.start]

    def namespaces(self, commands: Iterable[Command]) -> dict[int, str]:
        """The namespace of each theorem or other command that declares a name, by its start, as from `namespace`."""
        spaces: dict[int, str] = {}
        inside: list[str] = []
        space: str | None = ""
        for each in commands:
            if each.keyword not in ("namespace", "section", "end"):
                if space is None:
                    space = "".join(f"{part}." for part in inside if part)
                spaces[each.start] = space
                continue
            words = self.code[each.start : each.end].split()
            at = words.index(each.keyword)
            parts = words[at + 1].split(".") if len(words) > at + 1 else [""]
            if each.keyword == "end":
                del inside[max(len(inside) - len(parts), 0) :]
            else:
                inside += parts if each.keyword == "namespace" else [""] * len(parts)
            space = None
        return spaces


def _examples(code: str) -> list[int]:
    """The offsets of the keyword `example`, which is none inside a name in guillemets."""
    return [
        match.start()
        for match in _EXAMPLE.finditer(code)
        if not _QUOTED.search(code[max(0, match.start() - 200) : match.start()])
    ]


def _names_by_line(code: str, places: Sequence[int], other: str) -> dict[int, str]:
    """Names for the examples at the places of a text: those of another one, if all lines have as many or none."""
    blank = blanked(other)
    theirs: dict[int, list[str]] = {}
    lines = [match.start() for match in re.finditer("\n", blank)]
    for at, name in zip(_examples(blank), _free_names(other), strict=False):
        theirs.setdefault(bisect_right(lines, at), []).append(name)
    named: dict[int, str] = {}
    ours: dict[int, list[int]] = {}
    lines = [match.start() for match in re.finditer("\n", code)]
    for place in places:
        ours.setdefault(bisect_right(lines, place), []).append(place)
    for line, here in ours.items():
        if len(here) != len(theirs.get(line, ())):
            return {}
        named |= dict(zip(here, theirs[line], strict=True))
    return named


def _renamed(text: str, names: Mapping[int, str]) -> str:
    """The text with each `example` replaced by `def NAME`. `names`: by offset. No column moves."""
    parts, at = [], 0
    for place, name in names.items():
        parts += [text[at:place], f"def {name}"]
        at = place + len("example")
    return "".join([*parts, text[at:]])


def _with_guards_untraced(text: str, lean_version: str) -> str:
    """The text with the option UNTRACED before every `#guard_msgs` and its documentation comment. No line moves."""
    if _GUARD not in text:
        return text
    read = tokens_of(text)
    ends = {end: number for number, (_, end) in enumerate(read.comments)}
    parts, at = [], 0
    for index, token in enumerate(read.tokens[1:], 1):
        sharp = read.tokens[index - 1]
        if token.text != "guard_msgs" or sharp.text != "#" or sharp.end != token.start:
            continue
        start = documented(text, read.comments, ends, sharp.start)
        option = UNTRACED
        if _guards_example(read, index) and _known_to(lean_version):
            option += UNLINTED
        parts += [text[at:start], option, text[start : token.end]]
        at = token.end
    return "".join([*parts, text[at:]])


def is_prefix(code: str, start: int, end: int) -> bool:
    """True if the code between two offsets is attributes, or ends with `in`: the command continues behind it."""
    last = code[start:end].split()[-1:]
    return last == ["in"] or not last or _ATTRIBUTES.fullmatch(code, start, end) is not None


def documented(text: str, comments: Sequence[tuple[int, int]], ends: Mapping[int, int], start: int) -> int:
    """Start of the documentation comment of the command at an offset, or of the command itself if it has none.

    Other comments may stand between the two. `ends`: the index in `comments` of each comment by its end.
    """
    begin = start
    while True:
        begin -= 1
        while begin >= 0 and text[begin].isspace():
            begin -= 1
        number = ends.get(begin + 1)
        if number is None:  # a line comment ends before its line break, as the loop above does
            return start
        begin = comments[number][0]
        if text.startswith("/--", begin):
            return begin


def _guards_example(read: Tokens, index: int) -> bool:
    """True if the `#guard_msgs` at a token is about an `example`."""
    words = (token.text for token in read.tokens[index : index + _GUARD_REACH])
    return next((word for word in words if word == "example" or word in PROOFS | DATA | SYNTAX), "") == "example"


def _known_to(lean_version: str) -> bool:
    """True if this version of Lean has the option UNLINTED."""
    match = re.match(r"(\d+)\.(\d+)", lean_version)
    return match is None or (int(match[1]), int(match[2])) >= _LINTS_PROPOSITIONS


def _free_names(text: str) -> Iterator[str]:
    """Names for examples that do not occur in a text."""
    used = {match.group(1) for match in _EXAMPLE_NAME.finditer(text)}
    endings = ""
    for group in _ENDINGS:
        endings += group
        for letter in EXAMPLE_LETTERS:
            for second in endings:
                for third in endings if second in group else group:
                    if (name := f"{letter}{second}{third}") not in used:
                        yield name


# --- Finds commands, theorems and the ends of statements in a Lean file by patterns, without Lean. It can be ---------


_STATEMENT_WORD = re.compile(r"(?<![\w.'])(?:theorem|lemma|example)\b")
_BINDS = re.compile(r"(?:let|have|letI|haveI)\b")
_MODIFIER_PATTERN = r"(?:(?:private|protected|public|noncomputable|nonrec|unsafe|partial|local|scoped)\s+){0,8}"
_DECLARES = "theorem|lemma|example|def|abbrev|instance|structure|class|inductive|opaque|axiom"
_BEGINS = re.compile(
    rf"^[ \t]*(?:{ATTRIBUTE}\s*){{0,6}}{_MODIFIER_PATTERN}"
    rf"(?:{_DECLARES}|mutual|namespace|section|end|variable|universe)\b"
    rf"|^(?:@\[|#|{_MODIFIER_PATTERN}(?:open|set_option|include|omit|attribute|notation3?|infix[lr]?|prefix|postfix|syntax"
    r"|macro|macro_rules|elab|elab_rules|deriving|export|run_cmd|run_elab|run_meta|initialize|simproc"
    r"|declare_syntax_cat|alias)\b)",
    re.MULTILINE,
)
"""The beginning of a command. Declarations may be indented, because no tactic begins with these words."""


class LookedAt:
    """A file's text with the commands that patterns find in it."""

    def __init__(self, original: str) -> None:
        # `Text` inserts an option before each `#guard_msgs`. Another name of the same length prevents that.
        self._text = Text(original.replace("#guard_msgs", "#guard_look"))
        self.original = original
        self.code = blanked(original)
        self.gaps = [mention.start for mention in mentions(original)]
        """Offsets of each `sorry`."""
        begins = [match.start() for match in _BEGINS.finditer(self.code)]
        starts = begins[:1] + [at for before, at in pairwise(begins) if not is_prefix(self.code, before, at)]
        read = tokens_of(original)
        self._comments = read.comments
        self._comment_ends = {end: number for number, (_, end) in enumerate(read.comments)}
        documented = [self._with_documentation(start) for start in starts]
        ends = [*documented[1:], len(original)][: len(starts)]
        self._begins = dict(zip(starts, documented, strict=True))
        self.commands = [self._text.command(start, max(start, end)) for start, end in zip(starts, ends, strict=True)]

    def _with_documentation(self, start: int) -> int:
        """Start of the documentation comment before a command, or of the command itself if it has none."""
        begin = documented(self.original, self._comments, self._comment_ends, start)
        if begin == start:
            return start
        line = self.original.rfind("\n", 0, begin) + 1
        return begin if self.original[line:begin].strip() else line

    def begin(self, command: Command) -> int:
        """Start of a command, including its documentation comment."""
        return self._begins[command.start]

    def stop(self, command: Command) -> int:
        """End of the last code of a command. Behind it are only comments and blank lines."""
        return command.start + len(self.code[command.start : command.end].rstrip())

    def first_line(self, command: Command) -> int:
        """The line of a command's first word, from 1."""
        blank = self.code[command.start : command.end]
        return self._text.line(command.start + len(blank) - len(blank.lstrip()))

    def command_at(self, line: int) -> Command | None:
        """The command whose code includes a line."""
        for command in self.commands:
            if self._text.line(command.start) <= line <= self._text.line(max(command.start, self.stop(command) - 1)):
                return command
        return None

    def theorems(self) -> list[tuple[str, Command]]:
        """The theorems with their full names."""
        spaces = self._text.namespaces(self.commands)
        return [
            (name.removeprefix("_root_.") if name.startswith("_root_.") else f"{space}{name}", command)
            for command in self.commands
            if command.keyword in PROOFS
            for space in [spaces[command.start]]
            for _, name, _ in self._text.declared(command)[:1]
        ]

    def lines_to_prove(self) -> set[int]:
        """Lines with a `sorry`, and the first lines of theorems."""
        gaps = {self._text.line(start) for start in self.gaps}
        return gaps | {self.first_line(each) for each in self.commands if each.keyword in PROOFS}

    def proof_start(self, command: Command) -> int:
        """End of a theorem's statement: the `:=` or the first `|` of its proof.

        A `let` or `have` outside brackets has its own `:=`, which is skipped.
        """
        bindings, stop = 0, self.stop(command)
        for at in outside_brackets(self.code, command.start, stop):
            if self.code.startswith(":=", at):
                if not bindings:
                    return at
                bindings -= 1
            elif self.code[at] == "|" and self._first_in_line(at):
                return at
            elif _BINDS.match(self.code, at) and not (self.code[at - 1].isalnum() or self.code[at - 1] in "_.'"):
                bindings += 1
        return stop

    def _first_in_line(self, at: int) -> bool:
        """True if only blanks stand before an offset in its line."""
        while at and self.code[at - 1] in " \t\r":
            at -= 1
        return not at or self.code[at - 1] == "\n"

    def read(self, command: Command) -> Theorem | None:
        """The statement of a theorem; None if it cannot be parsed."""
        keyword = _STATEMENT_WORD.search(self.code, command.start, command.end)
        if keyword is None:
            return None
        statement = self.original[keyword.start() : self.proof_start(command)]
        try:
            return parse_statement(lex(statement).bare)
        except StatementError:
            return None
