"""`trace` in a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from common.config import ConfigError
from node.command.trace import TraceSettings, formats_of, jobs_of, warnings_of, works_of
from node.lean.trace.formats import write
from node.lean.trace.session import run_all
from proofmesh.calls import path_list, settings_of
from proofmesh.results import Traces

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile
    from node.lean.trace.session import Work


def trace(given: Mapping[str, Any], paths: tuple[Any, ...], *, processes: bool) -> Traces:
    """Traces files. Raises errors that `proofmesh.errors.public_errors` converts."""
    if not paths:
        raise ConfigError("trace: no paths; name files, folders or projects")
    settings = settings_of(TraceSettings(paths=[]), {**given, "paths": path_list(paths)}, "trace")
    works = works_of(settings)
    problems: dict[str, str] = {}

    def record(work: Work, traced: TracedFile, earlier: bool) -> None:
        if traced.error:
            problems[work.name] = traced.error

    run_all(works, jobs_of(settings), record, fresh=settings.fresh, threads=not processes)
    written = tuple(write(works, settings.out, formats_of(settings)))
    return Traces(settings.out, written, problems, tuple(warnings_of(works)), tuple(works))
