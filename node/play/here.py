"""Plays attempts in this process, as a prover does, with Lean workers and networks of this process.

async with open_lean(processes, toolchain) as lean, LocalAttempts(lean) as attempts:
    await attempts.open("own:runs/demo+tactics")
    result = await attempts.play(attempt)
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus import Here, Unanswered
from common.lean import ProofTree, Theorem
from common.life.waiting import side_by_side
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptResult
from common.protocol.messages import Failure, FailureKind, LeanVerifyReply, Message, TacticRequest
from node.lean.opened import OpenedLean
from node.llm.address import BadModel, HubAddress, ModelAddress
from node.llm.models import as_run, open_model
from node.llm.sampling import OpenedModel, Sampler, SamplerError
from node.llm.settings import ModelSettings
from node.llm.templates import Template
from node.model import checkpoint_folders
from node.model.checkpoint_folders import CheckpointError
from node.play.attempts import Capacity, ProvingFailed, is_inconclusive
from node.play.policies import address_here, template_here, weights_at
from node.prover.environment import Verification
from node.prover.player import Player, Watch
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.fixed import CLOSING
from node.prover.policies.names import OWN, BadPolicy, PolicyName
from node.prover.policies.sources import SourceModel
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from types import TracebackType


class LocalSources:
    """`Sources` in this process: networks from files, and language models on servers or in this process."""

    def __init__(
        self, here: Here, network: str, threads: int, models: ModelSettings | None, note: Callable[[str], None]
    ) -> None:
        """`network`: OWN for networks that policies name by their files; INFERENCE for the one that `load_network`
        has loaded. `threads`: for forward passes. `note` gets the usage of models at the end."""
        self.network = network
        self._here = here
        self._threads = threads
        self._settings = models
        self.note = note
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        """Held while a network or model is opened: two policies may name the same one."""
        self._networks: Networks | None = None
        self._versions: dict[PolicyName, int] = {}
        self._models: dict[PolicyName, _OpenModel] = {}
        self._templates: dict[PolicyName, Template] = {}

    async def open(self, name: PolicyName) -> None:
        """Load the network or open the model that a part of a policy names, once. Raises BadPolicy, and ProvingFailed
        if no server replies."""
        async with self._lock:
            if name.kind == OWN and name not in self._versions:
                path = weights_at(Path(name.where), self.note)
                version = len(self._versions)
                await self.load_network(path, version)
                self._versions[name] = version
            elif name.is_model and name not in self._models:
                await self._open_model(name)

    async def load_network(self, path: Path, version: int, *, alone: bool = False) -> None:
        """See `Networks.load`."""
        if self._networks is None:
            self._networks = Networks(self._threads)
            self._stack.push_async_callback(self._networks.stop)
            self._here.serve(subjects.TACTIC_REQUEST, self._networks.answer)
        await self._networks.load(path, version, alone=alone)

    def weights(self, name: PolicyName, weights: int | None) -> int | None:
        """The version of a network that was opened; for INFERENCE the attempt's."""
        if name.kind != OWN:
            return weights
        if name not in self._versions:
            raise BadPolicy(f"`{name}` was not opened")
        return self._versions[name]

    def template(self, name: PolicyName) -> Template:
        """The prompt template of a model."""
        if name not in self._templates:
            self._templates[name] = template_here(address_here(name))
        return self._templates[name]

    def model(self, name: PolicyName) -> SourceModel:
        """A model that was opened."""
        if name not in self._models:
            raise BadPolicy(f"`{name}` was not opened")
        return self._models[name].model

    def trouble(self) -> str:
        """The present problems of the models' servers; empty: none."""
        return "; ".join(filter(None, (each.sampler.trouble for each in self._models.values())))

    async def close_models(self) -> None:
        """Close all models, and note their usage."""
        models, self._models = self._models, {}
        for each in models.values():
            await each.stack.aclose()

    async def stop(self) -> None:
        """Unload networks and models."""
        await self.close_models()
        await self._stack.aclose()

    async def _open_model(self, name: PolicyName) -> None:
        address = address_here(name)
        template = as_run(address, self.template(name), self._settings)
        stack = AsyncExitStack()
        try:
            sampler = await stack.enter_async_context(
                open_model(address, self._settings, template=template, note=self.note)
            )
        except BadModel as error:
            raise BadPolicy(str(error)) from error
        except SamplerError as error:
            raise ProvingFailed(str(error)) from error
        model = SourceModel(sampler, template, address.identity)
        self._models[name] = _OpenModel(model, sampler, stack)

        def note_usage() -> None:
            content = "proof" if template.mode == "whole-proof" else "tactic"
            dropped = ", ".join(f"{count} {problem}" for problem, count in model.dropped.most_common())
            self.note(f"{sampler.usage}" + (f"; samples without a {content}: {dropped}" if dropped else ""))

        stack.callback(note_usage)


