"""Searches for a proof or a disproof of a target, verifies it, and writes it as Lean text; for one statement, or
for many concurrently."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.lean import Place, Theorem
from common.life.waiting import as_they_end
from common.output.command import UserError
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import LeanVerifyReply
from node.lean.text.script import filled, written
from node.play.attempts import ProvingFailed
from node.proving.prover import Budget, Found, TheoremProver
from node.proving.rows import STDIN, Row, read_row
from node.proving.statements import BadTarget, Target, statement_target

PROVED, DISPROVED, FAILED, BAD_STATEMENT, ERROR = "proved", "disproved", "failed", "bad-statement", "error"


@dataclass(frozen=True)
class Answer:
    """The result for a target."""

    name: str
    outcome: str
    """`proved`, `disproved`, `failed`, `bad-statement`, or `error` for a failure of infrastructure."""
    proof: str = ""
    """The indented block of tactics that follows `:= by`."""
    lean: str = ""
    """The theorem (or the file's command) with its proof; for a disproof, the negation."""
    replacement: str = ""
    """The text that replaces the `sorry`, if the target is one."""
    reason: str = ""
    by: str = ""
    """The source of the proof."""
    axioms: tuple[str, ...] = ()
    simulations: int = 0
    seconds: float = 0.0
    """Time of search and verification."""


@dataclass(frozen=True)
class _Side:
    """The result of a search for the statement or for its negation."""

    theorem: Theorem
    found: Found
    verdict: LeanVerifyReply | None = None

    @property
    def proved(self) -> bool:
        return self.verdict is not None and self.verdict.accepted


async def answer(prover: TheoremProver, target: Target, budget: Budget, *, disprove: bool = False) -> Answer:
    """Search for a proof; with `disprove` concurrently for a proof of the negation. The first accepted proof counts."""
    began = time.monotonic()
    try:
        if disprove and target.negations:
            side, negated = await _either(
                _side(prover, target.readings, budget), _side(prover, target.negations, budget)
            )
        else:
            side, negated = await _side(prover, target.readings, budget), False
    except ProvingFailed as error:
        return Answer(target.name, ERROR, reason=str(error), seconds=round(time.monotonic() - began, 2))
    return _answered(target, side, negated, round(time.monotonic() - began, 2))


async def _side(prover: TheoremProver, readings: Sequence[Theorem], budget: Budget) -> _Side:
    """Search and verify the first reading that Lean can elaborate. Raises ProvingFailed."""
    refused: _Side | None = None
    for theorem in readings:
        found = await prover.find(theorem, budget)
        if found.outcome is AttemptOutcome.BAD_STATEMENT:
            refused = refused or _Side(theorem, found)
            continue
        proved = found.outcome is AttemptOutcome.PROVED
        return _Side(theorem, found, await prover.verify(theorem, found.script) if proved else None)
    assert refused is not None
    return refused


async def _either(statement: Coroutine[Any, Any, _Side], negation: Coroutine[Any, Any, _Side]) -> tuple[_Side, bool]:
    """The side that is proved first, and whether it is the negation. The statement's side if neither is proved.

    Raises ProvingFailed.
    """
    proving, disproving = asyncio.create_task(statement), asyncio.create_task(negation)
    try:
        async for task in as_they_end(proving, disproving):
            side = task.result()
            if side.proved:
                return side, task is disproving
            if task is proving and side.found.outcome is AttemptOutcome.BAD_STATEMENT:
                return side, False
        return proving.result(), False
    finally:
        proving.cancel()
        disproving.cancel()
        await asyncio.gather(proving, disproving, return_exceptions=True)


def _answered(target: Target, side: _Side, negated: bool, seconds: float) -> Answer:
    found, verdict = side.found, side.verdict

    def without_proof(outcome: str, reason: str) -> Answer:
        return Answer(target.name, outcome, reason=reason, simulations=found.simulations, seconds=seconds)

    # 1. No proof, or one that Lean does not accept.
    if found.outcome is AttemptOutcome.BAD_STATEMENT:
        return without_proof(BAD_STATEMENT, found.reason)
    if verdict is None:
        return without_proof(FAILED, found.reason or "no proof found")
    if not verdict.accepted:
        return without_proof(FAILED, f"Lean does not accept the proof that was found: {verdict.reason}")
    # 2. A proof.
    place = side.theorem.place
    axioms = ", ".join(verdict.axioms) or "none"
    return Answer(
        target.name,
        DISPROVED if negated else PROVED,
        proof="\n".join(f"  {line}" if line else "" for line in found.script),
        lean=written(side.theorem, found.script),
        replacement=replacement(place, found.script) if place and target.gap and not negated else "",
        reason=f"accepted by Lean {verdict.lean_version}, axioms: {axioms}"
        + (verdict.reason and f"; {verdict.reason}"),
        by=found.by,
        axioms=verdict.axioms,
        simulations=found.simulations,
        seconds=seconds,
    )


def replacement(place: Place, script: Sequence[str]) -> str:
    """The text that replaces the `sorry` of a gap."""
    command = filled(place, script)
    before = place.before if command.startswith(place.before) else place.before.rstrip(" ")
    return command[len(before) : len(command) - len(place.after)]


# ----------------------------------------------------------------------------------------------------------------------
# Proves many statements: reads them row by row, proves several concurrently, and yields answers as they finish.


_CHUNK = 2**16


class BadRows(UserError, ValueError):
    """A file of rows that cannot be read, or has no rows. The message has the reason and the expected format."""


async def rows_of(source: str) -> AsyncGenerator[Row]:
    """The rows of a file, or of standard input as they arrive. Raises BadRows."""
    kind = source if source == STDIN else Path(source).suffix
    if kind not in (STDIN, ".jsonl", ".txt"):
        raise BadRows(f"{source}: what format is it? There are .jsonl, .txt, and - for standard input")
    number = read = 0
    async for line in _stdin_lines() if kind == STDIN else _file_lines(Path(source)):
        number += 1
        if (row := read_row(line, number, kind)) is not None:
            read += 1
            yield row
    if not read:
        expected = "one statement a line" if kind == ".txt" else 'one {"name": ..., "statement": ...} a line'
        raise BadRows(f"{'standard input' if kind == STDIN else source}: no statement in it; {expected} is expected")


async def _file_lines(path: Path) -> AsyncIterator[bytes]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadRows(f"{path}: cannot be read: {error.strerror}") from error
    for line in data.splitlines():
        yield line


async def _stdin_lines() -> AsyncIterator[bytes]:
    """Lines of standard input as they arrive: the writer may wait for an answer before it writes the next line.

    A daemon thread reads them, so a blocked read does not keep the process alive.
    """
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            for line in _split(iter(lambda: os.read(0, _CHUNK), b"")):
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)
        except RuntimeError:
            return  # the loop has ended

    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    partial = b""
    for chunk in chunks:
        *whole, partial = (partial + chunk).split(b"\n")
        yield from whole
    if partial:
        yield partial


