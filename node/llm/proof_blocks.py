"""Finds code in prose, theorems in code, and proofs in theorems, by regular expressions. Pure; never raises.

A parsing mistake is harmless: Lean checks every proof, so this module decides only which proofs are tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.lexing import blanked, outside_brackets, uncommented

TAB = 2
"""Columns per tab: Lean rejects tabs, and models learn two columns per level."""

_LEAN = frozenset({"", "lean", "lean4", "Lean", "Lean4", "lean3"})
"""Language tags of code blocks that may hold a proof. Kimina's thoughts have blocks tagged `tactics`, which do not."""

_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\ufeff]")
_SPACE = re.compile(r"[^\S\n]")
_FENCE = re.compile(r"```([^\n`]*)")
_LEAN_FENCE = re.compile(r"```lean[34]?\b")
_DECLARATION = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|noncomputable|nonrec|public)\s+)*"
    r"(?P<kind>theorem|lemma|example|def|abbrev|axiom|instance|structure|inductive|opaque|class)\b[ \t]*"
    r"(?P<name>[^\s:(){}\[\]⦃⦄]*)",
    re.MULTILINE,
)
_COMMAND = re.compile(
    r"^(?:@\[|#[a-z]|(?:theorem|lemma|example|def|abbrev|axiom|instance|structure|inductive|opaque|class|end|"
    r"namespace|section|variable|universe|import|private|protected|noncomputable|attribute|macro|syntax|notation|"
    r"local|scoped)\b)",
    re.MULTILINE,
)
"""Beginnings of a line in column 0 that start a command and never a tactic."""
_COMMAND_OR_TACTIC = re.compile(r"^(?:open|set_option)\b", re.MULTILINE)
_BINDS = re.compile(r"(?<![\w.'])(?:let|have|letI|haveI|let_fun)(?![\w'])|:=")
_BY = re.compile(r"\s*by(?![\w'!?])")


@dataclass(frozen=True)
class Block:
    """A block of code in prose."""

    text: str
    closed: bool


@dataclass(frozen=True)
class DeclaredTheorem:
    """Positions of a theorem in a text."""

    statement: int
    """Start of its binders."""
    assignment: int
    """Position of the `:=` of its proof."""
    end: int
    """Start of the next command."""
    is_ours: bool
    """Whether it has our theorem's name."""
    helpers: tuple[str, ...]
    """Names declared before it."""


def plain(text: str) -> str:
    """Normalize line breaks and spaces, and remove tabs and invisible characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(TAB)
    return _SPACE.sub(" ", _UNSEEN.sub("", lines))


def without_thoughts(text: str) -> tuple[str | None, bool]:
    """The text after a model's thoughts (None if the thoughts never end), and whether there were any.

    The opening mark may be missing, because it can be part of the prompt.
    """
    _, closing, answer = text.rpartition("</think>")
    if closing:
        return answer, True
    return (None, True) if "<think>" in text else (text, False)


def before(text: str, stops: Sequence[str]) -> str:
    """The text up to the first stop text. Some servers do not remove stop texts."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def ended(text: str, stops: Sequence[str]) -> bool:
    """Whether the text contains a stop text."""
    return any(stop in text for stop in stops)


def code_blocks(text: str) -> list[Block]:
    """The Lean code blocks in prose, in order. The closing fence may follow the code without a line break.

    A fence with a Lean tag always begins a block, so that an unclosed block before it does not swallow it.
    """
    code_blocks: list[Block] = []
    at = 0
    while opening := _FENCE.search(text, at):
        language, start = opening[1].strip(), opening.end()
        words = language.split(maxsplit=1)
        if len(words) == 2 and words[0] in _LEAN:  # code on the line of the fence
            language, start = words[0], opening.start() + 3 + opening[1].find(words[1])
        closing = text.find("```", start)
        begins_another = closing >= 0 and _LEAN_FENCE.match(text, closing) is not None
        if language in _LEAN:
            code = text[start : closing if closing >= 0 else len(text)].strip("\n")
            code_blocks.append(Block(code, closing >= 0 and not begins_another))
        if closing < 0:
            break
        at = closing if begins_another else closing + 3
    return code_blocks


def without_comments(text: str) -> str:
    """Remove comments, and the lines that hold only comments."""
    pairs = zip(text.split("\n"), uncommented(text).split("\n"), strict=True)
    return "\n".join(code.rstrip() for written, code in pairs if code.strip() or not written.strip())


