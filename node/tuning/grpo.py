"""GRPO training of a Hugging Face model, from the settings to the folder of the trained model.

outcome = run(GrpoSettings(model="hf:models/small-llama", out=Path("runs/first"), length=LengthSettings(steps=100)))
outcome["use"]  # 'hf:runs/first/model'
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import msgspec
from transformers import set_seed

from node.bank.bank import BankError
from node.bank.benchmarks import load_benchmark
from node.data.errors import InputError
from node.llm.hub.loading import Loaded
from node.rewards.asking import close
from node.rewards.judging import Verdict
from node.training.journal import StageJournal
from node.tuning.base_model import Base, base_of, count_parameters, digest_of, loaded, save, usable_address
from node.tuning.carrying_out import carried_out, explained, finished, journal_of, kept, part_of, steps_of
from node.tuning.grpo_data import Task, Tasks, chosen, kind_of, lean_reward, reached, read, tasks
from node.tuning.grpo_trainer import Drawing, GrpoWatch, RewardLost, arguments, drawn, trainer
from node.tuning.run_folder import RunFolder
from node.tuning.settings import GrpoSettings

PASS_1 = "pass_at_1"
EVALUATION_BATCH = 64
"""Completions that are sampled in one batch."""


def run(settings: GrpoSettings) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the contents of summary.json. A finished run is not
    repeated.

    Raises InputError, TrainingError (NotFinite, RewardLost, Interrupted).
    """
    # 1. What can be refused without the model's weights.
    base = base_of(settings.model)
    kind = kind_of(base.template, settings.kind)
    if settings.beta and base.address.adapter and not settings.lora.on:
        raise InputError(
            "--beta: needs the model before the training, which MODEL+ADAPTER has only with --lora: add --lora"
        )
    folder = RunFolder(settings.out)
    folder.check({}, fresh=True)  # before the slow loading of the model
    # 2. The statements, with prompts in the model's own template.
    train_tasks, left_out = read(settings.data, settings.keep_out, kind)
    set_seed(settings.seed)
    model = loaded(base, settings.place, settings.lora)
    train_rows = tasks(str(base.address), model, base.template, train_tasks, settings.max_tokens)
    train_rows.left_out += left_out
    if not train_rows.rows:
        reasons = "; ".join(f"{count:,} {why}" for why, count in train_rows.left_out.items()) or "they are empty"
        raise InputError(f"--data {' '.join(settings.data)}: there is nothing to train on ({reasons})")
    steps = steps_of(settings.length, len(train_rows.rows), settings.prompts)

    # 3. A folder that was finished with the same settings is the result. With other settings it is an error.
    identity = _identity(base, settings, train_rows, steps)
    if (summary := finished(folder, identity, fresh=settings.fresh)) is not None:
        return summary
    # 4. The reward is checked against a row before the training begins: a user's function fails now, not after the
    # first batch.
    reward = chosen(settings, kind, base.template.name, train_rows.rows[0])
    try:
        return carried_out(
            folder,
            identity,
            lambda wants_end: _train(base, model, train_rows, kind, reward, settings, folder, steps, wants_end),
            fresh=settings.fresh,
        )
    finally:
        close()


def _identity(base: Base, settings: GrpoSettings, train_rows: Tasks, steps: int) -> dict[str, Any]:
    """All that determines the result: a run is resumed only if all of it is equal. Raises InputError."""
    rows = hashlib.blake2b(msgspec.json.encode(train_rows.rows), digest_size=16).hexdigest()
    return {
        "kind": "grpo",
        "model": str(base.address),
        "weights": digest_of(base),
        "template": base.template.name,
        "reward": settings.reward,
        "data": list(settings.data),
        "rows": f"{len(train_rows.rows)} {rows}",
        "lora": asdict(settings.lora) if settings.lora.on else None,
        "steps": steps,
        "minutes": settings.length.minutes,
        "prompts": settings.prompts,
        "generations": settings.generations,
        "micro_batch": settings.micro_batch,
        "temperature": settings.temperature,
        "max_tokens": train_rows.room,
        "beta": settings.beta,
        "optimizer": asdict(settings.optimizer),
        "dtype": settings.place.dtype,
        "seed": settings.seed,
    }