async def prove_rows(
    prover: TheoremProver,
    rows: AsyncGenerator[Row],
    budget: Budget,
    *,
    at_once: int,
    disprove: bool = False,
    above: str | None = None,
) -> AsyncGenerator[Answer]:
    """The answer to each row, in the order in which they finish. `budget`: for each row. `above`: the text of a file
    that is in scope.

    Raises BadRows. A failure of infrastructure is the outcome `error` of its row; other rows go on.
    """
    waiting: asyncio.Queue[Row | None] = asyncio.Queue(maxsize=at_once)
    answers: asyncio.Queue[Answer | None] = asyncio.Queue()

    async def read() -> None:
        async with aclosing(rows):
            async for row in rows:
                await waiting.put(row)
        for _ in range(at_once):
            await waiting.put(None)

    async def work() -> None:
        while (row := await waiting.get()) is not None:
            answers.put_nowait(await answer_row(prover, row, budget, disprove=disprove, above=above))

    tasks = [asyncio.create_task(each) for each in (read(), *(work() for _ in range(at_once)))]
    everything = asyncio.gather(*tasks)
    everything.add_done_callback(lambda _: answers.put_nowait(None))
    try:
        while (finished := await answers.get()) is not None:
            yield finished
        everything.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, everything, return_exceptions=True)


async def answer_row(
    prover: TheoremProver, row: Row, budget: Budget, *, disprove: bool = False, above: str | None = None
) -> Answer:
    """The answer to one row."""
    if row.problem:
        return Answer(row.name, ERROR, reason=row.problem)
    try:
        target = statement_target(row.statement, above, row.name)
    except BadTarget as error:
        return Answer(row.name or row.statement[:40], BAD_STATEMENT, reason=str(error))
    return await answer(prover, target, budget, disprove=disprove)
