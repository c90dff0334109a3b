"""The functions without a session: each call opens a session and closes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from proofmesh.results import Answer, Fills, Traces, Verification
from proofmesh.session import AnyPath, Session


def prove(*target: str, session: Session | None = None, **settings: Any) -> Answer:
    """`Session.prove`. Raises BadInput, MachineryFailed."""
    with _session(session) as own:
        return own.prove(*target, **settings)


def prove_many(
    statements: Iterable[str | Mapping[str, str]] | AnyPath, session: Session | None = None, **settings: Any
) -> Iterator[Answer]:
    """`Session.prove_many`. Raises BadInput, MachineryFailed."""
    with _session(session) as own:
        yield from own.prove_many(statements, **settings)


def verify(*paths: AnyPath, text: str = "", session: Session | None = None, **settings: Any) -> Verification:
    """`Session.verify`. Raises BadInput."""
    with _session(session) as own:
        return own.verify(*paths, text=text, **settings)


def fill(*paths: AnyPath, session: Session | None = None, **settings: Any) -> Fills:
    """`Session.fill`. Raises BadInput, MachineryFailed."""
    with _session(session) as own:
        return own.fill(*paths, **settings)


def trace(*paths: AnyPath, processes: bool = False, session: Session | None = None, **settings: Any) -> Traces:
    """`Session.trace`. Raises BadInput."""
    with _session(session) as own:
        return own.trace(*paths, processes=processes, **settings)


def _session(session: Session | None) -> AbstractContextManager[Session]:
    return nullcontext(session) if session is not None else Session()
