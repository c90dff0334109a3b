"""Progress models in memory: sequence classification with one output, the steps, from a folder, from the hub, or with
fresh weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedTokenizerFast

from node.data.errors import InputError
from node.llm.address import BadModel
from node.llm.hub.folders import place_of
from node.llm.hub.loading import quiet
from node.model.hub.folders import CONFIG
from node.progress.command import Shape

BATCH = 64
"""Texts in a forward pass."""

PAD, UNKNOWN, BEGIN = "[PAD]", "[UNK]", "[CLS]"


@dataclass
class ProgressModel:
    """A model that predicts how many steps remain."""

    model: Any
    tokenizer: Any
    max_tokens: int
    """Longer texts are truncated."""

    def predict(self, texts: Sequence[str]) -> list[float]:
        """Predicted steps for texts of `node.progress.data.question`. Raises InputError if an output is not finite."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        predicted = [0.0] * len(texts)
        self.model.eval()
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            inputs = self.inputs([texts[place] for place in places])
            with torch.inference_mode():
                outputs = self.model(**inputs).logits.squeeze(-1).float()
            if not torch.isfinite(outputs).all():
                raise InputError("the progress model's output is not a number: its weights are damaged")
            for place, output in zip(places, outputs.tolist(), strict=True):
                predicted[place] = max(0.0, output)
        return predicted

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids. Long texts are truncated at the beginning."""
        if not texts:
            return []
        ids = self.tokenizer(list(texts), truncation=True, max_length=self.max_tokens)["input_ids"]
        return [list(each) for each in ids]

    def inputs(self, texts: Sequence[str]) -> dict[str, Any]:
        """The tensors of a batch."""
        return self.padded(self.tokens(texts))

    def padded(self, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """`input_ids` and `attention_mask`, shape (texts, longest text)."""
        longest, pad = max(map(len, rows)), self.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        device = self.model.device
        return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}

    def save(self, folder: Path) -> None:
        """Raises OSError."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def begin(name: str, max_tokens: int, device: str, *, seed: int) -> ProgressModel:
    """A model to train further. If it is not a progress model, its output layer gets random weights. Raises
    InputError."""
    torch.manual_seed(seed)
    return _ready(_pretrained(name, device), _tokenizer(name), max_tokens)


def fresh(shape: Shape, max_tokens: int, texts: Iterable[str], device: str, *, seed: int) -> ProgressModel:
    """A small BERT with random weights and a tokenizer trained on these texts."""
    torch.manual_seed(seed)
    tokenizer = _fresh_tokenizer(texts, shape.vocab_size, max_tokens)
    # These two by their module: only now it imports all model classes, which takes seconds.
    config_type: Any = transformers.BertConfig
    config = config_type(
        vocab_size=len(tokenizer),
        hidden_size=shape.width,
        intermediate_size=4 * shape.width,
        num_hidden_layers=shape.depth,
        num_attention_heads=shape.heads,
        max_position_embeddings=max_tokens,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
        pad_token_id=0,
        # transformers' 0.02 is for wide models: attention in a narrow one would stay uniform for hundreds of steps.
        initializer_range=shape.width**-0.5,
    )
    model: Any = transformers.BertForSequenceClassification(config)
    return _ready(model.to(_device(device)), tokenizer, max_tokens)


def _ready(model: Any, tokenizer: Any, max_tokens: int) -> ProgressModel:
    """Sets up the tokenizer: texts are truncated at the beginning and padded at the end."""
    tokenizer.truncation_side, tokenizer.padding_side = "left", "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.cls_token
    if tokenizer.pad_token is None:
        raise InputError("the model's tokenizer has no padding token (pad, eos or cls); add one to its config")
    # Models that predict from the last token find it by the padding token.
    model.config.pad_token_id = tokenizer.pad_token_id
    model.config.problem_type = "regression"
    most = getattr(model.config, "max_position_embeddings", None)
    if isinstance(most, int) and most > 0:
        max_tokens = min(max_tokens, most)
    return ProgressModel(model, tokenizer, max_tokens)


def _pretrained(name: str, device: str) -> Any:
    """Raises InputError."""
    where = _device(device)
    try:
        folder = place_of(name, CONFIG).folder
    except BadModel as error:
        raise InputError(str(error)) from error
    try:
        with quiet():
            classifier = AutoModelForSequenceClassification.from_pretrained(
                folder, num_labels=1, ignore_mismatched_sizes=True, dtype=torch.float32
            )
    except Exception as error:  # each architecture raises different errors
        why = " ".join(str(error).split())[:300]
        raise InputError(f"{name}: cannot be used as a progress model: {why}") from error
    return classifier.to(where)


def _tokenizer(name: str) -> Any:
    """Raises InputError."""
    try:
        with quiet():
            return AutoTokenizer.from_pretrained(place_of(name, CONFIG).folder)
    except Exception as error:
        why = " ".join(str(error).split())[:300]
        raise InputError(f"{name}: its tokenizer cannot be used: {why}") from error


def _device(name: str) -> torch.device:
    """Raises InputError."""
    try:
        device = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device {name}: no such device; name `cpu`, `cuda` or `auto`") from error
    return device


def _fresh_tokenizer(texts: Iterable[str], vocab_size: int, max_tokens: int) -> Any:
    """A byte-pair tokenizer. It splits names at dots and underscores, so that their parts become separate tokens."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[^\W\d_]+['₀-₉]*|\d+|[^\w\s]|_"), "isolated"),
        ]
    )
    specials = [PAD, UNKNOWN, BEGIN]
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=specials, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, specials.index(BEGIN))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        cls_token=BEGIN,
        model_max_length=max_tokens,
        model_input_names=["input_ids", "attention_mask"],
    )
