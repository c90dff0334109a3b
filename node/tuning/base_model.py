"""Loads the base model of a training, and saves the trained model as a folder.

Prompts are tokenized by `node.llm.hub.reading.Reader`, the same code as at inference.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.files import write_whole
from node.data.errors import InputError
from node.llm import templates
from node.llm.address import HUB_PREFIX, BadModel, HubAddress
from node.llm.hub.folders import CODE, SMALL_FILES, TEMPLATE_KEY, place_of, weights_of
from node.llm.models import parse_model, template_of
from node.llm.settings import HubSettings
from node.llm.templates import Template, TemplateError
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG, written_folder
from node.tuning.settings import LlamaShape, LoraSettings, PlaceSettings

OUTPUT_LAYERS = ("lm_head", "embed_out")
"""Names of output layers. TRL's loss reads the weights of this layer directly, so an adapter on it would be ignored."""

NOT_COPIED = (CONFIG, ADAPTER_CONFIG, "model.safetensors.index.json", "pytorch_model.bin.index.json")
"""Files that are not copied from the base's folder: the trained model gets new ones, or they describe other weights."""

SHOWN = 12
"""Most layer names in an error."""


@dataclass(frozen=True)
class Base:
    """The model that is trained, and its prompt template."""

    address: HubAddress
    template: Template
    """The template that its address or its folder's config.json names, or the one of its model family."""

    @property
    def without_adapter(self) -> HubAddress:
        return replace(self.address, adapter="")


def base_of(text: str, *, template: str = "") -> Base:
    """Parses the name of a model: a folder or a hub id, `MODEL+ADAPTER`, `...@TEMPLATE`, all with or without `hf:`.

    `template`: the fallback if neither the name nor the folder determines a template. Loads nothing. Raises InputError.
    """
    try:
        address = parse_model(text if text.startswith(HUB_PREFIX) else f"{HUB_PREFIX}{text}")
        assert isinstance(address, HubAddress)
        try:
            template_of_model = template_of(address)
        except TemplateError:
            if not template:
                raise
            template_of_model = templates.load(template)
    except (BadModel, TemplateError) as error:
        raise InputError(str(error)) from error
    return Base(address, template_of_model)


def write_fresh(out: Path, texts: Iterable[str], shape: LlamaShape, template: Template, seed: int) -> None:
    """Writes a Llama with fresh weights as a folder, atomically; an earlier one there is replaced.

    `texts`: what its tokenizer is trained on. `template`: that of its prompts, which its config.json names. Equal seeds
    give equal weights. Raises OSError.
    """
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, set_seed

    from node.llm.hub.loading import quiet
    from node.model.hub.tokenizers import fast_tokenizer, save_tokenizer
    from node.model.tokenizer import BOS, EOS, PAD, Tokenizer

    ends: dict[str, Any] = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    with written_folder(out, force=True) as folder, quiet():
        # 1. A tokenizer of the texts. Text that spells a special token stays text.
        own = Tokenizer.train(texts, shape.vocab_size)
        save_tokenizer(fast_tokenizer(own, shape.context, reads_specials=False), folder)
        # 2. Weights of this shape, without embeddings for tokens that the texts do not need.
        config = LlamaConfig(
            vocab_size=own.vocab_size,
            hidden_size=shape.width,
            intermediate_size=shape.hidden,
            num_hidden_layers=shape.depth,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads,
            max_position_embeddings=shape.context,
            # transformers' default 0.02 is for wide models. In a narrow model, attention then stays uniform for
            # hundreds of steps: after 200 steps the loss on held-out theorems was 1.17 with 0.02, and 1.00 with this.
            initializer_range=shape.width**-0.5,
            tie_word_embeddings=True,
            **ends,
        )
        setattr(config, TEMPLATE_KEY, template.name)
        set_seed(seed)
        model = LlamaForCausalLM(config)
        model.generation_config = GenerationConfig(do_sample=True, **ends)
        model.save_pretrained(str(folder))


