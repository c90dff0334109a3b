"""Rows of a GRPO training (prompts as at inference, and the columns that a reward needs), and their reward: Lean's, or
a function of the user, whose results are checked.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
from node.llm.sampling import ChatMessage, ContextExceeded, Prompt, SamplerError
from node.llm.templates import Template
from node.rewards.lean_reward import BadRow, LeanReward, Unavailable
from node.tuning.examples import TOO_LONG
from node.tuning.settings import LEAN, GrpoSettings

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


# --- rewards ----------------------------------------------------------------------------------------------------------

PASSED = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")
"""Arguments that TRL passes in addition to the columns."""

Reward = Callable[..., Any]


def lean_reward(settings: GrpoSettings, kind: str, template: str) -> LeanReward:
    """Raises InputError."""
    try:
        return LeanReward(
            kind="steps" if kind == "steps" else "proofs",
            where=settings.url or "here",
            run=settings.run,
            lean=settings.lean,
            template=template,
            seconds=settings.seconds,
            at_once=settings.at_once,
        )
    except ValueError as error:
        raise InputError(f"--url: {error}") from error


def reached(reward: LeanReward) -> LeanReward:
    """The reward, after a test that its Lean answers. Raises InputError."""
    try:
        reward.check()
    except Unavailable as error:
        where = f"--url {reward.where}" if reward.where != "here" else "Lean on this machine"
        raise InputError(f"{where}: does not answer: {error}") from error
    return reward


def chosen(settings: GrpoSettings, kind: str, template: str, columns: Iterable[str]) -> Reward:
    """The reward that the settings name. Raises InputError."""
    if settings.reward == LEAN:
        return checked(reached(lean_reward(settings, kind, template)), "lean")
    return checked(users(settings.reward, columns), settings.reward)


def users(name: str, columns: Iterable[str]) -> Reward:
    """The user's function MODULE:FUNCTION. The module may also be in the current folder. Raises InputError."""
    # 1. The module. The current folder comes first, as in `python -m`.
    module_name, _, function_name = name.partition(":")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = f"no module `{error.name}`" + (
            "" if error.name == module_name else f", which `{module_name}` imports"
        )
        raise InputError(f"--reward {name}: {missing}; it must be in {folder} or in sys.path") from error
    except Exception as error:
        raise InputError(
            f"--reward {name}: `{module_name}` cannot be imported: {type(error).__name__}: {error}"
        ) from error
    # 2. The function.
    function = getattr(module, function_name, None)
    if function is None:
        raise InputError(f"--reward {name}: `{module_name}` has no `{function_name}`")
    if not callable(function):
        raise InputError(f"--reward {name}: `{function_name}` is not a function but {type(function).__name__}")
    try:
        # 3. Whether it takes what TRL passes. Otherwise it would fail after the first answers were sampled.
        inspect.signature(function).bind(**dict.fromkeys({*PASSED, *columns}))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"--reward {name}: cannot be called as TRL calls it ({error}); write def {function_name}(completions, "
            "**kwargs): its keyword arguments are prompts, completions, completion_ids, the data's columns, ..."
        ) from error
    return function


def checked(reward: Reward, name: str) -> Reward:
    """Wraps a reward so that it raises InputError if its result is not what TRL expects."""
    if inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(getattr(reward, "__call__", None)):  # noqa: B004

        async def checked_reward(**passed: Any) -> list[float | None]:
            return numbers(await _explained_async(reward, name, passed), len(passed["completions"]), name)

    else:

        def checked_reward(**passed: Any) -> list[float | None]:  # type: ignore[misc]
            return numbers(_explained(reward, name, passed), len(passed["completions"]), name)

    checked_reward.__name__ = getattr(reward, "__name__", name.rpartition(":")[2])
    return checked_reward


def numbers(rewards: Any, count: int, name: str) -> list[float | None]:
    """The rewards as numbers or None. Raises InputError."""
    if not isinstance(rewards, Sequence) or isinstance(rewards, str):
        rewards = rewards.tolist() if hasattr(rewards, "tolist") else rewards
    if not isinstance(rewards, Sequence) or isinstance(rewards, str):
        raise InputError(f"--reward {name}: returned {type(rewards).__name__}; return a list of numbers")
    if len(rewards) != count:
        raise InputError(
            f"--reward {name}: returned {len(rewards)} rewards for {count} completions; return one for each"
        )
    for index, each in enumerate(rewards):
        if each is not None and not (hasattr(each, "__float__") and math.isfinite(float(each))):
            raise InputError(
                f"--reward {name}: returned {each!r} for completion {index}; return a finite number, or None for "
                "no reward"
            )
    return [None if each is None else float(each) for each in rewards]


def _explained(reward: Reward, name: str, passed: dict[str, Any]) -> Any:
    """Raises InputError."""
    try:
        return reward(**passed)
    except BadRow as error:
        raise InputError(f"--data: {error}") from error
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"--reward {name}: raised {type(error).__name__}: {error}") from error


async def _explained_async(reward: Reward, name: str, passed: dict[str, Any]) -> Any:
    """Raises InputError."""
    try:
        return await reward(**passed)
    except BadRow as error:
        raise InputError(f"--data: {error}") from error
    except Exception as error:
        raise InputError(f"--reward {name}: raised {type(error).__name__}: {error}") from error
