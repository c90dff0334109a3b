"""A session: calls that share Lean workers, loaded models and verifiers. For scripts and notebooks."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, TypeVar

from common.settings import LeanSettings
from proofmesh.engine import BackgroundLoop, Engine
from proofmesh.errors import BadInput, public_errors
from proofmesh.results import Answer, Fills, Traces, Verification

T = TypeVar("T")
AnyPath = str | PathLike[str]


def _silent(text: str) -> None:
    """Ignores notes."""


class Session:
    """Use it as a context manager, or call `close`, to end its Lean processes. At the latest they end with the process.

    Several threads may call it at once. `aprove`, `averify` and `afill` are for coroutines.
    """

    def __init__(
        self,
        *,
        lean: LeanSettings | Mapping[str, Any] | None = None,
        config: AnyPath | None = None,
        workers: int = 0,
        note: Callable[[str], None] = _silent,
    ) -> None:
        """`lean`: the default Lean, project and header of calls (section [lean]). `config`: a TOML file with sections
        [lean] and [prove]. `workers`: Lean processes; 0: as many as this machine allows. `note`: gets the messages that
        the commands print in addition to their results.

        Raises BadInput.
        """
        from common.life import logging

        logging.configure("error")  # failures are raised as exceptions
        self._lean = lean
        self._config = config
        self._note = note
        self._loop = BackgroundLoop()
        self._engine = Engine(workers, note)
        self._closing = weakref.finalize(self, _close, self._loop, self._engine)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends Lean processes and unloads models. Running calls are cancelled."""
        self._closing()

    # --- prove ------------------------------------------------------------------------------------------------------

    def prove(self, *target: str, **settings: Any) -> Answer:
        """Proves a statement, a theorem of a file or a `sorry`, like `proofmesh prove`.

        `target`: `"theorem t : ..."`, `"FILE:LINE"`, or `"FILE", "NAME"`. `settings`: flags of the command, such as
        `seconds=20`, `policy="own:PATH"`, `context=FILE`, `disprove=True`, `lean={"project": ...}`. `policy` and
        related settings can also be given as `proving=ProvingSettings(...)`.

        If the statement does not elaborate, or is not proved within the budget, the `outcome` of the answer says so;
        this is not an error. Raises BadInput, MachineryFailed.
        """
        return self._run(self._prove(target, settings))

    async def aprove(self, *target: str, **settings: Any) -> Answer:
        """`prove` for coroutines."""
        return await self._later(self._prove(target, settings))

    def prove_many(self, statements: Iterable[str | Mapping[str, str]] | AnyPath, **settings: Any) -> Iterator[Answer]:
        """Proves many statements, several at once, like `proofmesh prove --from`. Yields each answer when it is ready.

        `statements`: texts, rows {"name", "statement"}, or a .jsonl or .txt file of them. Each has its own budget.
        Raises BadInput, MachineryFailed.
        """
        from proofmesh.calls import prove_many

        answers = prove_many(self._engine, self._with_own(settings), statements)
        with public_errors():
            yield from self._loop.each(answers)

    async def _prove(self, target: tuple[str, ...], settings: Mapping[str, Any]) -> Answer:
        from proofmesh.calls import prove

        return await prove(self._engine, self._with_own(settings), target, self._note)

    # --- verify, fill, trace ----------------------------------------------------------------------------------------

    def verify(self, *paths: AnyPath, text: str = "", **settings: Any) -> Verification:
        """Verifies every theorem in these files, folders and projects, like `proofmesh verify`.

        `text`: the text of a Lean file, instead of files. `settings`: flags of the command, such as `against="theorem t
        : ..."`, `strict=True`, `seconds=60`. Files that cannot be read or compiled get a verdict, not an error. Raises
        BadInput.
        """
        return self._run(self._verify(paths, text, settings))

    async def averify(self, *paths: AnyPath, text: str = "", **settings: Any) -> Verification:
        """`verify` for coroutines."""
        return await self._later(self._verify(paths, text, settings))

    async def _verify(self, paths: tuple[AnyPath, ...], text: str, settings: Mapping[str, Any]) -> Verification:
        from proofmesh.calls import verify

        return await verify(self._engine, self._with_own(settings), paths, text)

    def fill(self, *paths: AnyPath, **settings: Any) -> Fills:
        """Replaces each `sorry` in Lean files by a proof, like `proofmesh fill`.

        `settings`: flags of the command, such as `write=True`, `only="NAME"`, `seconds=20`, `again=True`. Raises
        BadInput, MachineryFailed.
        """
        return self._run(self._fill(paths, settings))

    async def afill(self, *paths: AnyPath, **settings: Any) -> Fills:
        """`fill` for coroutines."""
        return await self._later(self._fill(paths, settings))

    async def _fill(self, paths: tuple[AnyPath, ...], settings: Mapping[str, Any]) -> Fills:
        from proofmesh.calls import fill

        return await fill(self._engine, self._with_own(settings), paths, self._note)

    def trace(self, *paths: AnyPath, processes: bool = False, **settings: Any) -> Traces:
        """Extracts every tactic of Lean files, with the states before and after it, like `proofmesh trace`.

        `paths`: files, folders, Lake projects or URL@COMMIT. `settings`: flags of the command, such as `out="trace"`,
        `format=["proofmesh", "leandojo"]`, `jobs=4`. `processes`: read Lean's output in separate processes, like the
        command. This is faster for many files, but a script must then guard its calls with `if __name__ ==
        "__main__":`. Raises BadInput.
        """
        from proofmesh.calls import trace

        with public_errors():
            return trace(self._with_own(settings, config=False), paths, processes=processes)

    # --- how calls run ----------------------------------------------------------------------------------------------

    def _with_own(self, settings: Mapping[str, Any], *, config: bool = True) -> dict[str, Any]:
        """The settings of a call, completed with those of the session."""
        own: dict[str, Any] = {} if self._lean is None else {"lean": self._lean}
        if config and self._config is not None:
            own["config"] = self._config
        return own | dict(settings)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._closing.alive:
            work.close()
            raise BadInput("this session is closed: open another one")
        with public_errors():
            return self._loop.run(work)

    async def _later(self, work: Coroutine[Any, Any, T]) -> T:
        with public_errors():
            return await asyncio.wrap_future(self._loop.later(work))


def _close(loop: BackgroundLoop, engine: Engine) -> None:
    try:
        loop.run(engine.close())
    finally:
        loop.close()


# --- functions without a session: each call opens one and closes it ---------------------------------------------------


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