def _train(
    base: Base,
    model: Loaded,
    train_rows: Tasks,
    kind: str,
    reward: Callable[..., Any],
    settings: GrpoSettings,
    folder: RunFolder,
    steps: int,
    wants_end: Callable[[], bool],
) -> dict[str, Any]:
    """Raises TrainingError."""
    # 1. From the beginning, or from the last checkpoint. How the base model does is measured only at the beginning.
    part = part_of(folder, steps, settings.length.minutes)
    drawing = Drawing.of(str(base.address), model, base.template, settings.temperature, train_rows.room)
    with journal_of(folder, part, settings.keeping.tracker, settings) as journal:
        if part.checkpoint is None:
            _evaluate(base, drawing, kind, settings, journal, 0)
        # 2. Training. Measurements are not a part of its time.
        part.clock.start()
        ready = trainer(
            drawing,
            train_rows,
            arguments(folder, settings, part.until, train_rows.room, model.device),
            settings,
            reward,
            part.clock,
            GrpoWatch(folder, journal, part.clock, wants_end),
        )
        with _explained(folder):
            last = part.train(ready, wants_end)
        # 3. Measured again, on the same statements.
        seconds = part.clock.spent
        _evaluate(base, drawing, kind, settings, journal, last)
        trained, parameters = count_parameters(model.model)
        # 4. The summary. The first and the last fifth of the steps: single rewards jump too much to be compared.
        rewards = folder.curve("reward")
        summary = {
            "use": usable_address(base, folder.model, is_adapter=settings.lora.on),
            "model": str(base.address),
            "kind": kind,
            "reward": settings.reward,
            "parameters_trained": trained,
            "parameters": parameters,
            "rows": len(train_rows.rows),
            "left_out": dict(train_rows.left_out),
            "steps": last,
            "completions": last * settings.prompts * settings.generations,
            "seconds": round(seconds, 1),
            "reward_first": _mean(rewards[: max(1, len(rewards) // 5)]),
            "reward_last": _mean(rewards[-max(1, len(rewards) // 5) :]),
            "reward_curve": [[step, round(value, 4)] for step, value in rewards],
            "evaluation": {**asdict(settings.evaluation)} if settings.evaluation.on else None,
            f"{PASS_1}_before": folder.value(PASS_1, 0),
            PASS_1: folder.value(PASS_1, last),
        }
        # 5. The summary is written after the model: a run that has one is finished.
        save(base, model.model, folder.model, settings.place, card=_card(base, settings, summary))
        folder.finish(summary)
    return summary


def _evaluate(
    base: Base, drawing: Drawing, kind: str, settings: GrpoSettings, journal: StageJournal, step: int
) -> None:
    """Writes pass@1 on held-out statements: the share of completions that Lean verifies, or whose tactic alone proves
    the theorem. Raises InputError."""
    evaluation = settings.evaluation
    if not evaluation.on:
        return
    try:
        # 1. The statements: always the same ones, whatever the seed, so that runs can be compared.
        theorems = [each.theorem for each in load_benchmark(evaluation.on).statements]
    except BankError as error:
        raise InputError(f"--evaluate: {error}") from error
    random.Random(0).shuffle(theorems)
    chosen_ones = [Task(each, f"⊢ {each.proposition}" if kind == "steps" else "") for each in theorems]
    eval_rows = tasks(
        str(base.address), drawing.loaded, base.template, chosen_ones[: evaluation.statements], drawing.most
    )
    model = drawing.loaded.model
    # 2. Answers of the model as it is now, at the temperature of the training.
    texts = drawn(drawing, model, eval_rows.ids, evaluation.samples, settings.seed, EVALUATION_BATCH)
    # 3. Lean's verdicts, also where the training has another reward. An unknown verdict says nothing about the model,
    # so it does not count.
    judge = reached(lean_reward(settings, kind, base.template.name))
    solved, right, judged = 0, 0, 0
    for row, answers in zip(eval_rows.rows, texts, strict=True):
        count = len(answers)
        columns = {name: [row[name]] * count for name in ("theorem", "header")}
        verdicts = [each.verdict for each in judge.judge(answers, **columns)]
        good = sum(each in (Verdict.VERIFIED, Verdict.CLOSES_THEOREM) for each in verdicts)
        solved, right = solved + bool(good), right + good
        judged += sum(each is not Verdict.UNKNOWN for each in verdicts)
    # 4. pass@1 is the share of answers, pass@k the share of statements with an answer that is right.
    values = {PASS_1: right / max(judged, 1), f"pass_at_{evaluation.samples}": solved / max(len(eval_rows.rows), 1)}
    journal.write(step, values)
    journal.say(f"step {step:,}: " + ", ".join(f"{name} {value:.4f}" for name, value in values.items()))


def _mean(points: list[tuple[int, float]]) -> float | None:
    return round(sum(value for _, value in points) / len(points), 4) if points else None


def rewards_of(summary: dict[str, Any]) -> str:
    """The mean rewards of a training in words."""
    if summary["reward_first"] is None:
        return "no mean reward: fewer steps than --log-every"
    return f"mean reward {summary['reward_first']} in the first fifth, {summary['reward_last']} in the last"


def _card(base: Base, settings: GrpoSettings, summary: dict[str, Any]) -> str:
    """README.md of the trained model."""
    trained = f"LoRA adapter (rank {settings.lora.rank})" if settings.lora.on else "model"
    lines = [
        f"A {trained} made from `{base.address}` by GRPO (`proofmesh train grpo`).",
        "",
        f"- Prompts: the template `{base.template.name}`; reward: `{settings.reward}` ({summary['kind']})",
        f"- {summary['steps']:,} steps of {settings.prompts} prompts x {settings.generations} completions, seed "
        f"{settings.seed}",
        f"- {rewards_of(summary).capitalize()}",
        "",
        f"Use: `proofmesh eval --bench pocket:test --policy {summary['use']}`",
        "",
    ]
    return "\n".join(lines)


@contextmanager
def _explained(folder: RunFolder) -> Iterator[None]:
    """Turns errors of the training into messages that say what to do. Raises TrainingError."""
    memory = "use a smaller --micro-batch or --max-tokens, --recompute, or --lora"
    with explained(folder, not_finite="add --fresh and a smaller --rate", memory=memory):
        try:
            yield
        except RewardLost as error:
            raise RewardLost(f"{error}; {kept(folder)}: the same command resumes it") from error
        except InputError as error:
            raise InputError(f"{error}; {kept(folder)}") from error
