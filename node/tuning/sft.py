"""Supervised fine-tuning of a Hugging Face model, from the settings to the folder of the trained model.

outcome = run(SftSettings(model="hf:models/small-llama", out=Path("runs/first"), lora=LoraSettings(on=True)))
outcome["use"]  # 'hf:models/small-llama+runs/first/model'

Prompt and completion are tokenized separately, the prompt by the same code as at inference.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback, set_seed
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling, SFTTrainer

from common.seeds import split
from node.data.errors import InputError
from node.data.grammar import PAIRS
from node.data.reading import Data, read_all
from node.data.rows import Pair
from node.llm import templates
from node.llm.hub.loading import Loaded
from node.llm.hub.reading import Reader
from node.llm.prompts import raw_text
from node.llm.sampling import ChatMessage, ContextExceeded, Prompt, SamplerError
from node.llm.templates import Template, TemplateError
from node.training.journal import StageJournal
from node.tuning import carrying_out
from node.tuning.base_model import (
    Base,
    base_of,
    count_parameters,
    digest_of,
    loaded,
    save,
    shape_of,
    usable_address,
    write_fresh,
)
from node.tuning.carrying_out import (
    Clock,
    FixedOrder,
    Stop,
    Watch,
    carried_out,
    explained,
    journal_of,
    lengths_of,
    order,
    part_of,
    steps_of,
    written,
)
from node.tuning.examples import Example, Examples, proof_examples, step_examples
from node.tuning.run_folder import BASE, RunFolder
from node.tuning.settings import SftSettings

HELD_OUT = "held_out_loss"
"""Name of the held-out loss in the curves."""


def run(settings: SftSettings) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the contents of summary.json. A finished run is not
    repeated.

    Raises InputError, TrainingError (NotFinite, Interrupted).
    """
    folder = RunFolder(settings.out)
    base = base_of(f"{folder.path / BASE}@{settings.template}" if settings.from_scratch else settings.model)
    by_mode = chosen_templates(base, settings)
    folder.check({}, fresh=True)  # before the slow loading of the model
    if settings.place.device != "cpu" and torch.cuda.device_count() > 1:
        # transformers' Trainer would split the batch over all GPUs, which TRL does not support.
        raise InputError("several GPUs are visible, but training uses one: choose it with CUDA_VISIBLE_DEVICES=0")
    data = read_all(settings.data, settings.keep_out)
    if settings.from_scratch and (settings.fresh or not (folder.path / BASE).exists()):
        with written(folder):
            _write_base(folder.path / BASE, base, by_mode, data, settings)
    set_seed(settings.seed)
    model = loaded(base, settings.place, settings.lora)
    prepared = prepare(base, model, settings, data)
    steps = steps_of(settings.length, len(prepared.train.rows), settings.batch)
    identity = identity_of(base, settings, prepared, steps)
    return carried_out(
        folder,
        identity,
        lambda wants_end: _train(base, model, prepared, settings, folder, steps, wants_end),
        fresh=settings.fresh,
    )


def identity_of(base: Base, settings: SftSettings, prepared: Prepared, steps: int) -> dict[str, Any]:
    """All that determines the result: a run is resumed only if all of it is equal. Raises InputError."""
    return {
        "kind": "hf-sft",
        "model": _named(base, settings),
        "weights": digest_of(base),
        "templates": sorted(each.name for each in chosen_templates(base, settings).values()),
        "data": list(settings.data),
        "examples": f"{len(prepared.train.rows)} {prepared.train.digest()}",
        "lora": asdict(settings.lora) if settings.lora.on else None,
        "steps": steps,
        "minutes": settings.length.minutes,
        "batch": settings.batch,
        "micro_batch": settings.micro_batch or settings.batch,
        "optimizer": asdict(settings.optimizer),
        "dtype": settings.place.dtype,
        "seed": settings.seed,
    } | ({"shape": asdict(settings.shape)} if settings.from_scratch else {})


def _named(base: Base, settings: SftSettings) -> str:
    return "from scratch" if settings.from_scratch else str(base.address)


