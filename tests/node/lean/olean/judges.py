"""Judges of changed compiled files, and a harness that runs one in a process which it stops if it takes too much.

A judge is an async generator function of a module. It gets the honest text and compiled files that claim to be it, and
yields an answer for each, in order. `by_verifier` asks a whole `FileVerifier`, whatever it is made of. `in_batches`
does the same with the parts of today's, and has one Lean process check many files.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import shutil
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from node.lean.check.files.clean import cleaned, touches_statements
from node.lean.check.files.compiling import Compiler
from node.lean.check.files.judge import (
    AnswerReply,
    AnswerRequest,
    Judge as FileJudge,
    ReadReply,
    ReadRequest,
    StatedReply,
    StatedRequest,
)
from node.lean.check.files.report import DeclarationVerdict
from node.lean.check.files.sources import from_text
from node.lean.check.files.verifier import corrected
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.attacks import MB, PATIENCE, computing_time, ended, forges, forging_verifier
from tests.node.lean.olean.mutations import Answer, Mutant

Judge = Callable[[str, Sequence[bytes]], AsyncIterator[Answer]]

LIMITS = Limits(seconds=10, memory_mb=1024)


def _answer(declarations: Sequence[DeclarationVerdict]) -> Answer:
    return Answer(
        tuple(each.name for each in declarations if each.accepted), all(each.accepted for each in declarations)
    )


# --- a whole verifier -------------------------------------------------------------------------------------------------


async def by_verifier(text: str, contents: Sequence[bytes]) -> AsyncIterator[Answer]:
    """What `FileVerifier` says, if the compiler writes these files."""
    async with forging_verifier(seconds=LIMITS.seconds, memory_mb=LIMITS.memory_mb) as verifier:
        for content in contents:
            forges(verifier)["Main"] = _always(content)
            async with aclosing(verifier.verify([from_text(text)])) as judged:
                report = (await anext(judged)).report
            yield Answer(problem=report.problem) if report.problem else _answer(report.declarations)


def _always(content: bytes) -> Callable[[bytes, Path], bytes]:
    return lambda _content, _place: content


# --- its parts, with one process for many files -----------------------------------------------------------------------

_MANY = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.set_int_max_str_digits(0)
kernel = module.Kernel(module.ctypes.CDLL(os.environ[module.LIBRARY_VARIABLE], mode=module.ctypes.RTLD_GLOBAL))
kernel.import_library([kernel.name(("Init",))])
for path in sys.argv[2:]:
    if not os.fork():
        document = module.Document(open(path, "rb").read(), kernel)
        document.read_tables()
        if [kernel.parts(name) for name in document.imports()] != [("Init",)]:
            os._exit(1)
        answer = document.answer()
        with open(path + ".answer", "wb") as file:
            file.write(answer)
        os._exit(0)
    os.wait()
"""
"""The kernel's process, copied for each file when it has imported the library."""


async def in_batches(text: str, contents: Sequence[bytes]) -> AsyncIterator[Answer]:
    """What the parts of `FileVerifier` say, if the compiler writes these files."""
    toolchain = LeanToolchain.pocket()
    folder = Path(tempfile.mkdtemp())
    try:
        # 1. The honest text and its clean text, compiled once.
        compiled, clean = [
            await Compiler(toolchain, LIMITS).compile("Main", each, folder / name, [], salvage=name == "clean")
            for name, each in (("once", text), ("clean", cleaned(text)))
        ]
        assert compiled.olean is not None and clean.olean is not None
        commands = [each for each in compiled.commands if each not in compiled.failed]
        clean_commands = [each for each in clean.commands if each not in clean.failed]
        stated = ReadRequest("clean", "Main", str(clean.olean), cleaned(text), "", clean_commands, [])
        # 2. Each file is read, and its declarations are written. A file that is refused has its answer.
        answers: dict[int, Answer] = {}
        judges: dict[int, FileJudge] = {}
        for index, content in enumerate(contents):
            olean, declarations = folder / f"{index}.olean", folder / f"{index}"
            olean.write_bytes(content)
            request = ReadRequest(
                "file", "Main", str(olean), text, "", commands, [], [], touches_statements(text), str(declarations)
            )
            judges[index] = FileJudge()
            reply = judges[index].handle(request)
            assert isinstance(reply, ReadReply)
            if reply.problem:
                answers[index] = Answer(problem=reply.problem)
        # 3. The kernel checks them.
        await _asked(toolchain, folder, [index for index in judges if index not in answers])
        # 4. The answers in order.
        for index in range(len(contents)):
            yield answers[index] if index in answers else _judged(judges[index], folder / f"{index}.answer", stated)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _judged(judge: FileJudge, answer: Path, stated: ReadRequest) -> Answer:
    """The verdicts by the kernel's answer, after the comparison with the text."""
    if not answer.exists():
        return Answer(problem="the kernel's process ended")
    judged = judge.handle(AnswerRequest("file", answer.read_text(errors="replace")))
    assert isinstance(judged, AnswerReply)
    if judged.problem:
        return Answer(problem=judged.problem)
    assert judge.handle(stated) == ReadReply()
    compared = judge.handle(StatedRequest("file", ["clean"]))
    assert isinstance(compared, StatedReply)
    return _answer(corrected(judged.verdicts, compared, False, []))


