"""Prepares the data of a supervised fine-tuning, from the sources to tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from common.seeds import is_held_out
from node.data.errors import InputError
from node.data.grammar import PAIRS
from node.data.reading import read_all
from node.data.rows import Pair
from node.llm import templates
from node.llm.hub.loading import Loaded
from node.llm.sampling import Prompt
from node.llm.templates import Template, TemplateError
from node.tuning.base_model import Base
from node.tuning.examples import Example, Examples, proof_examples, step_examples
from node.tuning.sft_settings import SftSettings
from node.tuning.tokens import Encoded, Encoder

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
    by_kind: dict[str, list[str]] = {
        "auto": [own.mode],
        "steps": ["tactic"],
        "proofs": ["whole-proof"],
        "both": ["tactic", "whole-proof"],
    }
    modes = by_kind[settings.kind]
    for mode in modes:
        if mode not in templates_by_mode:
            raise InputError(
                f"--kind {settings.kind}: the model's template `{own.name}` is for {own.mode}; name one for {mode} "
                "with --other-template (`proofmesh models list` shows them)"
            )
    return {mode: templates_by_mode[mode] for mode in modes}


def prepare(base: Base, loaded: Loaded, settings: SftSettings) -> Prepared:
    """The tokenized examples of all sources. Raises InputError if none remain, or the template does not fit the
    tokenizer."""
    by_mode = chosen_templates(base, settings)
    if loaded.encodes:
        raise InputError(f"hf:{base.address.model}: is an encoder-decoder model; name a causal language model")
    name = f"hf:{base.address.model}"
    encoders = {mode: Encoder(name, loaded, template, most=settings.max_tokens) for mode, template in by_mode.items()}
    data = read_all(settings.data, settings.keep_out)
    prepared = Prepared()
    for mode, template in by_mode.items():
        if template.mode == "tactic":
            found, more = step_examples(template, data.steps), step_examples(template, data.held_out_steps)
        else:
            found, more = proof_examples(template, data.proofs), Examples()
            found.examples += as_examples(template, data.pairs)
        train, held_out = split(found.examples, settings.held_out)
        held_out = [*more.examples, *held_out][:MOST_HELD_OUT]
        prepared.left_out += found.left_out
        prepared.left_out += data.steps_left_out if template.mode == "tactic" else data.proofs_left_out
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


def as_examples(template: Template, pairs: Sequence[Pair]) -> list[Example]:
    """Examples of prepared texts. Raises InputError if the template is a chat."""
    if pairs and template.kind != "raw":
        raise InputError(
            f"--data {PAIRS}: texts as they are need a raw template, and `{template.name}` is a conversation: name one "
            "(MODEL@TEMPLATE)"
        )
    return [Example(Prompt(pair.prompt), pair.completion, pair.weight) for pair in pairs]


def split(examples: Iterable[Example], share: int) -> tuple[list[Example], list[Example]]:
    """Splits examples into (training, held out). One in `share` theorems is held out, with its steps and whole proofs;
    0: none."""
    train: list[Example] = []
    held_out: list[Example] = []
    for example in examples:
        (held_out if is_held_out(example.theorem, share) else train).append(example)
    return train, held_out