def loaded(base: Base, place: PlaceSettings, lora: LoraSettings) -> Any:
    """The model and its tokenizer (`node.llm.hub.loading.Loaded`), ready to be trained.

    With `lora.on` the weights are frozen and an adapter is trained: that of the address, or a new one. Otherwise an
    adapter of the address is merged into the weights, and all weights are trained. Set torch's seed before the call: a
    new adapter is initialized at random. Raises InputError.
    """
    from node.llm.hub.loading import load, quiet

    hub = place.hub(frozen=lora.on)
    try:
        base_loaded = load(base.without_adapter if lora.on else base.address, hub)
        if not lora.on:
            for parameter in base_loaded.model.parameters():
                parameter.requires_grad_(True)
            return base_loaded
        with quiet():
            model = (
                _own_adapter(base_loaded.model, base, hub)
                if base.address.adapter
                else _new_adapter(base_loaded.model, lora)
            )
    except BadModel as error:
        raise InputError(str(error)) from error
    model.peft_config["default"].base_model_name_or_path = _lasting_name(base.address.model)
    return replace(base_loaded, model=model)


def shape_of(base: Base, place: PlaceSettings, lora: LoraSettings) -> Any:
    """The model without weights (`node.llm.hub.loading.load_shape`), with a new adapter if one is trained. It serves to
    count parameters. Raises InputError."""
    from node.llm.hub.loading import load_shape, quiet

    try:
        shape = load_shape(base.without_adapter, place.hub(frozen=lora.on))
    except BadModel as error:
        raise InputError(str(error)) from error
    with quiet():
        return replace(shape, model=_new_adapter(shape.model, lora)) if lora.on else shape


def _own_adapter(model: Any, base: Base, hub: HubSettings) -> Any:
    """The model with the adapter of the address, trainable. Raises BadModel, InputError."""
    from peft import PeftModel

    place = place_of(base.address.adapter, ADAPTER_CONFIG, code=hub.trust_remote_code)
    try:
        return PeftModel.from_pretrained(model, str(place.folder), is_trainable=True)
    except Exception as error:
        why = " ".join(str(error).split())[:300]
        raise InputError(
            f"hf:{base.address.adapter}: the adapter does not fit hf:{base.address.model}: {why}"
        ) from error


def _new_adapter(model: Any, lora: LoraSettings) -> Any:
    """Raises InputError."""
    from peft import get_peft_model

    names = linear_layers(model)
    targets = list(lora.targets)
    if targets != ["all-linear"]:
        for target in targets:
            if target.rpartition(".")[2] in OUTPUT_LAYERS:
                raise InputError(
                    f"--lora.targets {target}: an adapter on the output layer would not be trained; leave it out"
                )
            if not any(name == target or name.endswith(f".{target}") for name in names):
                layers = sorted({name.rpartition(".")[2] for name in names})
                raise InputError(
                    f"--lora.targets {target}: the model has no such layer; it has {', '.join(layers[:SHOWN])}; "
                    "all-linear means all of them"
                )
    return get_peft_model(model, lora_config(lora))


def digest_of(base: Base) -> str:
    """A digest of the weights. Raises InputError."""
    try:
        return weights_of(base.address)
    except BadModel as error:
        raise InputError(str(error)) from error


def lora_config(lora: LoraSettings, task: str = "CAUSAL_LM") -> Any:
    """The settings as peft's `LoraConfig`. `task`: peft's name for the task of the model."""
    from peft import LoraConfig

    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear" if list(lora.targets) == ["all-linear"] else list(lora.targets),
        task_type=task,
    )


def linear_layers(model: Any) -> list[str]:
    """Full names of the layers that an adapter can change, without the output layer."""
    from torch import nn
    from transformers.pytorch_utils import Conv1D

    kinds = (nn.Linear, Conv1D)
    output = model.get_output_embeddings()
    return [name for name, part in model.named_modules() if isinstance(part, kinds) and part is not output]


