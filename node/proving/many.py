"""Proves many statements: reads them row by row, proves several concurrently, and yields answers as they finish."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.output.command import UserError
from node.proving.answers import BAD_STATEMENT, ERROR, Answer, answer
from node.proving.prover import Budget, TheoremProver
from node.proving.statements import BadTarget, statement_target

STDIN = "-"

_COMMENTS = ("--", "#")
_CHUNK = 2**16


class BadRows(UserError, ValueError):
    """A file of rows that cannot be read, or has no rows. The message has the reason and the expected format."""


@dataclass(frozen=True)
class Row:
    """A statement of a file, or the problem with its row."""

    name: str
    statement: str = ""
    problem: str = ""


def read_row(line: bytes, number: int, kind: str) -> Row | None:
    """Parse a line of a file (`.jsonl`: objects, `.txt`: statements, `-`: either). None for blanks and comments."""
    where = f"line {number}"
    try:
        text = line.decode().strip()
    except UnicodeDecodeError as error:
        return Row(where, problem=f"{where}: not UTF-8 ({error.reason})")
    if kind == ".jsonl" or (kind == STDIN and text.startswith("{")):
        return _object(text, where) if text else None
    return Row("", text) if text and not text.startswith(_COMMENTS) else None


def _object(text: str, where: str) -> Row:
    try:
        row = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return Row(where, problem=f"{where}: no JSON: {error}")
    if not isinstance(row, dict):
        return Row(where, problem=f'{where}: an object {{"name": ..., "statement": ...}} was expected')
    name, statement = row.get("name") or "", row.get("statement")
    if not isinstance(name, (str, int)):
        return Row(where, problem=f"{where}: `name` is a text")
    if not isinstance(statement, str):
        keys = ", ".join(map(str, row)) or "none"
        return Row(str(name) or where, problem=f"{where}: no `statement` with a text (its keys: {keys})")
    return Row(str(name), statement)


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
