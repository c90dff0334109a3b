"""TRL's GRPOTrainer, with prompts tokenized and completions sampled as at inference, by transformers' `generate`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import GenerationConfig, PrinterCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from node.data.errors import TrainingError
from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Reader
from node.llm.templates import Template
from node.tuning import carrying_out
from node.tuning.carrying_out import Clock, FixedOrder, Watch
from node.tuning.grpo_data import Tasks, as_prompt
from node.tuning.run_folder import RunFolder
from node.tuning.settings import GrpoSettings

CURVES = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "learning_rate": "rate",
    "reward": "reward",
    "reward_std": "reward_std",
    "frac_reward_zero_std": "groups_alike",
    "kl": "kl",
    "entropy": "entropy",
    "completions/mean_length": "completion_tokens",
    "completions/clipped_ratio": "cut",
}
"""Figures of TRL, with their names in metrics.jsonl. `groups_alike`: share of prompts whose completions all have the
same reward; these give no gradient."""

LEAN = "lean/"
"""Prefix of the shares of verdicts."""


class RewardLost(TrainingError):
    """Several steps had no reward because Lean did not answer. Exit code 1."""


class DrawingTrainer(FixedOrder, GRPOTrainer):
    """TRL's trainer with the prompts and the sampling of inference."""

    def __init__(self, drawing: Drawing, order: list[int], lost_steps: int, **arguments: Any) -> None:
        """`order`: rows of the data set in the order of the steps (`order_of`); a resumed run has the same order.
        `lost_steps`: consecutive steps without any reward after which RewardLost is raised."""
        self.order = order
        self._drawing = drawing
        self._lost_steps = lost_steps
        self._lost = 0
        self.why_lost = ""
        super().__init__(**arguments)

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        return [list(self._drawing.reader.ids(as_prompt(each))) for each in prompts], None, {}

    def _generate_single_turn(
        self, prompt_ids: Sequence[Any], *others: Any, **more: Any
    ) -> tuple[list[list[int]], None]:
        model = self.accelerator.unwrap_model(self.model_wrapped)
        with drawing_mode(model):
            return self._drawing.draw(model, prompt_ids), None

    def _calculate_rewards(self, *arguments: Any) -> torch.Tensor:
        """Raises RewardLost."""
        rewards: torch.Tensor = super()._calculate_rewards(*arguments)
        if torch.isnan(rewards).all():
            self._lost += 1
            reasons = [each for each in self._pending_extra_logs.get("reason", []) if each]
            self.why_lost = f": {reasons[-1]}" if reasons else ""
        else:
            self._lost = 0
        if self._lost >= self._lost_steps:
            raise RewardLost(f"{self._lost} consecutive steps had no reward at all{self.why_lost}")
        return rewards


