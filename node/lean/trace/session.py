"""Traces many files in parallel, and stores each result at once, so that a run can be resumed."""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from common.files import NOT_JSON, write_whole
from common.life.process import die_with_parent
from node.lean.trace.infotree import LeanSource
from node.lean.trace.records import TracedFile
from node.lean.trace.sources import Group
from node.lean.trace.tracing import Tracer

FORMAT = 2
"""Version of the stored results. Results of another version are computed again."""

RESULTS = "files"
"""Folder of the stored results, one for each file."""


@dataclass(frozen=True)
class Work:
    """One file to trace."""

    file: Path
    name: str
    group: Group
    tracer: Tracer
    result_file: Path
    """The file in which its result is stored."""

    def key(self, text: str) -> str:
        """Digest of everything the result depends on: the file, its imports from the project, Lean, the options."""
        tracer = self.tracer
        lean = (tracer.toolchain.version, tracer.toolchain.command, tracer.toolchain.default_header)
        return _digest(repr((FORMAT, self.name, content(self.group.root, text), lean, tracer.split)))


def content(root: Path, text: str) -> str:
    """Digest of a file's text and of the modules that it imports from the same project, directly or not."""
    return _digest(repr([text, *(_module(root, name) for name in LeanSource(text).imports)]))


@cache
def _module(root: Path, name: str) -> str:
    """Digest of a module; empty if it is not in the project or cannot be read (Lean reports that later)."""
    try:
        return content(root, (root / f"{name.replace('.', '/')}.lean").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError):
        return ""


def plan(group: Group, tracer: Tracer, out: Path) -> list[Work]:
    """The work for a group of files."""
    _module.cache_clear()  # files may have changed since an earlier plan
    return [
        Work(file, group.name(file), group, tracer, out / RESULTS / f"{_digest(str(file))}.json")
        for file in group.files
    ]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def stored_result(work: Work) -> TracedFile | None:
    """The result of an earlier run; None if there is none, if it failed, or if its inputs have changed."""
    try:
        traced = msgspec.json.decode(work.result_file.read_bytes(), type=TracedFile)
        text = work.file.read_text(encoding="utf-8")
    except (OSError, *NOT_JSON):
        return None
    if traced.key != work.key(text) or traced.error:
        return None
    return msgspec.structs.replace(traced, commit=work.group.commit, url=work.group.url)


def run_one(work: Work) -> TracedFile:
    """Trace one file and store the result. A file that cannot be read gives a result with an error."""
    try:
        text = work.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return TracedFile(work.name, error=f"cannot be read: {error}")
    traced = asyncio.run(work.tracer.trace(text, work.name))
    traced = msgspec.structs.replace(
        traced,
        key=work.key(text),
        commit=work.group.commit,
        url=work.group.url,
        lean_version=work.tracer.toolchain.version,
    )
    work.result_file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(work.result_file, msgspec.json.encode(traced))
    return traced


def run_all(
    works: Sequence[Work],
    jobs: int,
    report: Callable[[Work, TracedFile, bool], None],
    *,
    fresh: bool = False,
    threads: bool = False,
) -> None:
    """Trace files, `jobs` in parallel. `report` is called for each; its last argument is True for a stored result.

    `fresh`: use no stored results. `threads`: use threads of this process, because new processes would run the main
    module again.
    """
    remaining = []
    for work in works:
        earlier = None if fresh else stored_result(work)
        if earlier is None:
            remaining.append(work)
        else:
            report(work, earlier, True)
    if threads:
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            for work, future in [(work, pool.submit(run_one, work)) for work in remaining]:
                report(work, _result(work, future), False)
        return
    # If one process is killed, the whole pool breaks. So unfinished files are tried again, each in its own pool.
    for work in _round(remaining, jobs, report):
        for _ in _round([work], 1, report):
            report(work, TracedFile(work.name, error="the process that traced it was killed: out of memory?"), False)


def _round(works: Sequence[Work], jobs: int, report: Callable[[Work, TracedFile, bool], None]) -> list[Work]:
    """Trace files in one pool of processes. Returns the files without a result because the pool broke."""
    if not works:
        return []
    broken = []
    # Parsing the trees in Python takes as much CPU as Lean does, so use processes. Spawn them: forking is unsafe here,
    # because this process has threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(works)), context, die_with_parent, (os.getpid(),)) as pool:
        try:
            pending = {pool.submit(run_one, work): work for work in works}
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    work = pending.pop(future)
                    try:
                        report(work, _result(work, future), False)
                    except BrokenProcessPool:
                        broken.append(work)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return broken


def _result(work: Work, future: Future[TracedFile]) -> TracedFile:
    """The result of a file. An exception becomes the file's error, so that the run continues. Raises
    BrokenProcessPool."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:  # an unexpected error must affect this file only
        return TracedFile(work.name, error=f"{type(error).__name__}: {error}")