@dataclass(frozen=True)
class _OpenModel:
    model: SourceModel
    sampler: OpenedModel
    stack: AsyncExitStack
    """Closes it."""


# ----------------------------------------------------------------------------------------------------------------------
# Networks: the inference node's worker thread answers requests for tactics. Only its methods import torch.


class Networks:
    """Networks by version, in one thread. Call `stop` at the end."""

    def __init__(self, threads: int) -> None:
        """`threads`: number of threads for forward passes."""
        from node.inference.worker import Jobs

        self._jobs = Jobs(threads, self._failed)
        self._worker = self._jobs.worker
        self._cells: dict[int, int] = {}
        """Most samples for one state, by version."""
        self._problem = ""
        self._worker.start()

    async def load(self, path: Path, version: int, *, alone: bool = False) -> None:
        """Load a weights file or checkpoint as this version, which becomes the latest. `alone`: put earlier versions
        away once their open requests are answered. Raises BadPolicy."""
        from node.inference.engine.engine import Engine, WeightsId
        from node.model.checkpoint import read_weights
        from node.model.weights import WeightsError

        try:
            engine = Engine(await asyncio.to_thread(read_weights, path))
        except (WeightsError, CheckpointError, OSError) as error:
            raise BadPolicy(f"cannot use the network {path}: {error}") from error
        self._cells = ({} if alone else self._cells) | {version: engine.settings.cells}
        weights = WeightsId(version, "")
        self._worker.install(weights, engine, lambda: None)
        self._worker.promote(weights)
        if alone:
            self._worker.keep({weights})

    async def answer(self, request: TacticRequest) -> Message:
        """Returns TacticReply, or Failure if no network of that version is loaded, or if it does not support these
        sampling settings or this many samples. Raises Unanswered if the forward passes failed."""
        from node.inference.engine.engine import WeightsId
        from node.inference.worker import reply_of

        version = max(self._cells, default=0) if request.weights is None else request.weights
        if version not in self._cells:
            return Failure(reason=f"no network of version {version} is loaded", kind=FailureKind.UNKNOWN_WEIGHTS)
        if self._problem:
            raise Unanswered(self._problem)
        job = self._jobs.job(request)
        if problem := job.problem(self._cells[version]):
            return Failure(reason=problem, kind=FailureKind.MALFORMED)
        answer = await self._jobs.done(job, WeightsId(version, ""))
        if answer.finished is None:
            return Failure(reason=f"version {version} was put away", kind=FailureKind.UNKNOWN_WEIGHTS)
        return reply_of(answer.finished, answer.version)

    async def stop(self) -> None:
        """End the thread."""
        self._worker.stop()
        await asyncio.to_thread(self._worker.join)

    def _failed(self, error: BaseException) -> None:
        """The thread has ended."""
        self._problem = f"forward passes failed: {error}"
        self._jobs.fail(Unanswered(self._problem))


# ----------------------------------------------------------------------------------------------------------------------
# Attempts.


