"""Resources that the calls of a session share: toolchains, Lean workers, provers, verifiers. Created on first use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar, cast

from common.settings import LeanSettings
from node.lean.check.files.verifier import FileVerifier
from node.lean.opened import OpenedLean, open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.find import confined_toolchain
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.proving.prover import MESH_AT_ONCE, TheoremProver, local_prover, mesh_prover
from node.proving.settings import ProvingSettings

T = TypeVar("T")


class Engine:
    """The shared resources. Create and use them in one event loop, and call `close` at the end."""

    def __init__(self, workers: int, note: Callable[[str], None]) -> None:
        """`workers`: Lean processes for each library; 0: as many as this machine allows."""
        self._workers = workers
        self._note = note
        self._stack = AsyncExitStack()
        self._made: dict[str, asyncio.Task[Any]] = {}

    async def close(self) -> None:
        """Ends Lean processes and unloads models."""
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)
        self._made.clear()
        await self._stack.aclose()

    async def toolchain(self, lean: LeanSettings) -> LeanToolchain:
        """The Lean of the settings, confined as far as the system allows. Raises LeanProblem."""
        return await self._once(f"toolchain {lean}", lambda: confined_toolchain(lean))

    async def prover(
        self, lean: LeanSettings, proving: ProvingSettings, toolchain: LeanToolchain | None = None
    ) -> tuple[TheoremProver, int]:
        """A prover in this process, and how many theorems it proves at once. `toolchain`: used instead of that of the
        settings. Raises LeanProblem, BadPolicy."""
        found = toolchain or await self.toolchain(lean)
        processes = LeanProcessSettings(lean=lean, workers=self._workers)
        where = f"{lean} {' '.join(found.command)} {found.environment.get('LEAN_PATH', '')}"

        async def workers() -> OpenedLean:
            return await self._stack.enter_async_context(open_lean(processes, found))

        local = await self._once(f"workers {where}", workers)

        async def prover() -> TheoremProver:
            return await self._stack.enter_async_context(local_prover(local, proving, note=self._note))

        return await self._once(f"prover {where} {proving}", prover), processes.resolved_workers()

    async def mesh_prover(self, url: str, run: str, proving: ProvingSettings) -> tuple[TheoremProver, int]:
        """The provers of a running mesh. Raises BusError, BadPolicy, ProvingFailed."""

        async def prover() -> TheoremProver:
            return await self._stack.enter_async_context(mesh_prover(url, run, proving))

        return await self._once(f"mesh {url} {run} {proving}", prover), MESH_AT_ONCE

    async def verifier(self, toolchain: LeanToolchain, at_once: int, seconds: float, memory_mb: int) -> FileVerifier:
        """A verifier of files."""

        async def made() -> FileVerifier:
            verifier = FileVerifier(toolchain, at_once=at_once, seconds=seconds, memory_mb=memory_mb)
            self._stack.push_async_callback(verifier.close)
            return verifier

        environment = sorted(toolchain.environment.items())
        return await self._once(f"verifier {toolchain.command} {environment} {at_once} {seconds} {memory_mb}", made)

    @asynccontextmanager
    async def borrowed(
        self, lean: LeanSettings, proving: ProvingSettings, toolchain: LeanToolchain
    ) -> AsyncIterator[tuple[TheoremProver, int]]:
        """A prover for a block. It stays open afterwards, unless its library exists only for this call."""
        if toolchain == await self.toolchain(lean):
            yield await self.prover(lean, proving)
            return
        alone = Engine(self._workers, self._note)
        try:
            yield await alone.prover(lean, proving, toolchain)
        finally:
            await alone.close()

    async def _once(self, key: str, make: Callable[[], Awaitable[T]]) -> T:
        """The resource of this key; creates it if necessary. After a failure the next call tries again."""
        task = self._made.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._made[key] = asyncio.ensure_future(_awaited(make))
        return cast(T, await asyncio.shield(task))


async def _awaited(make: Callable[[], Awaitable[T]]) -> T:
    return await make()


# --- an event loop in a thread of its own: scripts wait for it, and notebooks have a running one ----------------------


_END = object()


class BackgroundLoop:
    """Runs coroutines for threads that wait for their results. Call `close` at the end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proofmesh", daemon=True)
        self._thread.start()

    def later(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and returns its result. If the wait is interrupted (Ctrl-C), the coroutine is cancelled."""
        future = self.later(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncGenerator[T]) -> Iterator[T]:
        """The items of an asynchronous generator, as they come."""

        async def following() -> object:
            return await anext(items, _END)

        async def close() -> None:
            await items.aclose()

        try:
            while (item := self.run(following())) is not _END:
                yield cast(T, item)
        finally:
            self.run(close())

    def close(self) -> None:
        """Ends the loop and its thread. Running coroutines are cancelled."""
        if self._loop.is_closed():
            return
        self.run(_all_others_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _all_others_ended() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
