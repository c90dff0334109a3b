"""Lean as a reward, in the form of TRL's reward functions.

    reward = LeanReward(kind="proofs", where="http://localhost:8000")
    reward(completions=["\\n  decide"], theorem=["theorem t : 2 + 2 = 4"])    # [1.0]
    GRPOTrainer(model, reward_funcs=[reward], train_dataset=...)               # columns: prompt, theorem

Columns of the data set: `theorem` (a statement, `theorem NAME ... : ...` or the proposition alone); `header` and
`context`, the Lean text before it; for steps also `state`, `steps` (tactics before it) and `remaining` (tactics that
may follow). A reward of None means that Lean did not answer; it implies nothing about the completion.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from common.settings import LeanSettings
from node.rewards.asking import HERE, Unavailable, Where, home
from node.rewards.judging import Asker, Budget, Judged, RewardValues, Verdict
from node.rewards.reading import BadRow, Kind, Row, refusal, rows_of, script_of, template_for, text_of

__all__ = ["BadRow", "Judged", "LeanReward", "RewardValues", "Unavailable", "Verdict"]

FINISHERS = ("assumption", "rfl", "omega", "simp_all", "contradiction")
"""Tactics of a small search, available in most Lean projects."""

PROBE = "theorem t : True"

log = structlog.get_logger("rewards")


@dataclass(frozen=True)
class LeanReward:
    """A reward function, given by its settings. It opens nothing before the first call, so it can be pickled.

    It can be called from any thread, and in forked or spawned processes. All calls in a process share Lean workers,
    connections and cached results (`node.rewards.asking.close` ends them).
    """

    kind: Kind = "proofs"
    """`proofs`: whole proofs, verified or not. `steps`: one tactic at a proof state."""
    where: str = HERE
    """`here`: Lean workers of this process. http://HOST:PORT: a `proofmesh serve`. nats://HOST:PORT: a mesh."""
    run: str = "demo"
    """With a mesh: the name of its run."""
    api_key: str = field(default="", repr=False)
    """With a service: its key; empty: the environment variable LEAN_SERVER_API_KEY."""
    lean: LeanSettings = field(default_factory=LeanSettings)
    """With `here`: the Lean, and the header of theorems without one."""
    template: str = ""
    """The template that parses completions: a name of `proofmesh models list`, or a .toml file. Empty: guessed from the
    text of each completion."""
    seconds: float = 30.0
    """Most seconds of elaboration; a completion that takes longer gets the reward of a rejected one."""
    at_once: int = 0
    """Texts that are checked at once; 0: as many as workers here, 32 with a service, 64 with a mesh."""
    values: RewardValues = field(default_factory=RewardValues)
    finishers: tuple[str, ...] = FINISHERS
    """For steps: the remaining budget. On every remaining goal, the first of these tactics that succeeds is run. Empty:
    no budget."""
    depth: int = 1
    """For steps: how many times in a row the finishers are run."""
    patience: float = 120.0
    """Seconds of retries while a service or a mesh is busy or unreachable; after them the reward is None."""

    def __post_init__(self) -> None:
        if self.kind not in ("proofs", "steps"):
            raise ValueError(f"kind={self.kind!r}: write 'proofs' or 'steps'")
        self._where.check()

    @property
    def __name__(self) -> str:
        """The name of the reward in the logs of trainers."""
        return f"lean_{self.kind}"

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **dataset_columns: Any,
    ) -> list[float | None]:
        """A reward for each completion, in the same order; None if Lean did not answer.

        Raises BadRow if a column is missing or wrong.
        """
        judged = self.judge(completions, **dataset_columns)
        return self._paid(judged, log_extra, log_metric)

    async def score(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **dataset_columns: Any,
    ) -> list[float | None]:
        """The same for asynchronous code; with TRL: `reward_funcs=[reward.score]`. Raises BadRow."""
        work = self._prepared(completions, dataset_columns)
        judged = await asyncio.wrap_future(home().submit(self._judged(work)))
        return self._paid(judged, log_extra, log_metric)

    def judge(self, completions: Sequence[Any], **dataset_columns: Any) -> list[Judged]:
        """Verdicts with reasons, instead of numbers. Raises BadRow."""
        work = self._prepared(completions, dataset_columns)
        future = home().submit(self._judged(work))
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def check(self) -> None:
        """Tests the reward with a proof of True. Raises Unavailable if Lean does not answer, or does not verify it."""
        script = "trivial"
        home().submit(self._reach()).result()
        (judged,) = home().submit(self._judged([(_probe(self.kind), script, "")])).result()
        if judged.verdict not in (Verdict.VERIFIED, Verdict.CLOSES_THEOREM):
            raise Unavailable(
                judged.reason or f"the test `{PROBE} := by {script}` gives `{judged.verdict}`, not a verified proof"
            )

    async def _reach(self) -> None:
        """Raises Unavailable."""
        await (await home().desk(self._where)).reach()

    @property
    def _where(self) -> Where:
        return Where(self.where, self.run, self.api_key, self.lean, self.at_once, self.patience)

    def _prepared(self, completions: Sequence[Any], columns: dict[str, Any]) -> list[tuple[Row, str, str]]:
        """(row, script, why there is no script) of each completion. Raises BadRow."""
        rows = rows_of(self.kind, columns, len(completions))
        work = []
        for row, completion in zip(rows, completions, strict=True):
            text, chat = text_of(completion)
            script, problem = script_of(template_for(self.kind, self.template, text, chat=chat), row, text)
            work.append((row, script, problem or ("" if script.strip() else "it is empty")))
        return work

    async def _judged(self, work: Sequence[tuple[Row, str, str]]) -> list[Judged]:
        return await asyncio.gather(*(self._one(*each) for each in work))

    async def _one(self, row: Row, script: str, problem: str) -> Judged:
        if problem:
            return Judged(Verdict.NO_PROOF if self.kind == "proofs" else Verdict.ERROR, problem)
        if refused := refusal(self.kind, script):
            return Judged(Verdict.REJECTED if self.kind == "proofs" else Verdict.ERROR, refused)
        try:
            asker = Asker(await home().desk(self._where), self.seconds)
            if self.kind == "proofs":
                return await asker.proof(row, script)
            return await asker.tactic(row, script, Budget(self.finishers, self.depth))
        except Unavailable as error:
            return Judged(Verdict.UNKNOWN, str(error))
        except Exception as error:  # an unknown error is not the fault of the completion
            log.exception("a completion could not be judged")
            return Judged(Verdict.UNKNOWN, f"{type(error).__name__}: {error}")

    def _paid(
        self,
        judged: Sequence[Judged],
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> list[float | None]:
        if log_extra is not None:
            log_extra("verdict", [str(each.verdict) for each in judged])
            log_extra("reason", [each.reason for each in judged])
        counts = Counter(each.verdict for each in judged)
        if log_metric is not None and judged:
            for verdict, count in counts.items():
                log_metric(f"lean/{verdict.replace(' ', '_')}", count / len(judged))
        if counts[Verdict.UNKNOWN]:
            why = next(each.reason for each in judged if each.verdict is Verdict.UNKNOWN)
            log.warning("no verdict", completions=counts[Verdict.UNKNOWN], of=len(judged), reason=why)
        return [self.values.of(each.verdict) for each in judged]


def _probe(kind: Kind) -> Row:
    (row,) = rows_of(kind, {"theorem": [PROBE]}, 1)
    return row