def _write_base(out: Path, base: Base, by_mode: Mapping[str, Template], data: Data, settings: SftSettings) -> None:
    """Writes the model that a training from scratch begins with; its tokenizer learns the training examples. Raises
    InputError, OSError."""
    if chats := [template.name for template in by_mode.values() if template.kind != "raw"]:
        raise InputError(f"--from-scratch: a fresh model reads no conversation (`{chats[0]}`); name a raw template")
    texts = [
        text
        for template in by_mode.values()
        for example in examples_of(template, data, settings)[0]
        for text in (raw_text(template, example.prompt), example.completion)
    ]
    write_fresh(out, texts, settings.shape, base.template, settings.seed)


def _train(
    base: Base, model: Loaded, prepared: Prepared, settings: SftSettings, folder: RunFolder, steps: int, wants_end: Stop
) -> dict[str, Any]:
    """Raises TrainingError."""
    # 1. From the beginning, or from the last checkpoint. The order of the examples follows from the seed alone, so that
    # a resumed run goes on in it.
    rows = prepared.train.rows
    part = part_of(folder, steps, settings.length.minutes)
    lengths = [len(row.ids) for row in rows]
    examples = order(lengths, settings.batch, steps, settings.seed)
    tokens = lengths_of(lengths, examples)
    with journal_of(folder, part, settings.keeping.tracker, settings) as journal:
        # 2. How the model does before the training; a resumed run has it in its journal.
        if part.checkpoint is None:
            _measure(model, prepared, journal, settings, 0)
        before = folder.value(HELD_OUT, 0)
        # 3. Training.
        part.clock.start()
        watch = SftWatch(folder, journal, part.clock, tokens, wants_end)
        made = trainer(
            model, rows, examples, arguments(folder, settings, part.until, model.device), settings, part.clock, watch
        )
        with explained(
            folder,
            not_finite="add --fresh and a smaller --rate, or --dtype float32",
            memory="use a smaller --micro-batch or --max-tokens, --recompute, or --lora",
        ):
            last = part.train(made, wants_end)
        # 4. Measured again, on the same held-out examples. The clock is read before, because this is no training.
        seconds = part.clock.spent
        _measure(model, prepared, journal, settings, last)
        trained, parameters = count_parameters(model.model)
        seen = int(tokens[:last].sum())
        # 5. The model, then the summary: a run that has one is finished.
        summary = {
            "use": usable_address(base, folder.model, is_adapter=settings.lora.on),
            "model": _named(base, settings),
            "parameters_trained": trained,
            "parameters": parameters,
            "examples": len(rows),
            "left_out": dict(prepared.left_out),
            "steps": last,
            "tokens": seen,
            "seconds": round(seconds, 1),
            "tokens_per_second": round(seen / max(seconds, 1e-9), 1),
            "held_out_examples": len(prepared.held_out.rows),
            "held_out_loss_before": before,
            "held_out_loss": folder.value(HELD_OUT, last),
        }
        save(base, model.model, folder.model, settings.place, card=card(base, settings, summary))
        folder.finish(summary)
    return summary


def _measure(model: Loaded, prepared: Prepared, journal: StageJournal, settings: SftSettings, step: int) -> None:
    """Writes the loss on the held-out examples."""
    if prepared.held_out.rows:
        batch = settings.micro_batch or settings.batch
        journal.write(step, {HELD_OUT: held_out_loss(model, prepared.held_out.rows, batch)})


# --- tokens -----------------------------------------------------------------------------------------------------------

IGNORED = -100
"""transformers' label of tokens that do not count in the loss."""

TOO_LONG = "longer than the model reads"

_QUESTION, _ANSWER = "question", "answer"
"""A conversation that shows which tokens follow an answer."""


@dataclass(frozen=True)
class Tokens:
    """A tokenized example."""

    ids: tuple[int, ...]
    prompt: int
    """Number of tokens of the prompt, which are not predicted."""
    weight: float
    theorem: str

    @property
    def labels(self) -> list[int]:
        return [IGNORED] * self.prompt + list(self.ids[self.prompt :])


@dataclass
class Encoded:
    """Tokenized examples, and the number of those that were left out by reason."""

    rows: list[Tokens] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)

    @property
    def predicted(self) -> int:
        return sum(len(row.ids) - row.prompt for row in self.rows)

    def digest(self) -> str:
        """A digest of tokens and weights in their order."""
        hasher = hashlib.blake2b(digest_size=16)
        for row in self.rows:
            hasher.update(f"{row.ids} {row.prompt} {row.weight}\n".encode())
        return hasher.hexdigest()