def count_parameters(model: Any) -> tuple[int, int]:
    """(trained, all)."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


def save(base: Base, model: Any, out: Path, place: PlaceSettings, *, card: str = "") -> None:
    """Writes the trained model, or only its adapter, to the folder `out`, atomically; an earlier model there is
    replaced.

    The model's config.json names its template, so that `hf:OUT` uses the same prompts as the training. The weights are
    saved in the dtype of the base's weights. Raises FolderExists, OSError.
    """
    from peft import PeftModel

    from node.llm.hub.loading import quiet

    with written_folder(out, force=True) as folder, quiet():
        if isinstance(model, PeftModel):
            model.save_pretrained(str(folder))
        else:
            _save_model(base, model, folder, place)
        write_whole(folder / "README.md", card.encode())  # replaces the one that peft writes


def _save_model(base: Base, model: Any, folder: Path, place: PlaceSettings) -> None:

    source = place_of(base.address.model, CONFIG, code=place.trust_remote_code).folder
    config = json.loads((source / CONFIG).read_text(encoding="utf-8"))
    tensors = _in_type(model.state_dict(), config.get("dtype") or config.get("torch_dtype"))
    model.save_pretrained(str(folder), state_dict=tensors)
    _copy_small_files(source, folder, [*SMALL_FILES, *([CODE] if place.trust_remote_code else [])])
    saved = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    saved |= {"use_cache": config.get("use_cache", True), TEMPLATE_KEY: base.template.name}
    if config.get("dtype") or config.get("torch_dtype"):
        saved["dtype"] = config.get("dtype") or config.get("torch_dtype")
    if base.template.name not in templates.names():
        saved[TEMPLATE_KEY] = f"{base.template.name}.toml"
        text = templates.text_of(_template_file(base, source), base.template)
        (folder / f"{base.template.name}.toml").write_text(text, encoding="utf-8")
    write_whole(folder / CONFIG, json.dumps(saved, indent=2).encode())


def _template_file(base: Base, source: Path) -> str:
    """The .toml file of a template that is not built in: the user's file, or one in the model's folder."""
    own = source / f"{base.template.name}.toml"
    return str(own) if not base.address.template and own.is_file() else base.address.template


def _in_type(tensors: dict[str, Any], name: Any) -> dict[str, Any]:
    """The tensors in the dtype in which the base was saved."""
    import torch

    dtype = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        return tensors
    converted: dict[int, Any] = {}  # tied weights stay one tensor
    for each in tensors.values():
        if each.is_floating_point():
            converted.setdefault(each.data_ptr(), each.to(dtype))
    return {key: converted.get(each.data_ptr(), each) for key, each in tensors.items()}


def _copy_small_files(source: Path, folder: Path, patterns: Collection[str]) -> None:
    """Copies tokenizer files, chat template and sampling defaults byte by byte: a tokenizer that is loaded and saved
    can change."""
    with suppress(FileNotFoundError):
        (folder / "generation_config.json").unlink()
    for path in sorted({path for pattern in patterns for path in source.glob(pattern)}):
        if path.is_file() and path.name not in NOT_COPIED:
            shutil.copyfile(path, folder / path.name)


def usable_address(base: Base, out: Path, *, is_adapter: bool) -> str:
    """The address of the trained model: `hf:OUT` or `hf:MODEL+OUT`, with `@TEMPLATE` if the folder does not determine
    it."""
    if not is_adapter:
        return str(HubAddress(str(out)))
    return str(HubAddress(base.address.model, str(out), base.address.template))


def _lasting_name(model: str) -> str:
    """The name of the base in an adapter's config: a hub id unchanged, a folder as an absolute path."""
    path = Path(model).expanduser()
    return str(path.resolve()) if path.is_dir() else model
