"""Verdicts on a file's declarations: on commands that Lean rejected, and on compiled constants. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from node.lean.check.files.commands import DATA, EXAMPLE_LETTERS, PROOFS, UNCLOSED, UNREAD, Command, LookedAt
from node.lean.check.files.judging import LocalModule, first_line, is_named, name_in, shown_name
from node.lean.check.files.report import DeclarationVerdict
from node.lean.check.verify.judge import UNFINISHED, axioms_problem
from node.lean.olean.module import Constant, Kind

if TYPE_CHECKING:
    from node.lean.check.files.compiling import Compiled


def failed(compiled: Compiled, shift: int) -> list[DeclarationVerdict]:
    """The verdicts on commands that Lean rejected. `shift`: number of lines that our header added above the file."""
    text = compiled.text
    spaces = text.namespaces(compiled.commands)
    verdicts = []
    for command, reason in compiled.failed.items():
        if not text.code[command.start : command.end].strip():
            continue
        name = name_in(text, command)
        named = [(command.keyword, name or first_line(text, command), _line(compiled, command))]
        if command.keyword == "mutual":
            named = text.declared(command) or named
        inside = spaces.get(command.start, "") if name or command.keyword == "mutual" else ""
        if reason == UNCLOSED:
            reason = f"line {command.line - shift}: {reason}"
        for keyword, each, line in named:
            shown = each if keyword in ("example", "mutual") else f"{inside}{each}".rpartition("_root_.")[2]
            verdicts.append(DeclarationVerdict(shown, keyword, line - shift, reason, seconds=command.seconds))
    return [*verdicts, *_behind_exit(compiled, shift)]


def _behind_exit(compiled: Compiled, shift: int) -> list[DeclarationVerdict]:
    """The verdicts on theorems behind `#exit`, which Lean does not read. None may be skipped silently."""
    exits = [each for each in compiled.commands if each.keyword == "#exit" and each not in compiled.failed]
    if not exits:
        return []
    text, exit_command = LookedAt(compiled.text.original), exits[0]
    reason = f"not judged: it is behind the `#exit` in line {_line(compiled, exit_command) - shift}"
    names = {command.start: name for name, command in text.theorems()}
    found = [
        DeclarationVerdict(
            names.get(command.start, command.keyword), command.keyword, text.first_line(command) - shift, reason
        )
        for command in text.commands
        if command.start > exit_command.start and command.keyword in PROOFS | {"mutual"}
    ]
    # Theorems that do not begin a line. A mere word, as in a note, has no statement behind it.
    lines = {each.line for each in found}
    for match in _BEHIND.finditer(compiled.text.code, exit_command.start):
        line = compiled.text.line(match.start()) - shift
        keyword = match.group(1) or "example"
        if line not in lines:
            found.append(DeclarationVerdict(match.group(2) or keyword, keyword, line, reason))
    return found


_BEHIND = re.compile(
    rf"(?<![\w.'«])(?:(theorem|lemma)\s+([^\s:({{\[⦃]+)|example|def\s+[{EXAMPLE_LETTERS}]\S\S(?=[\s:({{\[⦃]))"
    r"(?:(?!theorem\s|lemma\s|example\s|def\s)[^:])*:(?!=)(?:(?!theorem\s|lemma\s|example\s|def\s).)*?(?::=|\n\s*\|)",
    re.DOTALL,
)
"""A theorem behind `#exit`: its keyword, its name, and a statement up to its proof."""


def judged(module: LocalModule, everything: bool, touched: bool) -> list[DeclarationVerdict]:
    """The verdicts on compiled declarations.

    `everything`: also on those that are not theorems; `touched`: name what of the text could touch a statement.
    """
    shift = module.shift
    spaces = module.text.namespaces(module.commands)
    verdicts = []
    proved: set[Command] = set()
    listed: set[str] = set()
    for constant, command in module.written():
        # The compiled file may have a definition in the place of a theorem.
        if command.keyword in _THEOREMS and constant.kind is not Kind.THEOREM and not everything:
            continue
        proved.add(command)
        if command.keyword == "#guard_msgs" and _FAILS.search(module.text.original, command.start, command.end):
            continue  # an `example` that has to fail
        # An `example` behind `#guard_msgs in` is a definition of a command with another keyword.
        proof = command.keyword in PROOFS or constant.kind is Kind.THEOREM or is_example(module, constant)
        if proof or everything:
            listed.add(constant.name)
            line = module.line_of(constant.name) - shift
            verdict = _verdict(module, constant, command.keyword, line, command.seconds)
            if command.keyword in _THEOREMS and not is_named(
                module.text, command, spaces.get(command.start, ""), constant.name
            ):
                verdict = replace(verdict, reason=verdict.reason or "the text has no theorem of this name")
            verdicts.append(verdict)
    # Also judge theorems that belong to no reported command or have no position: none may be skipped silently. If Lean
    # generated such a theorem for a definition, the verdict names that definition, once.
    for constant in module.constants.values():
        if constant.kind is Kind.THEOREM and constant.name not in listed:
            line = max(module.line_of(constant.name) - shift, 0)
            verdict = _verdict(module, constant, "theorem", line)
            owner = module.command_of(constant.name)
            if constant.name in module.places and (owner is None or owner.keyword not in _GENERATES):
                # Lean has not reported its command.
                listed.add(constant.name)
                verdicts.append(verdict)
                continue
            whole = module.constants.get(module.written_for(constant.name))
            made_by = module.command_of(whole.name) if whole else None
            if verdict.reason and whole is not None and made_by is not None:
                why = _reason(module, whole, sorted(module.axioms.get(whole.name, ())))
                if why and whole.name in listed:
                    continue
                if why:
                    listed.add(whole.name)
                    verdict = replace(verdict, name=shown_name(whole.name), kind=made_by.keyword, reason=why)
            if verdict.reason:
                verdicts.append(verdict)
    for constant in module.constants.values():  # examples behind an option that hides commands
        if is_example(module, constant) and constant.name not in listed:
            known = module.command_of(constant.name)
            if known is None or known not in proved:
                line = max(module.line_of(constant.name) - shift, 0)
                verdicts.append(_verdict(module, constant, "example", line))
    missing = [each for each in module.commands if each.keyword in PROOFS and each not in proved]
    if touched:
        verdicts = [replace(each, depends=(*each.depends, *module.touched_by(each.constant))) for each in verdicts]
    return verdicts + [
        DeclarationVerdict(
            name_in(module.text, command) or command.keyword,
            command.keyword,
            command.line - shift,
            "the compiled file has no such theorem",
        )
        for command in missing
    ]


def unfinished(compiled: Compiled, declared: Sequence[DeclarationVerdict], shift: int) -> list[DeclarationVerdict]:
    """Verdicts on commands that declare nothing we could judge, but in which Lean has met `sorry`.

    Such a command is syntax of the file's own, for example a macro that makes an `example`.
    """
    found: dict[Command, DeclarationVerdict] = {}
    lines = {each.line for each in declared}
    for message in compiled.messages:
        command = compiled.command_at(message) if _SORRY.search(message.text) else None
        if command is None or command.keyword in _DECLARES or command in compiled.failed:
            continue
        if lines.isdisjoint(range(command.line - shift, command.last_line - shift + 1)):
            name = first_line(compiled.text, command)
            found[command] = DeclarationVerdict(name, command.keyword, command.line - shift, UNFINISHED)
    return [*found.values()]


_SORRY = re.compile(r"declaration uses [`']sorry[`']")
_FAILS = re.compile(r"/--\s*error\b[^/]*-/\s*(?:set_option[^\n]* in\s+)?#guard_msgs(?:\s*\([^)]*\))?\s+in\s")
"""An error that a `#guard_msgs` expects."""

_THEOREMS = ("theorem", "lemma")
_GENERATES = DATA | {"mutual", "deriving"}
"""Commands that make theorems of their own, for example for the fields of a structure, with positions in the text."""
_DECLARES = PROOFS | DATA | {"mutual"}


def _verdict(module: LocalModule, constant: Constant, kind: str, line: int, seconds: float = 0.0) -> DeclarationVerdict:
    """The verdict on a compiled constant."""
    name = shown_name(constant.name)
    axioms = tuple(sorted(module.axioms.get(constant.name, ())))
    written = module.text.as_written
    return DeclarationVerdict(
        "example" if is_example(module, constant) else written(name),
        kind,
        line,
        written(_reason(module, constant, axioms)),
        tuple(map(written, axioms)),
        tuple(replace(item, name=written(item.name)) for item in module.depends(constant)),
        seconds,
        constant.name,
    )


def is_example(module: LocalModule, constant: Constant) -> bool:
    """True for a constant that an `example` was compiled to."""
    return constant.name.rpartition(".")[2] in module.text.examples


def _reason(module: LocalModule, constant: Constant, axioms: Sequence[str]) -> str:
    """Why a compiled declaration is not accepted; empty if it is."""
    if rejection := module.rejection(constant.name):
        return rejection
    if constant.name not in module.axioms:
        return "it is unsafe or partial: the kernel does not check it"
    return axioms_problem([*axioms])


def _line(compiled: Compiled, command: Command) -> int:
    """The line of a command's keyword."""
    if command.keyword == UNREAD:
        return command.line
    at = compiled.text.code.find(command.keyword, command.start, command.end)
    return compiled.text.line(at) if at >= 0 else command.line