class GrpoWatch(Watch):
    """Writes the curves of GRPO."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not logs or "loss" not in logs:
            return
        values = {"seconds": self._clock.spent}
        for name, value in logs.items():
            shown = CURVES.get(name) or (name if name.startswith(LEAN) else "")
            if shown and isinstance(value, int | float) and math.isfinite(value):
                values[shown] = float(value)
        reward = f"reward {values['reward']:.3f}" if "reward" in values else "no reward"
        self._journal.at(state.global_step, reward)
        self._journal.write(state.global_step, values)


def arguments(folder: RunFolder, settings: GrpoSettings, steps: int, most: int, device: torch.device) -> GRPOConfig:
    """The arguments for TRL. `most`: most tokens of a completion."""
    total = settings.prompts * settings.generations
    micro = settings.micro_batch or total
    on_gpu = device.type == "cuda"
    return GRPOConfig(
        **carrying_out.arguments(folder, settings, steps, settings.seed, on_gpu=on_gpu),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=total // micro,
        num_generations=settings.generations,
        max_completion_length=most,
        temperature=settings.temperature,
        beta=settings.beta,
        bf16=carrying_out.half_precision(settings, on_gpu=on_gpu),
    )


def order_of(rows: int, settings: GrpoSettings, steps: int) -> list[int]:
    """Rows of all steps. Each prompt of a step is repeated for each of its completions, and the whole step is repeated
    for each part in which the gradient is computed. Every row is used once before any row is used again."""
    random = np.random.default_rng(settings.seed)
    epochs = math.ceil(steps * settings.prompts / rows)
    prompts = np.concatenate([random.permutation(rows) for _ in range(epochs)])[: steps * settings.prompts]
    parts = settings.prompts * settings.generations // settings.micro_batch if settings.micro_batch else 1
    groups = np.repeat(prompts.reshape(steps, settings.prompts), settings.generations, axis=1)
    order: list[int] = np.repeat(groups[:, None, :], parts, axis=1).ravel().tolist()
    return order


def trainer(
    drawing: Drawing,
    made: Tasks,
    args: GRPOConfig,
    settings: GrpoSettings,
    reward: Callable[..., Any],
    clock: Clock,
    watch: GrpoWatch,
) -> DrawingTrainer:
    """The trainer, ready to train."""
    loaded = drawing.loaded
    loaded.tokenizer.clean_up_tokenization_spaces = False  # a reward needs the text exactly as the model wrote it
    rows = made.rows * math.ceil(settings.prompts / len(made.rows))  # a step needs at least `prompts` rows
    ready = DrawingTrainer(
        drawing,
        order_of(len(rows), settings, args.max_steps),
        settings.lost_steps,
        model=loaded.model,
        reward_funcs=[reward],
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=loaded.tokenizer,
        callbacks=[watch],
        optimizers=carrying_out.optimizers(loaded.model, settings.optimizer, clock),
    )
    ready.remove_callback(PrinterCallback)
    return ready


# --- drawing completions ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawing:
    """How completions are sampled."""

    loaded: Loaded
    reader: Reader
    stops: tuple[str, ...]
    """Stop texts of a completion."""
    ends: frozenset[int]
    """End tokens of a completion."""
    temperature: float
    most: int
    """Tokens."""

    @classmethod
    def of(cls, name: str, loaded: Loaded, template: Template, temperature: float, most: int) -> Drawing:
        """Sampling with the stop texts and end tokens of the template."""
        reader = Reader(name, loaded, template)
        stops = template.output.stops
        return cls(loaded, reader, stops, loaded.ends | reader.stop_tokens(stops), temperature, most)

    def draw(self, model: Any, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Samples one completion for each prompt from torch's random generator. A completion includes its end
        tokens."""
        device, width = self.loaded.device, max(map(len, prompts))
        ids = torch.tensor([[self.loaded.pad] * (width - len(each)) + list(each) for each in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts], device=device)
        config = GenerationConfig(
            max_new_tokens=self.most,
            do_sample=True,
            temperature=self.temperature,
            top_k=0,
            top_p=1.0,
            pad_token_id=self.loaded.pad,
            eos_token_id=sorted(self.ends) or None,
            stop_strings=list(self.stops) or None,
            disable_compile=True,
        )
        with torch.no_grad():
            sequences = model.generate(
                input_ids=ids, attention_mask=mask, generation_config=config, tokenizer=self.loaded.tokenizer
            )
        return [self._ended(row) for row in sequences[:, width:].tolist()]

    def text(self, completion: Sequence[int]) -> str:
        """The text of a completion as the parser of answers gets it."""
        return self.reader.decode(list(completion))

    def _ended(self, row: list[int]) -> list[int]:
        """A row without the padding after its end."""
        for place, token in enumerate(row):
            if token in self.ends:
                return row[: place + 1]
        end = len(row)
        while end > 1 and row[end - 1] == self.loaded.pad:
            end -= 1
        return row[:end]


@contextmanager
def drawing_mode(model: Any) -> Any:
    """A context without dropout and with the key-value cache."""
    training, cache = model.training, model.config.use_cache
    model.eval()
    model.config.use_cache = True
    try:
        yield
    finally:
        model.train(training)
        model.config.use_cache = cache


def drawn(
    drawing: Drawing, model: Any, prompts: Sequence[Sequence[int]], samples: int, seed: int, batch: int
) -> list[list[str]]:
    """Texts of `samples` completions for each prompt. Leaves the state of torch's random generator unchanged."""
    asked = [prompt for prompt in prompts for _ in range(samples)]
    texts: list[str] = []
    with torch.random.fork_rng(), drawing_mode(model):
        torch.manual_seed(seed)
        for start in range(0, len(asked), batch):
            texts += map(drawing.text, drawing.draw(model, asked[start : start + batch]))
    return [texts[start : start + samples] for start in range(0, len(texts), samples)]
