"""Parses the completions of prover models: extracts the tactic, or the tactic block of a proof. Pure; never raises.

A proof is always tried on our statement. The statement in the completion is only compared with it. In reading order:
what is wrong with samples, tactics and proofs of samples, code in prose, text about Lean's errors for a correction.
A parsing mistake is harmless: Lean checks every proof, so this module decides only which proofs are tried.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.lexing import blanked, outside_brackets, uncommented
from node.llm.sampling import Sample
from node.llm.templates import Template


class Problem(enum.StrEnum):
    """What is wrong with a sample; `explanation` is the text for the user."""

    STATEMENT_CHANGED = "statement changed"
    SEVERAL_TACTICS = "several tactics"
    EMPTY = "empty"
    CUT = "cut"
    UNFINISHED = "unfinished"
    SORRY = "sorry"
    NO_CODE_BLOCK = "no code block"
    NO_PROOF = "no proof"
    HELPER_LEMMAS = "helper lemmas"
    NO_TEXT = "no text"

    @property
    def explanation(self) -> str:
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Problem.STATEMENT_CHANGED: "it proves a different statement; its proof is tried on ours",
    Problem.SEVERAL_TACTICS: "it continues after its first tactic; only that one is used",
    Problem.EMPTY: "only white space, comments, or parts of the output form",
    Problem.CUT: "it reached the token limit, so its end is missing",
    Problem.UNFINISHED: "it ends in `by`, `:=`, `=>` or `<;>`, or inside a comment",
    Problem.SORRY: "part of it has no proof (sorry, admit)",
    Problem.NO_CODE_BLOCK: "prose without a Lean code block",
    Problem.NO_PROOF: "code that states a theorem without a proof after `:=`",
    Problem.NO_TEXT: "it has tokens that do not form valid characters",
    Problem.HELPER_LEMMAS: "the proof uses declarations before the theorem, which a tactic block cannot contain",
}

NOTED = frozenset({Problem.STATEMENT_CHANGED, Problem.SEVERAL_TACTICS})
"""Problems that are recorded but do not reject the sample."""


@dataclass(frozen=True)
class Parsed:
    """What was parsed from a sample."""

    text: str = ""
    """The tactic, or the tactic block after `:= by`: its first line in column 0, relative indentation preserved. Empty
    if the sample was rejected."""
    problem: Problem | None = None
    """Why the sample was rejected, or a problem in NOTED."""
    scored_prefix: str = ""
    """The sample's text up to the end of the tactic; its log-probability is the tactic's. Empty for proofs, and if the
    tactic is not found again in the sample."""


_SORRY = re.compile(r"(?<![\w.'«])(?:sorry|admit|sorryAx)(?![\w'!?»])")
_DANGLING = re.compile(r"(?:(?<![\w.'«])by|:=|=>|<;>)\s*$")
_CONTINUES = re.compile(r"\s|\||[)\]}⟩]|<;>|(?:at|with|using|from|then|else|generalizing)\b|,|:=|_ ")
"""Beginnings of a line in column 0 that continues the tactic before it."""


OPEN_COMMENTS = 50
"""Unclosed comments from which a sample is rejected: the search for each end reads the whole text. Degenerate samples
have thousands."""


def parse_tactic(template: Template, sample: Sample) -> Parsed:
    """Extract the tactic from a step prover's sample."""
    form = template.output
    body, _ = without_thoughts(plain(sample.text))
    if body is None:
        return Parsed(problem=Problem.CUT)
    if _is_lost(body):
        return Parsed(problem=Problem.UNFINISHED)
    cut = sample.cut and not any(stop in body for stop in form.stops)
    if form.echo and form.echo in body:
        body = body.partition(form.echo)[2]
    body = before(body, form.stops)
    if form.prefix and body.lstrip().startswith(form.prefix.strip()):
        body = body.lstrip().removeprefix(form.prefix.strip()).lstrip(" ")
    body = _unmarked(body, template)
    if code_blocks := blocks_in(body):
        block = next((each for each in reversed(code_blocks) if each.closed), code_blocks[-1])
        body, cut = block.text, cut and not block.closed
    return _one_tactic(body, sample.text, cut)