async def _asked(toolchain: LeanToolchain, folder: Path, files: Sequence[int]) -> None:
    """Have the kernel answer. A file without an answer was too much for it."""
    python, *options, program = toolchain.kernel
    command = [python, *options, "-c", _MANY, program, *(str(folder / f"{index}") for index in files)]
    with contextlib.suppress(OutOfLimits):
        limits = Limits(seconds=60)
        await run_fresh(command, environment=toolchain.environment, folder=folder, limits=limits, output_bytes=1 << 26)


# --- the harness ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Watched:
    """What became of one file."""

    answer: Answer | None
    fault: str = ""
    """A traceback, too long, or too much memory; empty if there is an answer."""


def watched(
    judge: Judge, text: str, mutants: Sequence[Mutant], *, batch: int = 60, seconds: float = 30, memory_mb: int = 1000
) -> list[Watched]:
    """The answers of a judge, which runs in a process of its own.

    If the process fails at a batch, its files are judged in smaller batches, until the guilty one is found.
    """
    results: list[Watched] = []
    waiting = [list(mutants[at : at + batch]) for at in range(0, len(mutants), batch)]
    while waiting:
        part = waiting.pop(0)
        got, fault = _in_process(judge, text, [each.content for each in part], seconds, memory_mb)
        results += [Watched(each) for each in got]
        left = part[len(got) :]
        if fault and len(left) <= 1:
            results.append(Watched(None, fault))
        elif fault:
            step = max(len(left) // 6, 1)
            waiting[:0] = [left[at : at + step] for at in range(0, len(left), step)]
    return results


def _in_process(
    judge: Judge, text: str, contents: Sequence[bytes], seconds: float, memory_mb: int
) -> tuple[list[Answer], str]:
    """The answers, and why there are no more."""
    # 1. The process, which sends its answers.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(theirs, judge, text, contents))
    process.start()
    theirs.close()
    # 2. They are taken until it has sent all, or fails.
    got: list[Answer] = []
    last, used, used_before = time.monotonic(), 0.0, 0.0
    try:
        process_seen = psutil.Process(process.pid)
        while True:
            with contextlib.suppress(EOFError):
                while ours.poll(0.05):
                    received = ours.recv()
                    if received is None:
                        return got, ""
                    if isinstance(received, str):
                        return got, received
                    got.append(received)
                    last, used_before = time.monotonic(), used
            with contextlib.suppress(psutil.Error):
                used = computing_time(process_seen)
                if process_seen.memory_info().rss / MB > memory_mb:
                    return got, f"more than {memory_mb} MB of memory"
            if used - used_before > seconds or time.monotonic() - last > PATIENCE * seconds:
                return got, f"no answer after {seconds:g} s of computing"
            if not process.is_alive() and not ours.poll(0):
                return got, f"the process ended with code {process.exitcode}"
    finally:
        ended(process)


def _judge(answer: Connection, judge: Judge, text: str, contents: Sequence[bytes]) -> None:
    async def run() -> None:
        async for each in judge(text, contents):
            answer.send(each)

    try:
        asyncio.run(run())
        answer.send(None)
    except BaseException:
        answer.send(traceback.format_exc())
    os._exit(0)  # a thread that does not end would keep the process
