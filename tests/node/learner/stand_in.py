"""A trainer that learns nothing: it counts steps and writes small files, for tests of what is around a trainer.

The real one is tested in `test_trainer_group` and `test_learner`.
"""

from collections.abc import Sequence
from pathlib import Path

from common.files import file_digest
from node.learner.replay.replay import Ref
from node.learner.settings import TrainerSettings
from node.learner.trainer.group import ResilientTrainer


class StandInTrainer(ResilientTrainer):
    """Steps at once. `batches` holds what it was given; `lose` steps fail, as when the group was started again."""

    def __init__(self, folder: Path, weights_bytes: int = 1000) -> None:
        super().__init__(TrainerSettings(), folder / "checkpoints", folder / "logs", keep=1, log=None)
        self.batches: list[tuple[list[Ref], float]] = []
        self.saved: list[int] = []
        self.replaced: list[int] = []
        self.lose = 0
        self.back_to: int | None = None
        """The step to which writing weights goes back, as when the group fails meanwhile."""
        self.log_probability = -1.0
        """Of every tactic, under the weights of now."""
        self.on_step: float | None = None
        """What a step makes of it."""
        self.measured: list[list[Ref]] = []
        self.losses: list[float] = []
        """What the next measurements tell."""
        self.restored: list[Path] = []
        self.weights_bytes = weights_bytes

    async def start(self) -> None:
        return None

    async def step(self, refs: Sequence[Ref], factor: float = 1.0, *, average: bool = False) -> dict[str, float] | None:
        self.batches.append((list(refs), factor))
        if self.lose:
            self.lose -= 1
            return None
        self.group.step_number += 1
        self.log_probability = self.on_step if self.on_step is not None else self.log_probability
        return {"loss": 1.0 / self.group.step_number, "policy_loss": 0.5, "tokens": 7.0}

    async def evaluate(self, refs: Sequence[Ref]) -> dict[str, float]:
        return {"loss": self.losses.pop(0), "value_loss": 0.0}

    async def log_probabilities(self, refs: Sequence[Ref]) -> dict[Ref, float]:
        self.measured.append(list(refs))
        return dict.fromkeys(refs, self.log_probability)

    async def restore(self, path: Path) -> None:
        self.restored.append(path)

    async def save(self, *, replace: bool = False) -> Path:
        (self.replaced if replace else self.saved).append(self.step_number)
        return self.root

    async def write_weights(self, path: Path, version: int) -> str:
        self.group.step_number = self.step_number if self.back_to is None else self.back_to
        path.write_bytes(bytes([version]) * self.weights_bytes)
        return file_digest(path)