def parse_proof(template: Template, sample: Sample, theorem: Theorem) -> Parsed:
    """Extract the tactic block of the proof from a whole-proof model's sample."""
    text = _unmarked(plain(sample.text), template)
    if not text.strip():
        return Parsed(problem=Problem.CUT if sample.cut else Problem.EMPTY)
    answer, thought = without_thoughts(text)
    if answer is None:
        return Parsed(problem=Problem.CUT)
    if _is_lost(answer):
        return Parsed(problem=Problem.UNFINISHED)
    is_open = template.output.code == "open"
    if is_open and not thought and not answer.lstrip().startswith("```"):
        # The prompt opened the code block, so the sample continues it.
        continuation, fence, _ = before(answer, template.output.stops).partition("```")
        was_cut = sample.cut and not fence and not any(stop in answer for stop in template.output.stops)
        return Parsed(problem=Problem.CUT) if was_cut else _proof(continuation, theorem, continues=True)
    code_blocks = blocks_in(answer)
    # Servers omit the stop text, and the closing fence of an open block is one.
    complete = [block.text for block in code_blocks if block.closed or (is_open and not sample.cut)]
    stated = [(declared_theorem(blanked(block), theorem.name), block) for block in complete]
    ours = [block for place, block in stated if place is not None and place.is_ours]
    with_theorem = [block for place, block in stated if place is not None]
    if candidates := ours or with_theorem:
        return _proof(candidates[-1], theorem)
    if sample.cut or (code_blocks and not complete):
        return Parsed(problem=Problem.CUT)
    return _proof(complete[-1], theorem) if complete else Parsed(problem=Problem.NO_CODE_BLOCK)


def score(template: Template, sample: Sample, parsed: Parsed) -> float | None:
    """The log-probability of a tactic, summed or averaged as its family defines; None if it is unknown."""
    total = sample.logprob(parsed.scored_prefix) if parsed.scored_prefix else None
    if total is None or template.score == "sum":
        return total
    tokens, length = 0, 0
    for token in sample.tokens:
        if length >= len(parsed.scored_prefix):
            break
        tokens, length = tokens + 1, length + len(token.text)
    return total / max(tokens, 1)


def _one_tactic(body: str, sampled: str, cut: bool) -> Parsed:
    lines = tactic_block(dedented(without_comments(body))).split("\n")
    end = next((at for at, line in enumerate(lines) if at and line.strip() and not _CONTINUES.match(line)), len(lines))
    several = end < len(lines)
    text = "\n".join(line for line in lines[:end] if line.strip())
    if cut and not several:
        return Parsed(problem=Problem.CUT)
    if not text:
        return Parsed(problem=Problem.EMPTY)
    if problem := _unusable(text):
        return Parsed(problem=problem)
    return Parsed(text, Problem.SEVERAL_TACTICS if several else None, _prefix_through(sampled, text))


def _proof(code: str, theorem: Theorem, *, continues: bool = False) -> Parsed:
    """The proof in code. `continues`: the code continues after our `:= by`, unless it states our theorem again."""
    code = without_comments(code)
    if not code.strip():
        return Parsed(problem=Problem.EMPTY)
    declared = declared_theorem(blanked(code), theorem.name)
    if declared is not None and (declared.is_ours or not continues):
        return _stated_proof(code, declared, theorem)
    if not continues and declares(blanked(code)):
        return Parsed(problem=Problem.NO_PROOF)
    return _finished(tactic_block(before_command(code)))


def _stated_proof(code: str, declared: DeclaredTheorem, theorem: Theorem) -> Parsed:
    """The proof of a theorem that the code states."""
    proof = proof_body(code, declared)
    if any(re.search(rf"(?<![\w.'«]){re.escape(name)}(?![\w'»])", proof) for name in declared.helpers):
        return Parsed(problem=Problem.HELPER_LEMMAS)
    is_ours = same_text(code[declared.statement : declared.assignment], theorem)
    return _finished(proof, None if is_ours else Problem.STATEMENT_CHANGED)


def _finished(proof: str, note: Problem | None = None) -> Parsed:
    if not proof.strip():
        return Parsed(problem=Problem.EMPTY)
    problem = _unusable(proof)
    return Parsed(problem=problem) if problem else Parsed(proof, note)