def dedented(text: str) -> str:
    """Move a tactic block left so that its first line is in column 0; relative indentation is preserved."""
    lines = text.rstrip().split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return _moved_left(lines, _indentation(lines[0]) if lines else 0)


def declares(code: str) -> bool:
    """Whether the code (`blanked`) declares a theorem."""
    return any(match["kind"] in ("theorem", "lemma", "example") for match in _DECLARATION.finditer(code))


def declared_theorem(code: str, name: str) -> DeclaredTheorem | None:
    """The last theorem with a proof after `:=` in the code (`blanked`): the one called `name` if it is declared, else
    any; None if there is none."""
    declarations = list(_DECLARATION.finditer(code))
    theorems = [match for match in declarations if match["kind"] in ("theorem", "lemma", "example")]
    ours = [match for match in theorems if match["name"].rpartition(".")[2] == name.rpartition(".")[2]]
    for match in reversed(ours or theorems):
        end = _command_after(code, match.end())
        assignment = _assignment(code, match.end(), end)
        if assignment is not None:
            helpers = tuple(
                each["name"] for each in declarations if each.start() < match.start() and each["name"] != match["name"]
            )
            return DeclaredTheorem(match.end(), assignment, end, match in ours, tuple(filter(None, helpers)))
    return None


def proof_body(code: str, theorem: DeclaredTheorem) -> str:
    """The tactic block of a theorem's proof; a proof term becomes `exact TERM`. Empty if there is no proof."""
    start = theorem.assignment + 2
    proof = code[start : theorem.end].rstrip()
    if not proof.strip():
        return ""
    if by := _BY.match(blanked(proof)):
        column = start + by.end() - (code.rfind("\n", 0, start + by.end()) + 1)
        return tactic_block(proof[by.end() :], column)
    term = proof.strip().split("\n")
    return "\n".join([f"exact {term[0]}", *_moved_right(term[1:])])


def tactic_block(text: str, column: int = 0) -> str:
    """The tactic block after `by`, moved to column 0. `column`: column of the text's start, if the first tactic is on
    that line.

    The following lines are aligned with that tactic, or continue it from further left. Continuation lines are indented
    by two columns.
    """
    if by := _BY.match(text):
        text, column = text[by.end() :], column + by.end()
    first, _, following = text.rstrip().partition("\n")
    if column == 0 or not first.strip():
        return dedented(text if first.strip() else following)
    column += _indentation(first)
    lines = following.split("\n")
    least = min((_indentation(line) for line in lines if line.strip()), default=column)
    moved = _moved_left(lines, column if least >= column else max(least - 2, 0))
    return f"{first.strip()}\n{moved}".rstrip()


def before_command(code: str) -> str:
    """The part of the code before the next command; the code continues a proof."""
    lines = [line for line in code.split("\n") if line.strip()]
    indented = bool(lines) and lines[0][:1] == " "
    masked = blanked(code)
    starts = [match.start() for match in _COMMAND.finditer(masked)]
    if indented:
        starts += [match.start() for match in _COMMAND_OR_TACTIC.finditer(masked)]
    return code[: min(starts, default=len(code))]


def same_text(written: str, theorem: Theorem) -> bool:
    """Whether a statement equals the theorem's, up to white space, comments and the name."""
    return _squeezed(written) == _squeezed(f"{theorem.binders}:{theorem.conclusion}")


def _squeezed(text: str) -> str:
    return "".join(uncommented(text).split())


def _assignment(code: str, start: int, end: int) -> int | None:
    """Position of the `:=` of a declaration's proof: outside brackets, and not part of a `let` in the statement."""
    outside = set(outside_brackets(code, start, end))
    bound = 0
    for match in _BINDS.finditer(code, start, end):
        if match.start() not in outside:
            continue
        if match.group() != ":=":
            bound += 1
        elif bound:
            bound -= 1
        else:
            return match.start()
    return None


def _command_after(code: str, start: int) -> int:
    following = _COMMAND.search(code, start)
    second = _COMMAND_OR_TACTIC.search(code, start)
    return min(match.start() if match else len(code) for match in (following, second))


def _moved_right(lines: Sequence[str]) -> list[str]:
    """Indent the continuation lines of a term by at least two columns; relative indentation is preserved."""
    least = min((_indentation(line) for line in lines if line.strip()), default=0)
    return [(" " * max(2 - least, 0) + line).rstrip() for line in lines]


def _moved_left(lines: Sequence[str], columns: int) -> str:
    """Remove up to `columns` leading spaces from each line."""
    return "\n".join(line[min(columns, _indentation(line)) :].rstrip() for line in lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
