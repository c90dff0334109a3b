"""Trains a retriever with SentenceTransformerTrainer: in-batch and hard negatives, checkpoints, resuming.

summary = run(RetrieverSettings(data=[Path("traced/leandojo")], from_scratch=True, out=Path("runs/retriever")))
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import datasets
import msgspec
import torch
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import (
    CachedMultipleNegativesRankingLoss,
    MultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.training_args import BatchSamplers
from transformers import PrinterCallback, set_seed

from common.curves import About, write_about
from common.files import write_whole
from node.retrieval.corpus import Corpus, RetrievalError, query_text, read_corpus
from node.retrieval.encoder import fresh_encoder, load_encoder, save_encoder
from node.retrieval.queries import Example, Queries, Query, examples, read_queries
from node.retrieval.ranking import evaluate_model
from node.retrieval.train_command import RATES, RetrieverSettings
from node.tuning.carrying_out import FiniteSteps, Stop, Watch, carried_out, explained, journal_of, part_of
from node.tuning.run_folder import RunFolder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EVALUATION = "evaluation.json"
"""File with the measures on held-out theorems before and after the training."""

MOST_EVALUATED = 2000
"""States of held-out theorems that are measured; `proofmesh premises eval` measures all."""

REPORTED: tuple[str, ...] = ("loss", "grad_norm", "learning_rate")
"""Figures of a step in metrics.jsonl."""

VERSION_OF_EXAMPLES = "ceb2f9eb"
"""Changes when a corpus and its theorems give other examples (`premise_text`, `query_text`, `examples`), so that no
training goes on with them. It once was a digest of that code."""

_FREE = ("out", "force", "data", "corpus", "save_every", "log_every", "tracker", "device")
"""Settings that may change when a training is resumed: the digests of the data are compared instead of its place."""


def run(settings: RetrieverSettings) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the contents of summary.json. Does not repeat a finished
    run.

    Raises RetrievalError, InputError, TrainingError (NotFinite, Interrupted).
    """
    folder = RunFolder(settings.out)
    folder.check({}, fresh=True)  # before the slow reading of the data
    corpus = read_corpus(settings.corpus or _corpus_folder(settings.data[0]))
    queries = read_queries(settings.data, corpus, held_out=settings.held_out)
    if not queries.train:
        raise RetrievalError(f"--data: no state to train on: {queries.counts}")
    return carried_out(
        folder,
        _identity(settings, corpus, queries),
        lambda wants_end: _train(settings, corpus, queries, folder, wants_end),
        fresh=settings.force,
    )


def _corpus_folder(path: Path) -> Path:
    """The folder of the corpus that belongs to a folder or file of theorems."""
    if path.is_dir() or not path.exists():
        return path
    return next((each for each in (path.parent, path.parent.parent) if (each / "corpus.jsonl").is_file()), path.parent)


def _identity(settings: RetrieverSettings, corpus: Corpus, queries: Queries) -> dict[str, Any]:
    """All that determines the result: a run is resumed only if all of it is equal."""
    compared = {key: value for key, value in asdict(settings).items() if key not in _FREE}
    digests = {"corpus": corpus.digest, "theorems": queries.digest, "versions": VERSION_OF_EXAMPLES}
    identity: dict[str, Any] = msgspec.to_builtins({"kind": "retriever"} | compared | digests, enc_hook=str)
    return identity


def _train(
    settings: RetrieverSettings, corpus: Corpus, queries: Queries, folder: RunFolder, wants_end: Stop
) -> dict[str, Any]:
    measured = queries.held_out[:MOST_EVALUATED]
    file = folder.path / EVALUATION
    model = begin_model(settings, corpus, queries.train)
    evaluation: dict[str, Any] = {}
    if folder.last() is not None and file.is_file():
        evaluation = msgspec.json.decode(file.read_bytes())
    elif measured:
        # Written at once: a resumed training no longer has the model before the training.
        evaluation = {"before": msgspec.to_builtins(evaluate_model(model, measured, corpus))}
        write_whole(file, msgspec.json.format(msgspec.json.encode(evaluation)))
    else:
        file.unlink(missing_ok=True)
    summary = train(model, queries.train, corpus, folder, settings, wants_end)
    if measured:
        after = evaluate_model(load_encoder(str(folder.model)), measured, corpus)
        evaluation |= {"after": msgspec.to_builtins(after), "training": summary}
        write_whole(file, msgspec.json.format(msgspec.json.encode(evaluation)))
    folder.finish(summary)
    return summary


