"""Finds the target of `prove`: a statement, a statement in the context of a file, or a place in a file.

    STATEMENT                  `theorem t (p q : Prop) : p ∧ q → q ∧ p`
    FILE:LINE                  the `sorry` on that line, or the theorem at that line
    FILE NAME                  that theorem of the file; its present proof is ignored
    --context FILE STATEMENT   the statement with all of the file in scope

Commands are found by their first words, without Lean. If the text allows two readings, Lean decides
(`Target.readings`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.lean import Context, Place, Theorem
from common.output.command import UserError
from node.lean.check.files.commands import PROOFS, Command, LookedAt
from node.lean.check.files.sources import collect
from node.lean.text.rules import statement_problem
from node.lean.text.script import below
from node.lean.text.statement import StatementError, parse_statement

CLOSE_NAMES = 3
"""Most names that are suggested for an unknown name."""

_FILE_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")
_STATEMENT = re.compile(r"\s*(theorem|lemma|example)\b")
_TACTIC_BEFORE = re.compile(r"(?:\bby|=>|·|\.|;|<;>|\(|^)\s*$", re.MULTILINE)
_TERM_BEFORE = re.compile(r"(?::=|⟨|,|\bfrom|\bexact|\$|<\|)\s*$")
_CLOSING_ENDS = re.compile(r"(?:\s*\bend\b[^\n]*)+\s*$")


class BadTarget(UserError, ValueError):
    """There is no such target. The message has the reason, and near targets."""


@dataclass(frozen=True)
class Target:
    """A statement to prove."""

    name: str
    readings: tuple[Theorem, ...]
    """Possible readings, the most likely first. The first that Lean can elaborate counts."""
    negations: tuple[Theorem, ...] = ()
    """Possible readings of the negation; empty if the text does not show the whole statement."""
    gap: bool = False
    """True for a `sorry`: the answer has the text that replaces it."""
    where: str = ""
    """File and line."""
    file: Path | None = None
    """The file of its context."""


def read_target(words: Sequence[str], context: Path | None = None) -> Target:
    """The target that these words of a command line name. Raises BadTarget."""
    if context is not None:
        if len(words) != 1:
            raise BadTarget("--context takes one statement: prove --context FILE 'theorem t : ...'")
        return replace(statement_target(words[0], read_file(context)), file=context)
    match words:
        case [text] if _STATEMENT.match(text):
            return statement_target(text)
        case [text] if (found := _FILE_LINE.fullmatch(text)) and _looks_like_a_file(found["file"]):
            column = int(found["column"]) if found["column"] else None
            return line_target(Path(found["file"]), int(found["line"]), column)
        case [text] if _looks_like_a_file(text):
            raise BadTarget(f"what is to be proved in {text}? Name a line ({text}:12) or a theorem ({text} NAME)")
        case [text]:
            return statement_target(text)
        case [file, line] if line.isdecimal():
            return line_target(Path(file), int(line))
        case [file, name]:
            return name_target(Path(file), name)
    raise BadTarget("give it one statement, FILE:LINE, or FILE NAME")


def _looks_like_a_file(text: str) -> bool:
    return text.endswith(".lean") or ("\n" not in text and len(text) < 1000 and Path(text).exists())


def statement_target(text: str, above: str | None = None, name: str = "") -> Target:
    """The target for a statement, alone or below the text of a file. Raises BadTarget."""
    try:
        theorem = parse_statement(text)
    except StatementError as error:
        raise BadTarget(str(error)) from error
    if above is None:
        return Target(name or theorem.name, (theorem,), (theorem.negation(),))
    if problem := statement_problem(theorem.binders, theorem.conclusion):
        raise BadTarget(problem)
    texts = [above if above.endswith("\n") or not above else f"{above}\n"]
    if ends := _CLOSING_ENDS.search(above):  # second reading: inside the file's last namespace and section
        texts.append(f"{above[: ends.start()]}\n")
    contexts = [Context.of(each) for each in texts]
    return Target(
        name or theorem.name,
        tuple(below(context, theorem) for context in contexts),
        tuple(below(context, theorem.negation()) for context in contexts),
    )


def line_target(path: Path, line: int, column: int | None = None) -> Target:
    """The `sorry` on a line (from 1; of several the first, or the one nearest to `column`), or the theorem there.

    Raises BadTarget.
    """
    text = LookedAt(read_file(path))
    where = f"{path}:{line}"
    lines = text.code.split("\n")
    if not 1 <= line <= len(lines):
        raise BadTarget(f"{where}: the file has {len(text.code.splitlines())} lines")
    begin = sum(len(each) + 1 for each in lines[: line - 1])
    gaps = [start for start in text.gaps if begin <= start < begin + len(lines[line - 1])]
    command = text.command_at(line)
    if gaps and command is not None:
        at = gaps[0] if column is None else min(gaps, key=lambda start: abs(start - begin - column + 1))
        return replace(_gap(text, command, at, where), file=path)
    if command is None or command.keyword not in PROOFS:
        near = sorted(text.lines_to_prove(), key=lambda each: abs(each - line))[:CLOSE_NAMES]
        hint = f" (there are some on {_listed(map(str, sorted(near)), 'line', 'lines')})" if near else ""
        raise BadTarget(f"{where}: no `sorry` and no theorem on this line{hint}")
    return replace(_whole(text, command, where), file=path)


def name_target(path: Path, name: str) -> Target:
    """A theorem of a file by its name, with or without its namespace. Raises BadTarget."""
    text = LookedAt(read_file(path))
    target = name.removeprefix("_root_.")
    theorems = text.theorems()
    exact = [each for each in theorems if each[0] == target]
    matching = exact or [each for each in theorems if each[0].endswith(f".{target}")]
    if not matching:
        full_names: dict[str, list[str]] = {}
        for full, _ in theorems:
            for short in {full, full.rsplit(".", 1)[-1]}:
                full_names.setdefault(short, []).append(full)
        near = difflib.get_close_matches(target, full_names, CLOSE_NAMES, 0.5)
        close = dict.fromkeys(full for short in near for full in full_names[short])
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; it has {len(theorems)} theorems"
        raise BadTarget(f"{path}: no theorem {name}{hint}")
    if len(matching) > 1:
        places = ", ".join(f"{full} (line {text.first_line(command)})" for full, command in matching)
        raise BadTarget(f"{path}: {name} may be {places}: name its namespace, or its line as {path}:LINE")
    full, command = matching[0]
    return replace(_whole(text, command, f"{path}:{text.first_line(command)}", full), file=path)


def read_file(path: Path) -> str:
    """The text of a Lean file. Raises BadTarget."""
    if path.is_dir():
        raise BadTarget(f"{path}: a folder; name a Lean file")
    source = collect([path])[0][0]
    if source.problem:
        raise BadTarget(f"{path}: {source.problem}")
    return source.text


def _gap(text: LookedAt, command: Command, at: int, where: str) -> Target:
    """The target for a `sorry` of a command, read as a tactic and as a term."""
    begin, stop = text.begin(command), text.stop(command)
    context = Context.of(text.original[:begin])
    before, after = text.original[begin:at], text.original[at + len("sorry") : stop] + "\n"
    line = text.code[text.code.rfind("\n", 0, at) + 1 : at]
    term = bool(_TERM_BEFORE.search(line)) or not _TACTIC_BEFORE.search(line)
    theorem = text.read(command)
    name = theorem.name if theorem else "t"
    shown = theorem.conclusion if theorem else text.original[command.start : stop].strip()
    readings = tuple(
        Theorem(name, "", shown, place=Place(context, before, after, tactic)) for tactic in (not term, term)
    )
    behind = text.code[text.proof_start(command) : stop]
    whole = re.fullmatch(r":=\s*(?:by\s+)?sorry\s*", behind) is not None
    return Target(name, readings, _negations(context, theorem) if whole else (), gap=True, where=where)


def _whole(text: LookedAt, command: Command, where: str, name: str = "") -> Target:
    """The target for a theorem of a file, without its present proof."""
    begin = text.begin(command)
    context = Context.of(text.original[:begin])
    theorem = text.read(command)
    head = text.original[begin : text.proof_start(command)].rstrip()
    indentation = re.match(r"[ \t]*", text.original[text.original.rfind("\n", 0, command.start) + 1 :])
    before = f"{head} := by\n  {indentation.group() if indentation else ''}"
    shown = theorem or Theorem(name or "t", "", head)
    place = Place(context, before, "\n")
    reading = Theorem(shown.name, shown.binders, shown.conclusion, place=place)
    return Target(name or shown.name, (reading,), _negations(context, theorem), where=where)


def _negations(context: Context, theorem: Theorem | None) -> tuple[Theorem, ...]:
    return (below(context, theorem.negation()),) if theorem else ()


def _listed(items: Sequence[str] | map[str], one: str, several: str) -> str:
    texts = list(items)
    return f"{one if len(texts) == 1 else several} {', '.join(texts)}"
