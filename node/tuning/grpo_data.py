"""Rows of a GRPO training: prompts as at inference, and the columns that a reward needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from common.lean import Theorem
from node.bank import bank
from node.bank.bank import load_proofs
from node.data import grammar
from node.data.errors import InputError
from node.data.grammar import STATEMENTS, Source
from node.data.reading import BENCHMARK, bank_folder, benchmarks, is_warm, lines
from node.data.rows import stated_as
from node.lean.text.statement import StatementError, parse_statement
from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Reader
from node.llm.prompts import PromptTooLong, proof_prompt, tactic_prompt
from node.llm.sampling import ContextExceeded, Prompt, SamplerError
from node.llm.templates import Template
from node.tuning.examples import TOO_LONG

FORMS = "`bank`, `bank@all`, the FOLDER or FOLDER@warm of another bank, or a .jsonl file"


@dataclass(frozen=True)
class Task:
    """A statement, or a proof state of it."""

    theorem: Theorem
    state: str = ""
    steps: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    """Other columns."""


@dataclass
class Tasks:
    """The rows of the training, with tokenized prompts."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """`prompt` (text, or messages) and the columns for the reward."""
    ids: list[tuple[int, ...]] = field(default_factory=list)
    """Tokens of the prompts."""
    left_out: Counter[str] = field(default_factory=Counter)
    room: int = 0
    """Most tokens of a completion."""


def kind_of(template: Template, kind: str) -> str:
    """`steps` or `proofs`. Raises InputError if the template is for the other kind."""
    own = "steps" if template.mode == "tactic" else "proofs"
    if kind not in ("auto", own):
        raise InputError(
            f"--kind {kind}: the template `{template.name}` is for {own}; name another: MODEL@TEMPLATE ("
            "`proofmesh models list` shows them)"
        )
    return own


def read(specs: tuple[str, ...], keep_out: tuple[str, ...], kind: str) -> tuple[list[Task], Counter[str]]:
    """The tasks of all sources without duplicates and without statements of the benchmarks. Raises InputError."""
    if not specs:
        raise InputError(f"--data: no sources; name {FORMS}")
    left_out: Counter[str] = Counter()
    all_tasks = [task for spec in specs for task in _source(spec, kind)]
    kept_out = benchmarks(keep_out)
    free = [each for each in all_tasks if kept_out.free(stated_as(each.theorem), each.theorem.name)]
    left_out[BENCHMARK] += len(all_tasks) - len(free)
    return free, +left_out


def tasks(name: str, loaded: Loaded, template: Template, found: list[Task], max_tokens: int) -> Tasks:
    """The rows of tasks. `max_tokens`: most tokens of a completion; 0: as in the template. Raises InputError."""
    reader = Reader(name, loaded, template)
    rows = Tasks(room=max_tokens or template.decoding.max_tokens)
    for task in found:
        try:
            prompt = prompt_of(template, task)
            ids = reader.ids(prompt)
            room = reader.room(len(ids), rows.room)
        except (PromptTooLong, ContextExceeded):
            rows.left_out[TOO_LONG] += 1
            continue
        except SamplerError as error:
            raise InputError(str(error)) from error
        rows.room = min(rows.room, room)
        rows.rows.append(_columns(task, prompt))
        rows.ids.append(ids)
    return rows


def prompt_of(template: Template, task: Task) -> Prompt:
    """The prompt of a task, as at inference. Raises PromptTooLong."""
    if template.mode == "tactic":
        return tactic_prompt(template, task.state, name=task.theorem.name, steps=task.steps)
    return proof_prompt(template, task.theorem)


def as_prompt(value: Any) -> Prompt:
    """The `Prompt` object of a row's `prompt` column."""
    from node.llm.sampling import ChatMessage

    if isinstance(value, str):
        return Prompt(value)
    return Prompt(messages=tuple(ChatMessage(each["role"], each["content"]) for each in value))


def _columns(task: Task, prompt: Prompt) -> dict[str, Any]:
    asked = [{"role": each.role, "content": each.content} for each in prompt.messages] or prompt.text
    own = {"prompt": asked, "theorem": task.theorem.signature, "header": task.theorem.header}
    steps = {"state": task.state, "steps": list(task.steps), "remaining": list(task.remaining)} if task.state else {}
    return {**task.more, **own, **steps}


def _source(spec: str, kind: str) -> list[Task]:
    """Raises InputError."""
    source = grammar.parse(spec, (STATEMENTS,), STATEMENTS)
    path = source.path
    if source.is_bank or path.is_dir():
        return _bank(source, kind)
    if path.suffix == ".jsonl" and path.is_file():
        return _rows(path, kind)
    problem = "not a .jsonl file" if path.exists() else "no such file"
    raise InputError(f"--data {spec}: {problem}; name {FORMS}")


def _bank(source: Source, kind: str) -> list[Task]:
    """Raises InputError."""
    folder, warm_start = bank_folder(source), is_warm(source)
    try:
        if kind == "steps":
            return _steps(folder, warm_start=warm_start)
        if warm_start:
            return [Task(each.theorem) for each in load_proofs(folder, warm_start=True)]
        return [Task(each.theorem) for each in bank.load_statements("train", folder)]
    except bank.BankError as error:
        raise InputError(str(error)) from error


def _steps(folder: Path, *, warm_start: bool) -> list[Task]:
    """States of the bank's proofs. The transitions are in pre-order: each tactic runs on the first remaining goal.
    Raises BankError."""
    whole = {each.theorem.name: each.theorem for each in load_proofs(folder, warm_start=warm_start)}
    state_tasks = []
    for name, group in groupby(bank.load_transitions(folder), key=lambda row: row.theorem):
        if name not in whole:
            continue
        rows = list(group)
        tactics = tuple(row.tactic for row in rows)
        state_tasks += [
            Task(whole[name], row.state, tactics[:place], tactics[place + 1 :]) for place, row in enumerate(rows)
        ]
    return state_tasks


def _rows(path: Path, kind: str) -> list[Task]:
    """Raises InputError."""
    row_tasks = []
    for place, stored in lines(path):
        where, row = f"--data {place}", dict(stored)
        statement = row.pop("theorem", None) or row.pop("statement", None)
        if not isinstance(statement, str):
            raise InputError(f'{where}: no text `theorem`; write a row as {{"theorem": "theorem t : 1 + 1 = 2"}}')
        try:
            theorem = parse_statement(statement, str(row.pop("header", "") or ""))
        except StatementError as error:
            raise InputError(f"{where}: {error}") from error
        state = str(row.pop("state", "") or "")
        if kind == "steps" and not state:
            raise InputError(f"{where}: no `state`: steps are tactics at a proof state")
        steps, remaining = (_tactics(row.pop(key, None), f"{where}, `{key}`") for key in ("steps", "remaining"))
        row.pop("prompt", None)  # the prompt comes from the template
        row_tasks.append(Task(theorem, state, steps, remaining, row))
    return row_tasks


def _tactics(value: Any, where: str) -> tuple[str, ...]:
    """Raises InputError."""
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise InputError(f"{where}: tactics must be a list of texts")
