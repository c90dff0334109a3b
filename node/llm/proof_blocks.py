"""Finds code in prose, theorems in code, and proofs in theorems, by the look of the text. Pure; never raises.

Where this reading errs, Lean refuses the proof: it decides what is tried, never what is true.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.lexing import blanked, outside_brackets, uncommented

TAB = 2
"""Columns that a tab stands for: Lean refuses tabs, and models learn two columns a level."""

_LEAN = frozenset({"", "lean", "lean4", "Lean", "Lean4", "lean3"})
"""Languages of blocks that may hold a proof: Kimina's thoughts have ```tactics."""

_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f\u200b\ufeff]")
_SPACE = re.compile(r"[^\S\n]")
_FENCE = re.compile(r"```([^\n`]*)")
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
"""What begins a command in the first column, and no tactic."""
_COMMAND_OR_TACTIC = re.compile(r"^(?:open|set_option)\b", re.MULTILINE)
_BINDS = re.compile(r"(?<![\w.'])(?:let|have|letI|haveI|let_fun)(?![\w'])|:=")
_BY = re.compile(r"\s*by(?![\w'!?])")


@dataclass(frozen=True)
class Block:
    """A block of code in prose."""

    text: str
    closed: bool


@dataclass(frozen=True)
class Found:
    """Where a theorem stands in a text."""

    statement: int
    """Where its binders begin."""
    assignment: int
    """Where the `:=` of its proof is."""
    end: int
    """Where the next command begins."""
    is_ours: bool
    """It has our theorem's name."""
    helpers: tuple[str, ...]
    """Names that are declared before it."""


def plain(text: str) -> str:
    """A text with one kind of line break and of space, and without tabs and characters that nobody sees."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(TAB)
    return _SPACE.sub(" ", _UNSEEN.sub("", lines))


def without_thoughts(text: str) -> tuple[str | None, bool]:
    """What stands behind a model's thoughts (None: they never end), and whether there were any.

    The opening mark may have been part of the prompt.
    """
    _, closing, answer = text.rpartition("</think>")
    if closing:
        return answer, True
    return (None, True) if "<think>" in text else (text, False)


def before(text: str, stops: Sequence[str]) -> str:
    """The text up to the first of the stop texts: some servers leave them in."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


def ended(text: str, stops: Sequence[str]) -> bool:
    """Whether a stop text stands in it."""
    return any(stop in text for stop in stops)


def code_blocks(text: str) -> list[Block]:
    """The blocks of Lean in prose, in their order. The fence may follow the code without a line break."""
    found: list[Block] = []
    at = 0
    while opening := _FENCE.search(text, at):
        language, start = opening[1].strip(), opening.end()
        words = language.split(maxsplit=1)
        if len(words) == 2 and words[0] in _LEAN:  # code on the line of the fence
            language, start = words[0], opening.start() + 3 + opening[1].find(words[1])
        closing = text.find("```", start)
        if language in _LEAN:
            found.append(Block(text[start : closing if closing >= 0 else len(text)].strip("\n"), closing >= 0))
        if closing < 0:
            break
        at = closing + 3
    return found


def without_comments(text: str) -> str:
    """Code without its comments, and without the lines that held nothing else."""
    pairs = zip(text.split("\n"), uncommented(text).split("\n"), strict=True)
    return "\n".join(code.rstrip() for written, code in pairs if code.strip() or not written.strip())


def dedented(text: str) -> str:
    """A tactic block with its first line in column 0, and the others as far to the right of it as they were."""
    lines = text.rstrip().split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return _moved_left(lines, _indentation(lines[0]) if lines else 0)


def declares(code: str) -> bool:
    """Whether a theorem is declared in code (`blanked`)."""
    return any(match["kind"] in ("theorem", "lemma", "example") for match in _DECLARATION.finditer(code))


def declared_theorem(code: str, name: str) -> Found | None:
    """The theorem of a name in code (`blanked`), or else the last one; None without one that has a `:=`."""
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
            return Found(match.end(), assignment, end, match in ours, tuple(filter(None, helpers)))
    return None


def proof_body(code: str, found: Found) -> str:
    """The tactic block of a found theorem's proof: a proof term becomes `exact TERM`. Empty where there is none."""
    start = found.assignment + 2
    proof = code[start : found.end].rstrip()
    if not proof.strip():
        return ""
    if by := _BY.match(blanked(proof)):
        column = start + by.end() - (code.rfind("\n", 0, start + by.end()) + 1)
        return tactic_block(proof[by.end() :], column)
    term = proof.strip().split("\n")
    return "\n".join([f"exact {term[0]}", *_moved_right(term[1:])])


def tactic_block(text: str, column: int = 0) -> str:
    """What stands behind `by`, from column 0. `column`: where the text begins, if its first tactic is on that line.

    Lines behind such a tactic are aligned with it, or go on with it from further left: these keep two columns.
    """
    if by := _BY.match(text):
        text, column = text[by.end() :], column + by.end()
    first, _, rest = text.rstrip().partition("\n")
    if column == 0 or not first.strip():
        return dedented(text if first.strip() else rest)
    column += _indentation(first)
    lines = rest.split("\n")
    least = min((_indentation(line) for line in lines if line.strip()), default=column)
    moved = _moved_left(lines, column if least >= column else max(least - 2, 0))
    return f"{first.strip()}\n{moved}".rstrip()


def before_command(code: str) -> str:
    """Code that goes on with a proof, up to the next command."""
    lines = [line for line in code.split("\n") if line.strip()]
    indented = bool(lines) and lines[0][:1] == " "
    masked = blanked(code)
    starts = [match.start() for match in _COMMAND.finditer(masked)]
    if indented:
        starts += [match.start() for match in _COMMAND_OR_TACTIC.finditer(masked)]
    return code[: min(starts, default=len(code))]


def same_text(written: str, theorem: Theorem) -> bool:
    """Whether a statement is ours, but for white space, comments and the name."""
    return _squeezed(written) == _squeezed(f"{theorem.binders}:{theorem.conclusion}")


def _squeezed(text: str) -> str:
    return "".join(uncommented(text).split())


def _assignment(code: str, start: int, end: int) -> int | None:
    """Where the `:=` of a declaration's proof is: outside brackets, and not that of a `let` in the statement."""
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
    """Lines that go on with a term: at least two columns from the left, their shape kept."""
    least = min((_indentation(line) for line in lines if line.strip()), default=0)
    return [(" " * max(2 - least, 0) + line).rstrip() for line in lines]


def _moved_left(lines: Sequence[str], columns: int) -> str:
    """Lines without their first columns, as far as these are blank."""
    return "\n".join(line[min(columns, _indentation(line)) :].rstrip() for line in lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