def begin_model(settings: RetrieverSettings, corpus: Corpus, queries: Sequence[Query]) -> SentenceTransformer:
    """The encoder before training. Raises RetrievalError."""
    set_seed(settings.seed)
    if settings.from_scratch:
        texts = [*(each.text for each in corpus.premises), *(query_text(each.state) for each in queries)]
        return fresh_encoder(settings.shape, texts, settings.max_length)
    return with_length(load_encoder(settings.base), settings.max_length)


def with_length(model: SentenceTransformer, max_length: int) -> SentenceTransformer:
    """The model with a limit of `max_length` tokens, or its own limit if that is lower."""
    limit = model.max_seq_length
    if limit is None or (math.isfinite(limit) and limit > max_length):
        model.max_seq_length = max_length
    return model


def train(
    model: SentenceTransformer,
    queries: Sequence[Query],
    corpus: Corpus,
    folder: RunFolder,
    settings: RetrieverSettings,
    wants_end: Stop = lambda: False,
) -> dict[str, Any]:
    """Trains the model, or resumes from the folder's last checkpoint; writes the model and returns the summary.

    Raises RetrievalError if there are too few examples, TrainingError (NotFinite, Interrupted).
    """
    # 1. Our own journal shows the progress.
    datasets.disable_progress_bars()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    # 2. A batch has its negatives in the other rows, so a single example cannot be learned from.
    rows = list(examples(queries, corpus, settings.negatives, settings.seed))
    if len(rows) < 2:
        raise RetrievalError(
            f"--data: {len(rows)} training examples remain: the traced theorems name too few premises, or have fewer "
            f"accessible ones than --negatives {settings.negatives}"
        )
    batches = math.ceil(len(rows) / min(settings.batch, len(rows)))
    # 3. A resumed run takes its weights from the checkpoint, not from the model that it was started with.
    part = part_of(folder, settings.steps or math.ceil(settings.epochs * batches), None)
    if part.checkpoint is not None:
        model = with_length(load_encoder(str(part.checkpoint.path)), settings.max_length)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    write_about(folder.path, About(stage="retriever", steps=part.steps, parameters=parameters))
    # 4. Training.
    with journal_of(folder, part, settings.tracker, settings) as journal:
        part.clock.start()
        trainer = _trainer(model, rows, folder, settings, _RetrieverWatch(folder, journal, part.clock, wants_end))
        with explained(
            folder,
            not_finite="add --force and a smaller --rate",
            memory="use a smaller --batch or --max-length, or --cached",
        ):
            last = part.train(trainer, wants_end)
    save_encoder(trainer.model, folder.model)
    return {
        "use": str(folder.model),
        "parameters": parameters,
        "examples": len(rows),
        "steps": last,
        "loss": next(each["train_loss"] for each in reversed(trainer.state.log_history) if "train_loss" in each),
        "seconds": round(part.clock.spent, 1),
    }


def _trainer(
    model: SentenceTransformer,
    rows: Sequence[Example],
    folder: RunFolder,
    settings: RetrieverSettings,
    watch: Watch,
) -> SentenceTransformerTrainer:
    loss: torch.nn.Module
    if settings.cached:
        loss = CachedMultipleNegativesRankingLoss(model, scale=settings.scale, mini_batch_size=settings.cached)
    else:
        loss = MultipleNegativesRankingLoss(model, scale=settings.scale)
    device = settings.device if settings.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    model.model_card_data.generate_widget_examples = False  # they would be computed for an unused model card
    trainer = _Trainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(folder.checkpoints),
            num_train_epochs=settings.epochs,
            max_steps=settings.steps or -1,
            per_device_train_batch_size=min(settings.batch, len(rows)),
            # Examples of a step share no text, so that no premise is positive and negative at once.
            batch_sampler=BatchSamplers.NO_DUPLICATES,
            learning_rate=settings.rate or RATES[settings.kind],
            warmup_steps=settings.warmup if settings.warmup < 1 else 0.99,
            lr_scheduler_type="linear",
            save_strategy="steps",
            save_steps=settings.save_every,
            save_total_limit=2,  # the newest one may be incomplete
            logging_steps=settings.log_every,
            logging_nan_inf_filter=False,
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=False,
            use_cpu=device == "cpu",
            seed=settings.seed,
        ),
        train_dataset=datasets.Dataset.from_list([dict(row) for row in rows]),
        loss=loss,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _Trainer(FiniteSteps, SentenceTransformerTrainer):
    """The trainer of sentence-transformers, which stops before a step that is not finite."""


class _RetrieverWatch(Watch):
    """Writes the curves of a retriever."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **more: Any) -> None:
        values = {name: float(value) for name, value in (logs or {}).items() if name in REPORTED}
        if "loss" in values:
            self._journal.write(state.global_step, values)
            self._journal.at(state.global_step, f"loss {values['loss']:.3f}")
