"""Plays the attempts of an evaluation in this process, with the prover's searches and this machine's Lean workers.

While the proof of a search is being verified, another search uses its slot, so that Lean workers and the network stay
busy. Proofs that are found within a few seconds of each other are verified in one batch.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from common.gathering import Gathering
from common.lean import ProofTree, Theorem
from common.protocol.messages import FailureKind, LeanVerifyReply
from common.sizing import read_machine, sizes
from node.bank.elaboration import elaboration_errors
from node.eval import cost
from node.eval.plan import LeanFacts, Plan
from node.eval.player import Slot, Slots, attempt_of, record_of
from node.eval.records import AttemptRecord, Standing, StatementRecord
from node.eval.weights import digests, label_of, without_servers
from node.lean.check.verify.verdicts import VerificationFailed
from node.lean.settings import LeanProcessSettings
from node.lean.text.script import proof_script
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.toolchain.library import library
from node.llm.settings import ModelSettings
from node.prover.agents.by_method import agent_of
from node.prover.methods.by_name import needs_messages
from node.prover.policies.guided import Guide
from node.prover.policies.retrieved import open_source
from node.prover.settings import ProverSettings
from node.proving.local_lean import LocalLean, local_lean
from node.proving.policies import OpenedPolicy, open_policy, parse
from node.proving.prover import ProvingFailed

TACTIC_SECONDS = 5.0
"""Time limit of one tactic, as in a prover."""

GATHER_SECONDS = 15.0
"""How long a proof waits for further proofs, so that they are verified in one batch: a batch takes one second of both
cores, whatever its size. If the process is killed meanwhile, the next run plays this attempt again."""


class LoneVenue:
    """`Venue` in this process."""

    mesh = ""
    sampling = None

    def __init__(
        self,
        toolchain: LeanToolchain,
        settings: LeanProcessSettings,
        policy: str,
        *,
        searches: int = 0,
        models: ModelSettings | None = None,
        premises: str = "",
        guide: Guide | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`searches`: concurrent searches, 0 for as many as a prover has. `models`: settings of language models.
        `premises`: folder of a premise index. `guide`: a progress model that is used with the policy. Raises
        BadPolicy."""
        self.toolchain = toolchain
        self.parts = parse(policy)
        self.policy = without_servers(policy)
        self.label = label_of(self.parts)
        self.weights = digests(self.parts, note)
        self._premises = open_source(premises)
        if self._premises is not None:
            self.weights["premises"] = self._premises.digest
        self._guide = guide
        if guide is not None:
            self.weights["progress"] = guide.words
            self.label += f", predicted steps as {guide.guidance.words}"
        self.lean = LeanFacts(
            version=toolchain.version,
            name=toolchain.name,
            library=library(toolchain.project),
            header=toolchain.default_header,
        )
        self._settings = settings
        self._models = models
        self.leaves = ProverSettings().leaves
        self.searches = searches or sizes(read_machine()).searches
        self._note = note

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Elaborates each statement once for each header and Lean version; the answers are cached across runs."""

        def begin(count: int) -> None:
            if count:
                self._note(f"elaborating {count} statements")

        return await elaboration_errors([each.theorem for each in statements], self.toolchain, begin=begin)

    @asynccontextmanager
    async def player(self, plan: Plan) -> AsyncIterator[LonePlayer]:
        """A failing network fails the attempt, even if the policy also has a list of tactics: the list without the
        network would be another policy. Raises BadPolicy, ProvingFailed."""
        threads = sizes(read_machine()).inference_threads
        opening = open_policy(
            self.parts,
            threads=threads,
            sampling=plan.sampling,
            models=self._models,
            strict=True,
            premises=self._premises,
            guide=self._guide,
            note=self._note,
        )
        async with local_lean(self._settings, self.toolchain) as lean, opening as policy:
            yield LonePlayer(plan, lean, policy, searches=self.searches)

    def lean_cpu(self) -> float | None:
        """CPU seconds of all child processes: these are the Lean processes."""
        return cost.children_cpu()


class LonePlayer:
    """`Player` in this process."""

    def __init__(self, plan: Plan, lean: LocalLean, policy: OpenedPolicy, *, searches: int) -> None:
        self._plan = plan
        self._lean = lean
        self._policy = policy
        self.slots = Slots(searches)
        self._gathering = Gathering(GATHER_SECONDS, self.slots.over)

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays one attempt. If Lean rejects a proof, the search discards it and continues."""
        verified: dict[str, object] = {}

        async def verify(proof: ProofTree) -> str:
            slot.leave()
            try:
                script = proof_script(proof)
            except ValueError as error:
                reply = LeanVerifyReply(accepted=False, reason=f"the proof cannot be written down: {error}")
            else:
                reply = await self._verify(statement.theorem, script)
                verified.update(script=script, axioms=reply.axioms)
            if not reply.accepted:
                await slot.come_back()
            return "" if reply.accepted else reply.reason or "refused"

        name = statement.name
        attempt = attempt_of(self._plan, statement, number, f"{name}.{number}")
        agent = agent_of(
            attempt,
            self._policy.policy_for(statement.theorem),
            self._policy.proofs,
            self._lean.environment(statement.theorem, TACTIC_SECONDS, messages=needs_messages(attempt.method)),
            prover_id="eval",
            leaves=self._plan.leaves,
            has_values=self._policy.network,
            parameters=self._policy.parameters,
            verify=verify,
        )
        try:
            result = await agent.play()
            slot.leave()
        except ProvingFailed as error:
            return AttemptRecord(
                name=name, number=number, standing=Standing.UNDECIDED, ended="error", reason=str(error)
            )
        return record_of(result, name, number, proof=verified if result.proof is not None else None)

    async def _verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Verifies a proof in fresh Lean processes. Raises ProvingFailed."""
        await self._gathering.wait()
        try:
            return await self._lean.verifier.verify(theorem.renamed(), script)
        except VerificationFailed as error:
            if error.kind is FailureKind.BAD_STATEMENT:
                return LeanVerifyReply(accepted=False, reason=str(error))
            raise ProvingFailed(f"the proof could not be verified: {error}") from error