class LocalAttempts:
    """`Attempts` in this process. Use it with `async with`, or call `stop`."""

    late = 0.5

    def __init__(
        self,
        lean: OpenedLean,
        settings: ProverSettings | None = None,
        *,
        network: str = OWN,
        threads: int = 1,
        models: ModelSettings | None = None,
        unknown: Callable[[Theorem, str], bool] = lambda theorem, tactic: False,
        watch: Watch | None = None,
        tries: int = 1,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`settings`: those of a prover; its policy is used by attempts that name none. `network`, `threads`: see
        `LocalSources`. `models`: settings of language models. `unknown`: see `AttemptPolicies`. `watch`:
        see `Player`. `tries`: how often an attempt is played whose infrastructure fails. `note` gets
        messages about models and damaged checkpoints. Raises BadPolicy."""
        # Nobody else can answer, so nothing is given up for waiting.
        settings = replace(
            settings or ProverSettings(policy=""),
            lean_patience=math.inf,
            policy_patience=math.inf,
            verify_patience=math.inf,
        )
        self.lean = lean
        self.asking = Here()
        self.sources = LocalSources(self.asking, network, threads, models, note)
        self._settings = settings
        self._tries = tries
        self._opening: dict[str, asyncio.Task[None]] = {}
        lean.serve(self.asking)
        self._policies = AttemptPolicies(self.asking, settings, self.sources, unknown=unknown)
        self._player = Player(
            self.asking,
            settings,
            self._policies,
            "here",
            watch=watch,
            messages=watch is not None,
        )

    async def __aenter__(self) -> LocalAttempts:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Unload networks and models."""
        for opening in self._opening.values():
            opening.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        await self.sources.stop()

    async def open(self, policy: str, closing: Sequence[str] = CLOSING) -> None:
        """Load the policy's networks and open its models, once for all attempts. Loading a model may take minutes."""
        opening = self._opening.get(policy)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            self._opening[policy] = asyncio.create_task(self._open(policy, closing))
        await asyncio.shield(self._opening[policy])

    async def _open(self, policy: str, closing: Sequence[str]) -> None:
        names = self._policies.parse(policy)
        await self._policies.open()
        for name in names:
            await self.sources.open(name)
        self._policies.add(names, closing)

    async def play(self, attempt: Attempt) -> AttemptResult:
        """The attempt's result."""
        result = await self._player.play(attempt)
        for _ in range(self._tries - 1):
            if not is_inconclusive(result):
                break
            result = await self._player.play(attempt)
        return result

    async def results(self, attempts: Sequence[Attempt]) -> AsyncGenerator[AttemptResult, None]:
        """The results, with as many attempts at once as a prover plays."""
        if len({attempt.attempt_id for attempt in attempts}) < len(attempts):
            raise ValueError("two attempts have the same id; give each attempt a different id")
        playing = side_by_side(self.play, attempts, self._settings.resolved_searches())
        async with contextlib.aclosing(playing):
            async for result in playing:
                yield result

    async def verify(self, theorem: Theorem, proof: ProofTree | str) -> LeanVerifyReply:
        """Lean's verdict from fresh processes. Raises BusError."""
        timeout = self._settings.verify_timeout
        return await Verification(self.asking, theorem, timeout=timeout, patience=math.inf).verdict(proof)

    async def serve_network(self, checkpoint: Path, version: int) -> None:
        """Load the checkpoint, and put the earlier version away."""
        await self.sources.load_network(
            await asyncio.to_thread(checkpoint_folders.weights_at, checkpoint, self.sources.note), version, alone=True
        )

    async def serve_model(self, address: ModelAddress, checkpoint: HubAddress, version: int) -> str:
        """Close the earlier model; `open` opens the new one."""
        from node.play.serving import loaded

        await self.sources.close_models()
        self._policies.forget_models()
        self._opening.clear()
        return str(replace(await loaded(address, checkpoint, f"self-play-{version}"), template=""))

    def sampler(self, policy: str, patience: float) -> Sampler:
        """The open model's own sampler."""
        (name,) = self._policies.parse(policy)
        return self.sources.model(name).sampler

    async def capacity(self) -> Capacity:
        """The capacity of this process."""
        processes = self.lean.settings
        return Capacity(
            self._settings.resolved_searches(), processes.resolved_workers(), processes.resolved_verifications()
        )

    async def trouble(self, policy: str) -> str:
        """The problems of models' servers, and of Lean."""
        pending = [each for each, opening in self._opening.items() if not opening.done()]
        waiting = [
            f"no answer yet from {each}" for each in pending if any(n.is_model for n in self._policies.parse(each))
        ]
        return "; ".join(filter(None, [self.lean.requests.problem or "", self.sources.trouble(), *waiting]))