def _is_lost(text: str) -> bool:
    return text.count("/-") > text.count("-/") + OPEN_COMMENTS


def _unusable(text: str) -> Problem | None:
    if "\N{REPLACEMENT CHARACTER}" in text:
        return Problem.NO_TEXT
    if _SORRY.search(blanked(text)):
        return Problem.SORRY
    return Problem.UNFINISHED if _DANGLING.search(text) else None


def _unmarked(text: str, template: Template) -> str:
    for mark in template.output.remove:
        text = text.replace(mark, "")
    return text


def _prefix_through(sampled: str, text: str) -> str:
    """The sample's text up to the end of the tactic, whose lines must occur in their order; empty otherwise."""
    at = 0
    for line in text.split("\n"):
        start = sampled.find(line.strip(), at)
        if start < 0:
            return ""
        at = start + len(line.strip())
    return sampled[:at]


# ----------------------------------------------------------------------------------------------------------------------
# Finds code in prose, theorems in code, and proofs in theorems, by regular expressions.

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


def blocks_in(text: str) -> list[Block]:
    """The Lean code blocks in prose, in order. The closing fence may follow the code without a line break.

    A fence with a Lean tag always begins a block, so that an unclosed block before it does not swallow it.
    """
    blocks: list[Block] = []
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
            blocks.append(Block(code, closing >= 0 and not begins_another))
        if closing < 0:
            break
        at = closing if begins_another else closing + 3
    return blocks


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


# ----------------------------------------------------------------------------------------------------------------------
# Formats Lean's errors as text for a correction turn, like Goedel-Prover-V2 (`get_error_str`, src/utils.py).
#
# Each error shows the code around it. `<error>` and `</error>` mark where it begins and ends.

LINES_BEFORE = 4
"""Lines of code shown before the line in which an error begins."""

SHOWN_ERRORS = 8

SHOWN_LINES = 6
"""Lines shown of a long error, after its first line; a mark stands for the omitted lines."""


@dataclass(frozen=True)
class CodeError:
    """An error in Lean code. Lines count from 1, columns from 0, in characters, as in Lean's messages."""

    line: int
    column: int
    message: str
    end_line: int | None = None
    """None: the error extends to the end of the line."""
    end_column: int = 0


def marked_errors(code: str, errors: Sequence[CodeError]) -> str:
    """The text about errors in its code that the model reads. Positions outside the code move to the nearest one."""
    lines = code.split("\n")
    shown = [
        f"\nError {number}:\n\nCorresponding Code:\n```lean4\n{_marked(lines, error)}\n```\n"
        f"\nError Message: {error.message}\n"
        for number, error in enumerate(errors[:SHOWN_ERRORS], 1)
    ]
    left_out = len(errors) - SHOWN_ERRORS
    omission = f"\n... [Omitted {left_out} more errors] ...\n" if left_out > 0 else ""
    return "".join(shown) + omission


def _marked(lines: Sequence[str], error: CodeError) -> str:
    """The lines around an error, each with its line break."""
    first, first_column = _within(lines, error.line - 1, error.column)
    if error.end_line is None:
        last, last_column = first, len(lines[first])
    else:
        last, last_column = max((first, first_column), _within(lines, error.end_line - 1, error.end_column))
    begin, end = lines[first], lines[last]
    if first == last:
        marked = [f"{begin[:first_column]}<error>{begin[first_column:last_column]}</error>{begin[last_column:]}"]
    else:
        within = list(lines[first + 1 : min(last, first + SHOWN_LINES)])
        if last > first + SHOWN_LINES:
            indentation = len(within[-1]) - len(within[-1].lstrip(" "))
            within.append(f"\n{' ' * indentation}... --[Truncated]-- ...")
        marked = [
            f"{begin[:first_column]}<error>{begin[first_column:]}",
            *within,
            f"{end[:last_column]}</error>{end[last_column:]}",
        ]
    around = [*lines[max(0, first - LINES_BEFORE) : first], *marked, *lines[last + 1 : last + 2]]
    return "".join(f"{line}\n" for line in around)


def _within(lines: Sequence[str], line: int, column: int) -> tuple[int, int]:
    line = min(max(line, 0), len(lines) - 1)
    return line, min(max(column, 0), len(lines[line]))
