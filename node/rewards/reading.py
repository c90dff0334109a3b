"""Turns rows of a data set and completions into Lean text. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from common.lean import Theorem
from node.lean.text.rules import proof_problem, tactic_problem
from node.lean.text.statement import StatementError, parse_statement
from node.llm import templates
from node.llm.outputs import NOTED, Parsed, parse_proof, parse_tactic
from node.llm.prompts import with_own_names
from node.llm.sampling import Sample
from node.llm.templates import Template, TemplateError

Kind = Literal["proofs", "steps"]

OPEN, LAST, TACTIC = "stp", "goedel-prover-v2", "bfs-prover-v1"
"""Default templates for parsing completions: text that continues a proof, prose with code blocks, tactics."""

_STATED = re.compile(r"\s*(?:theorem|lemma|example)\b")
_NAMED = re.compile(r"\s*(?:theorem|lemma)\b")
_BLOCK = re.compile(r"```lean|</think>")


class BadRow(ValueError):
    """A column of the data set is missing or wrong. The text says which one, where, and what to do."""


@dataclass(frozen=True)
class Row:
    """The theorem, or the state within its proof, that a completion belongs to."""

    theorem: Theorem
    """The theorem; its header includes all Lean text before it."""
    state: str = ""
    steps: tuple[str, ...] = ()
    """The tactics before the state."""
    remaining: tuple[str, ...] = ()
    """Tactics that may follow the completion, as a budget."""
    own_name: str = ""
    """The name that the data set gives the theorem; empty if it gives none."""

    def theorems(self, script: str) -> list[Theorem]:
        """The theorem under the names with which a script may prove it. If one succeeds, the script is a proof.

        A script that mentions the theorem's own name may be a proof by recursion. Or the name is that of a theorem of
        the library, which it means.
        """
        last = re.escape(self.own_name.rpartition(".")[2])
        if not last or not re.search(rf"(?<![\w'!?]){last}(?![\w'!?])", script):
            return [self.theorem]
        return [msgspec.structs.replace(self.theorem, name=self.own_name), self.theorem]


def rows_of(kind: Kind, columns: Mapping[str, Any], count: int) -> list[Row]:
    """The rows of `count` completions. Raises BadRow."""
    if "theorem" not in columns:
        raise BadRow("the data set has no column `theorem`; add one with statements such as `theorem t : 2 + 2 = 4`")
    for name in ("theorem", "header", "context", "state", "steps", "remaining"):
        column = columns.get(name)
        if column is not None and (isinstance(column, str) or len(column) != count):
            raise BadRow(f"column `{name}`: needs one value for each of the {count} completions")
    return [_row(kind, columns, number) for number in range(count)]


def _row(kind: Kind, columns: Mapping[str, Any], number: int) -> Row:
    def cell(name: str) -> Any:
        column = columns.get(name)
        return None if column is None else column[number]

    statement = cell("theorem")
    if not isinstance(statement, str) or not statement.strip():
        raise BadRow(f"column `theorem`, row {number}: must be the text of a statement, not {str(statement)[:60]!r}")
    above = [text.rstrip() for text in (cell("header"), cell("context")) if isinstance(text, str) and text.strip()]
    header = "\n".join(above)
    try:
        theorem = (
            parse_statement(statement, header)
            if _STATED.match(statement)
            else Theorem("t", "", statement.strip(), header)
        )
    except StatementError as error:
        raise BadRow(f"column `theorem`, row {number}: {error}") from error
    own_name = theorem.name if _NAMED.match(statement) else ""
    # A unique name, so that `Nat.add_comm` in a proof means the library's theorem.
    theorem = theorem.renamed()
    if kind == "proofs":
        return Row(theorem, own_name=own_name)
    steps, remaining = _tactics(cell("steps"), number), _tactics(cell("remaining"), number)
    return Row(theorem, str(cell("state") or ""), steps, remaining, own_name)


def _tactics(value: Any, number: int) -> tuple[str, ...]:
    """Raises BadRow."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (textwrap.dedent(value).strip("\n"),)
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise BadRow(f"row {number}: tactics must be a list of texts or one text, not {str(value)[:60]!r}")


def text_of(completion: Any) -> tuple[str, bool]:
    """The text of a completion, and whether the completion is a message of a conversation. Raises BadRow."""
    if isinstance(completion, str):
        return completion, False
    if isinstance(completion, Mapping):
        completion = [completion]
    if isinstance(completion, Sequence):
        contents = [each.get("content") for each in completion if isinstance(each, Mapping)]
        if len(contents) == len(completion):
            texts = [_content(each) for each in contents]
            return (texts[-1] if texts else ""), True
    raise BadRow(f"a completion must be a text or a list of messages, not {str(completion)[:60]!r}")


def _content(content: Any) -> str:
    """The text of a message, which may have several parts."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def template_for(kind: Kind, name: str, text: str, *, chat: bool) -> Template:
    """The template that parses a completion. Raises BadRow if it does not exist, or is for the other kind."""
    chosen = name or (TACTIC if kind == "steps" else LAST if chat or _BLOCK.search(text) else OPEN)
    try:
        template = templates.find(chosen)
    except TemplateError as error:
        raise BadRow(f"template: {error}") from error
    mode = "tactic" if kind == "steps" else "whole-proof"
    if template.mode != mode:
        raise BadRow(f"template `{template.name}`: is for {template.mode}; kind={kind!r} needs one for {mode}")
    return template


def script_of(template: Template, row: Row, text: str) -> tuple[str, str]:
    """(tactic block, why there is none); one of the two is empty."""
    if template.mode == "tactic":
        parsed = parse_tactic(template, Sample(text))
        tactic = with_own_names(template, row.state, parsed.text) if parsed.text and row.state else parsed.text
        return tactic, _why(parsed)
    parsed = parse_proof(template, Sample(text), row.theorem)
    return parsed.text, _why(parsed)


def _why(parsed: Parsed) -> str:
    return parsed.problem.explanation if parsed.problem is not None and parsed.problem not in NOTED else ""


def refusal(kind: Kind, script: str) -> str:
    """Why the text rules forbid a script; empty if they allow it."""
    return tactic_problem(script) if kind == "steps" else proof_problem(script)


def snippet_of(theorem: Theorem, script: str) -> tuple[str, int]:
    """The Lean text of a theorem with a tactic block, and the line number (from 1) of its `by`."""
    head = f"{theorem.header}\n\n" if theorem.header.strip() else ""
    head += f"{theorem.signature} := by"
    return f"{head}\n{textwrap.indent(script, '  ')}\n", head.count("\n") + 1