class Encoder:
    """Tokenizes the examples of one template."""

    def __init__(self, name: str, loaded: Loaded, template: Template, *, most: int = 0) -> None:
        """`name`: the model's name for messages. `most`: most tokens of an example; 0: the model's limit.

        Raises InputError if the template is a chat and the tokenizer has no chat template, or if there is no end token.
        """
        self._template = template
        self._tokenizer = loaded.tokenizer
        self._reader = Reader(name, loaded, template)
        self._most = most
        self._context = loaded.context
        self._name = name
        self.ending = self._ending(loaded)

    def encoded(self, examples: Iterable[Example]) -> Encoded:
        """Tokenizes examples. Those that are too long are left out, never truncated. Raises InputError if the chat
        template fails."""
        result = Encoded()
        for example in examples:
            row = self.one(example)
            if row is None:
                result.left_out[TOO_LONG] += 1
            else:
                result.rows.append(row)
        return result

    def one(self, example: Example) -> Tokens | None:
        """Tokenizes an example; returns None if it is too long. Raises InputError."""
        try:
            prompt = self._reader.ids(example.prompt)
            # At inference the model gets no longer prompt, and cannot write a longer completion.
            room = self._reader.room(len(prompt), self._template.decoding.max_tokens)
        except ContextExceeded:
            return None
        except SamplerError as error:
            raise InputError(str(error)) from error
        answer = (*self._text(example.completion), *self.ending)
        if len(answer) > room or (self._most and len(prompt) + len(answer) > self._most):
            return None
        return Tokens((*prompt, *answer), len(prompt), example.weight, example.theorem)

    def _text(self, text: str) -> Sequence[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _ending(self, loaded: Loaded) -> tuple[int, ...]:
        """The tokens that end an answer. With a chat template: the tokens after an answer up to the first stop token.
        Otherwise a special token at which the template stops, or the tokenizer's end token. Raises InputError."""
        if self._template.kind == "chat":
            behind = self._text(self._behind_an_answer())
            at = next((at for at, token in enumerate(behind) if token in loaded.ends), None)
            if at is not None:
                return tuple(behind[: at + 1])
        elif stops := self._reader.stop_tokens(self._template.output.stops):
            return (min(stops),)  # the template writes the conversation as text, without a chat template
        own: Any = self._tokenizer.eos_token_id
        if own is None and not loaded.ends:
            raise InputError(
                f"{self._name}: neither the model nor its tokenizer has an end token: add `eos_token_id` to config.json"
            )
        return (own if own is not None else min(loaded.ends),)

    def _behind_an_answer(self) -> str:
        """The text that a conversation has after an answer. Raises InputError."""
        messages = (ChatMessage("user", _QUESTION), ChatMessage("assistant", _ANSWER))
        if self._tokenizer.chat_template:
            try:
                text = self._tokenizer.apply_chat_template(
                    [{"role": each.role, "content": each.content} for each in messages], tokenize=False
                )
            except Exception as error:  # a chat template is a program that can raise any error
                raise InputError(
                    f"{self._name}: its chat template fails: {' '.join(str(error).split())[:300]}"
                ) from error
        elif self._template.chat_text is not None:
            text = raw_text(self._template, Prompt(messages=messages)).removesuffix(self._template.chat_text.answer)
        else:
            raise InputError(
                f"{self._name}: the template `{self._template.name}` is a conversation, and the tokenizer has no "
                "chat template: name a raw template (MODEL@TEMPLATE; `proofmesh models list` shows them), or save a "
                "tokenizer with a chat template beside the model"
            )
        return str(text).rpartition(_ANSWER)[2]


# --- data -------------------------------------------------------------------------------------------------------------

MOST_HELD_OUT = 2000
"""Most held-out examples: enough to measure the loss to three digits."""


@dataclass
class Prepared:
    """Tokenized examples, split into training and held-out data."""

    train: Encoded = field(default_factory=Encoded)
    held_out: Encoded = field(default_factory=Encoded)
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of all left-out examples, by reason."""


def chosen_templates(base: Base, settings: SftSettings) -> dict[str, Template]:
    """The templates of the trained modes, `tactic` and `whole-proof`, by mode. Raises InputError."""
    # 1. The model's own template, and at most one for the other mode: two for one mode could not be told apart when it
    # is asked.
    own = base.template
    templates_by_mode: dict[str, Template] = {own.mode: own}
    if settings.other_template:
        try:
            other = templates.load(settings.other_template)
        except TemplateError as error:
            raise InputError(f"--other-template: {error}") from error
        if other.mode == own.mode:
            raise InputError(
                f"--other-template {other.name}: is for {other.mode}, like the model's own `{own.name}`; name one "
                "for the other kind"
            )
        templates_by_mode[other.mode] = other
    # 2. The modes that are trained.
    by_kind: dict[str, list[str]] = {
        "auto": [own.mode],
        "steps": ["tactic"],
        "proofs": ["whole-proof"],
        "both": ["tactic", "whole-proof"],
    }
    modes = by_kind[settings.kind]
    for mode in modes:
        # No template is assumed: a model that learned another form than it is asked in proves nothing.
        if mode not in templates_by_mode:
            raise InputError(
                f"--kind {settings.kind}: the model's template `{own.name}` is for {own.mode}; name one for {mode} "
                "with --other-template (`proofmesh models list` shows them)"
            )
    return {mode: templates_by_mode[mode] for mode in modes}


def prepare(base: Base, loaded: Loaded, settings: SftSettings, data: Data) -> Prepared:
    """The tokenized examples of the data. Raises InputError if none remain, or the template does not fit the
    tokenizer."""
    by_mode = chosen_templates(base, settings)
    if loaded.encodes:
        raise InputError(f"hf:{base.address.model}: is an encoder-decoder model; name a causal language model")
    name = f"hf:{base.address.model}"
    encoders = {mode: Encoder(name, loaded, template, most=settings.max_tokens) for mode, template in by_mode.items()}
    prepared = Prepared()
    for mode, template in by_mode.items():
        train, held_out, left_out = examples_of(template, data, settings)
        prepared.left_out += left_out
        for part, examples in ((prepared.train, train), (prepared.held_out, held_out)):
            encoded = encoders[mode].encoded(examples)
            part.rows += encoded.rows
            prepared.left_out += encoded.left_out
    if not prepared.train.rows:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in prepared.left_out.items())
        what = " and ".join({"tactic": "steps", "whole-proof": "whole proofs"}[mode] for mode in by_mode)
        raise InputError(
            f"--data {' '.join(settings.data)}: there are no {what} to train on (left out: {reasons or 'none'})"
        )
    return prepared


def examples_of(
    template: Template, data: Data, settings: SftSettings
) -> tuple[list[Example], list[Example], Counter[str]]:
    """(training examples, held-out examples, number of left-out examples by reason) of a template. Raises
    InputError."""
    if template.mode == "tactic":
        found, more = step_examples(template, data.steps), step_examples(template, data.held_out_steps)
    else:
        found, more = proof_examples(template, data.proofs), Examples()
        found.examples += as_examples(template, data.pairs)
    train, held_out = split(found.examples, settings.held_out)
    before = data.steps_left_out if template.mode == "tactic" else data.proofs_left_out
    return train, [*more.examples, *held_out][:MOST_HELD_OUT], found.left_out + before


def as_examples(template: Template, pairs: Sequence[Pair]) -> list[Example]:
    """Examples of prepared texts. Raises InputError if the template is a chat."""
    if pairs and template.kind != "raw":
        raise InputError(
            f"--data {PAIRS}: texts as they are need a raw template, and `{template.name}` is a conversation: name one "
            "(MODEL@TEMPLATE)"
        )
    return [Example(Prompt(pair.prompt), pair.completion, pair.weight) for pair in pairs]


# --- TRL's trainer, with a loss weight for each example ---------------------------------------------------------------


def dataset(rows: Sequence[Tokens]) -> Dataset:
    """Columns `input_ids`, `labels` and `weight`. TRL does not tokenize rows that have tokens already. Its own
    tokenization would join prompt and completion first, which gives other tokens at their boundary than at
    inference."""
    return Dataset.from_dict(
        {
            "input_ids": [list(row.ids) for row in rows],
            "labels": [row.labels for row in rows],
            "weight": [row.weight for row in rows],
        }
    )


class Collator(DataCollatorForLanguageModeling):
    """TRL's collator, with an additional `weight`: float32 of shape (batch,)."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        weights = torch.tensor([example.get("weight", 1.0) for example in examples], dtype=torch.float32)
        inputs_and_labels: dict[str, Any] = super().torch_call(examples)
        return {**inputs_and_labels, "weight": weights}


class WeightedTrainer(FixedOrder, SFTTrainer):
    """TRL's trainer. The loss of a step is the sum of weight * -log p(token) over the tokens of its completions,
    divided by the number of these tokens."""

    def __init__(self, examples: np.ndarray, **arguments: Any) -> None:
        """`examples`: numbers of the examples, in the order of the training."""
        self.order = examples.ravel().tolist()
        super().__init__(**arguments)
        # The Trainer must divide by the tokens of the whole step, even if the model's forward pass does not support it.
        self.model_accepts_loss_kwargs = True

    def compute_loss(self, model: Any, inputs: dict[str, Any], *others: Any, **more: Any) -> Any:
        """The weighted loss. Raises NotFinite before the step changes any weight."""
        weight = inputs.pop("weight")[:, None]

        def weighted(**arguments: Any) -> Any:
            outputs = model(**arguments)
            outputs.log_probs = outputs.log_probs * weight
            return outputs

        return super().compute_loss(weighted, inputs, *others, **more)


class SftWatch(Watch):
    """Writes the curves of a supervised fine-tuning."""

    def __init__(self, folder: RunFolder, journal: StageJournal, clock: Clock, tokens: np.ndarray, stop: Stop) -> None:
        """`tokens`: number of tokens in each step, including prompts."""
        super().__init__(folder, journal, clock, stop)
        self._seen = np.concatenate([[0], np.cumsum(tokens)])
        self._mark = (0, 0.0)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._mark = (state.global_step, self._clock.spent)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not logs or "loss" not in logs:
            return
        step, now = state.global_step, self._clock.spent
        (before, then), self._mark = self._mark, (step, now)
        speed = (self._seen[step] - self._seen[before]) / max(now - then, 1e-9)
        self._journal.at(step, f"loss {logs['loss']:.3f}")
        values = {
            "loss": float(logs["loss"]),
            "grad_norm": float(logs.get("grad_norm") or 0.0),
            "rate": float(logs.get("learning_rate") or 0.0),
            "accuracy": float(logs.get("mean_token_accuracy") or 0.0),
            "entropy": float(logs.get("entropy") or 0.0),
            "tokens": float(self._seen[step]),
            "tokens_per_second": float(speed),
            "seconds": now,
        }
        self._journal.write(step, values)


def arguments(folder: RunFolder, settings: SftSettings, steps: int, device: torch.device) -> SFTConfig:
    """For TRL."""
    micro = settings.micro_batch or settings.batch
    on_gpu = device.type == "cuda"
    return SFTConfig(
        **carrying_out.arguments(folder, settings, steps, settings.seed, on_gpu=on_gpu),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=settings.batch // micro,
        bf16=carrying_out.half_precision(settings, on_gpu=on_gpu),
        max_length=None,  # no truncation: examples that are too long were left out
        packing=False,
        shuffle_dataset=False,
        remove_unused_columns=False,  # TRL would remove `weight`
        average_tokens_across_devices=False,
    )


def trainer(
    loaded: Loaded,
    rows: Sequence[Tokens],
    examples: np.ndarray,
    args: SFTConfig,
    settings: SftSettings,
    clock: Clock,
    watch: SftWatch,
) -> WeightedTrainer:
    """The trainer, ready to train on `examples` (shape (steps, batch)) of `rows`."""
    made = WeightedTrainer(
        examples,
        model=loaded.model,
        args=args,
        data_collator=Collator(loaded.pad),
        train_dataset=dataset(rows),
        processing_class=loaded.tokenizer,
        callbacks=[watch],
        optimizers=carrying_out.optimizers(loaded.model, settings.optimizer, clock),
    )
    made.remove_callback(PrinterCallback)
    return made


def held_out_loss(loaded: Loaded, rows: Sequence[Tokens], batch: int) -> float:
    """Mean of -log p over the tokens of the completions, in nats, with equal weight for all tokens."""
    model, total, count = loaded.model, 0.0, 0
    model.eval()
    order = sorted(range(len(rows)), key=lambda place: len(rows[place].ids))
    collator = DataCollatorForLanguageModeling(loaded.pad)
    for start in range(0, len(order), batch):
        part = [rows[place] for place in order[start : start + batch]]
        inputs = collator([{"input_ids": list(row.ids), "labels": row.labels} for row in part])
        inputs = {name: each.to(loaded.device) for name, each in inputs.items()}
        labels = inputs.pop("labels")[:, 1:]
        with torch.no_grad():
            logits = model(**inputs, use_cache=False).logits[:, :-1].float()
        counted = labels != -100
        total += torch.nn.functional.cross_entropy(logits[counted], labels[counted], reduction="sum").item()
        count += int(counted.sum())
    return total / max(count, 1)


# --- README.md of a fine-tuned model ----------------------------------------------------------------------------------


def _origin(base: Base, settings: SftSettings) -> str:
    return "from scratch" if settings.from_scratch else f"from `{base.address}`"


def card(base: Base, settings: SftSettings, summary: Mapping[str, Any]) -> str:
    """The model card: base model, training data, losses, and how to use the model."""
    kind = f"LoRA adapter (rank {settings.lora.rank})" if settings.lora.on else "model"
    lines = [
        f"A {kind} made {_origin(base, settings)} by supervised fine-tuning (`proofmesh train hf-sft`).",
        "",
        f"- Prompts and answers: the template `{base.template.name}`"
        + (f" and `{settings.other_template}`" if settings.other_template else ""),
        f"- Data: {', '.join(settings.data)}: {summary['examples']:,} examples",
        f"- {summary['steps']:,} steps of {settings.batch}, {summary['tokens']:,} tokens, seed {settings.seed}",
        f"- Held-out loss, nats a token: {summary['held_out_loss_before']} before, {summary['held_out_loss']} after",
        "",
        f"Use: `proofmesh eval --bench pocket:test --policy {summary['use']}`",
        "",
    ]
    return "\n".join(lines)


# --- dry run ----------------------------------------------------------------------------------------------------------

OPTIMIZER_BYTES = 12
"""Bytes for each trained weight: gradient and AdamW's two moments, in float32."""


def dry_run(settings: SftSettings) -> list[str]:
    """The lines of the report. Raises InputError."""
    with tempfile.TemporaryDirectory() as scratch:
        # 1. The same preparation as in `run`, but with the model's shape only: its weights are neither read nor made.
        base = base_of(f"{scratch}/{BASE}@{settings.template}" if settings.from_scratch else settings.model)
        templates = chosen_templates(base, settings)
        data = read_all(settings.data, settings.keep_out)
        if settings.from_scratch:
            _write_base(Path(scratch, BASE), base, templates, data, settings)
        shape = shape_of(base, settings.place, settings.lora)
        prepared = prepare(base, shape, settings, data)
    # 2. Tokens of the steps. 10,000 of them are enough to tell the rest.
    rows = prepared.train.rows
    steps = steps_of(settings.length, len(rows), settings.batch)
    trained, parameters = count_parameters(shape.model)
    seen = order([len(row.ids) for row in rows], settings.batch, min(steps, 10_000), settings.seed)
    tokens = sum(len(rows[place].ids) for place in seen.ravel()) * steps // len(seen)
    # 3. Memory. "auto" trains all weights in float32, and leaves those below an adapter at 16 bits.
    weight_bytes = {"float32": 4, "auto": 2 if settings.lora.on else 4}.get(settings.place.dtype, 2)
    memory = (parameters * weight_bytes + trained * OPTIMIZER_BYTES) / 2**30
    # 4. The report.
    lengths = sorted(len(row.ids) for row in rows)
    held_out = f"; {len(prepared.held_out.rows):,} held out" if prepared.held_out.rows else ""
    return [
        f"model        {_named(base, settings)}, template {' and '.join(each.name for each in templates.values())}",
        f"parameters   {trained:,} trained of {parameters:,}{' (LoRA)' if settings.lora.on else ''}",
        f"examples     {len(rows):,}{held_out}",
        *(f"left out     {count:,} {reason}" for reason, count in prepared.left_out.items()),
        f"tokens       {prepared.train.tokens:,} in the examples, {prepared.train.predicted:,} of them predicted; "
        f"{lengths[len(lengths) // 2]} in the middle one, {lengths[-1]} in the longest",
        f"training     {steps:,} steps of {settings.batch}: {steps * settings.batch / len(rows):.2f} epochs, "
        f"{tokens:,} tokens",
        f"memory       {memory:.2f} GiB for weights, gradients and optimizer; activations come on top",
    ]
