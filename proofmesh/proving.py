"""`prove` and `prove_many` in a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from os import PathLike
from pathlib import Path
from typing import Any

from common.config import load, load_lean
from common.output.command import UserError
from node.command.projects import lean_for
from node.command.proofs.prove import ProveSettings, budget_of, check, proving_of, with_first
from node.proving import answers
from node.proving.answers import Answer, Row, prove_rows, rows_of
from node.proving.prover import TheoremProver
from node.proving.settings import ProvingSettings
from node.proving.statements import read_file, read_target
from proofmesh.engine import Engine
from proofmesh.settings import settings_of


async def prove(
    engine: Engine, given: Mapping[str, Any], target: tuple[str, ...], note: Callable[[str], None]
) -> Answer:
    """The answer to one target. Raises errors that `proofmesh.errors.public_errors` converts."""
    settings = _settings({**given, "target": target}, "prove")
    parsed = await asyncio.to_thread(read_target, settings.target, settings.context)
    if settings.disprove and not parsed.negations:
        raise UserError(f"{parsed.where}: the goal of a `sorry` within a proof has no negation; leave out disprove")
    if settings.explain is not None:
        return await _explained(settings, parsed, note)
    prover, _ = await _prover(engine, settings, parsed.file)
    return await answers.answer(prover, parsed, budget_of(settings), disprove=settings.disprove)


async def prove_many(
    engine: Engine, given: Mapping[str, Any], statements: Iterable[str | Mapping[str, str]] | str | PathLike[str]
) -> AsyncGenerator[Answer]:
    """The answer to each statement, as it comes. Raises errors that `proofmesh.errors.public_errors` converts."""
    named = isinstance(statements, (str, PathLike))
    settings = _settings({**given, "from_": str(statements) if named else "given"}, "prove_many")
    above = read_file(settings.context) if settings.context else None
    rows = rows_of(settings.from_) if isinstance(statements, (str, PathLike)) else _rows(statements)
    first = await anext(rows, None)  # read before Lean starts, to report a bad file at once
    if first is None:
        return
    prover, at_once = await _prover(engine, settings, settings.context)
    proved = prove_rows(
        prover,
        with_first(first, rows),
        budget_of(settings),
        at_once=settings.jobs or at_once,
        disprove=settings.disprove,
        above=above,
    )
    async with aclosing(proved):
        async for each in proved:
            yield each


def _settings(given: Mapping[str, Any], where: str) -> ProveSettings:
    """The settings of the command `prove`. Raises ConfigError, UserError, BadPolicy."""
    file = Path(given["config"]) if given.get("config") else None
    default = ProveSettings(target=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    settings = settings_of(default, given, where)
    check(settings)
    return settings


async def _prover(engine: Engine, settings: ProveSettings, file: Path | None) -> tuple[TheoremProver, int]:
    if settings.url:
        return await engine.mesh_prover(settings.url, settings.run, proving_of(settings))
    return await engine.prover(lean_for(settings.lean, [file] if file else []), proving_of(settings))


async def _explained(settings: ProveSettings, target: Any, note: Callable[[str], None]) -> Answer:
    """The answer, with the search recorded in a file. It needs a separate prover, which records every step."""
    from node.command.proofs.prove import opened_prover
    from node.proving.explain import SearchRecorder

    assert settings.explain is not None
    recorder = SearchRecorder()
    async with opened_prover(settings, target.file, note, recorder) as (prover, _):
        answer = await answers.answer(prover, target, budget_of(settings), disprove=settings.disprove)
    try:
        recorder.write(settings.explain, answer)
    except OSError as error:
        raise UserError(f"explain: {settings.explain}: cannot be written: {error.strerror}") from error
    return answer


async def _rows(statements: Iterable[str | Mapping[str, str]]) -> AsyncGenerator[Row]:
    for number, each in enumerate(statements, 1):
        if isinstance(each, str):
            yield Row("", each)
        elif isinstance(each.get("statement"), str):
            yield Row(str(each.get("name") or ""), each["statement"])
        else:
            yield Row(f"row {number}", problem=f"row {number}: no `statement`; add it as a text")
