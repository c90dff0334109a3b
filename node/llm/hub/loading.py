"""Loads models, tokenizers and adapters into memory. Problems become one-line errors instead of tracebacks."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)
from transformers.utils import logging as transformers_logging

from node.llm.address import BadModel, HubAddress
from node.llm.hub.folders import config_of, place_of, read_config
from node.llm.servers import INSTALL
from node.llm.settings import HubSettings
from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.folders import ADAPTER_CONFIG, CONFIG
from node.model.transformer import has_bf16

WORDS = 300
"""Maximum characters of a library's message in an error."""


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to sample."""

    model: Any
    tokenizer: Any
    device: torch.device
    """Device of its inputs."""
    ends: frozenset[int]
    """Ids of tokens that end a completion."""
    pad: int
    start: int
    """First token of the decoder of an encoder-decoder model."""
    encodes: bool
    """Whether the model has an encoder that reads the prompt."""
    context: int | None
    """Maximum tokens of prompt and completion together; None: the model has no limit."""


def load(address: HubAddress, settings: HubSettings) -> Loaded:
    """Load the model with its adapter. Missing files are downloaded. Raises BadModel."""
    register()  # exported proofmesh networks then need no copied code
    with quiet():
        place = place_of(address.model, CONFIG, code=settings.trust_remote_code)
        name, folder = f"hf:{address.model}", place.folder
        config = _config(name, folder, settings)
        tokenizer = _tokenizer(name, folder, settings)
        where = _device(settings.device)
        model = _model(name, folder, config, settings, where)
        if address.adapter:
            model = with_adapter(model, address)
        return _ready(name, model, tokenizer)


def load_shape(address: HubAddress, settings: HubSettings) -> Loaded:
    """Load the model without weights: its tensors are on torch's `meta` device, so that any size takes no memory.
    Adapters are ignored. Raises BadModel."""
    register()
    with quiet():
        name, folder = f"hf:{address.model}", place_of(address.model, CONFIG, code=settings.trust_remote_code).folder
        config = _config(name, folder, settings)
        tokenizer = _tokenizer(name, folder, settings)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        with torch.device("meta"):
            model = kind.from_config(config, trust_remote_code=settings.trust_remote_code)
        if (folder / "generation_config.json").is_file():
            model.generation_config = GenerationConfig.from_pretrained(folder, local_files_only=True)
        return _ready(name, model, tokenizer)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence the libraries' messages while loading; our errors contain the important ones."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(logging.CRITICAL)
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            transformers_logging.set_verbosity(max(before, logging.ERROR))
            if shown:
                transformers_logging.enable_progress_bar()


def _config(name: str, folder: Path, settings: HubSettings) -> Any:
    """Read and check the model's configuration. Raises BadModel."""
    read = read_config(folder, CONFIG, name)
    kind, classes = read.get("model_type"), read.get("architectures") or []
    if not isinstance(kind, str | None):
        raise BadModel(f"{name}: model_type in config.json must be text, not {kind!r}")
    if not isinstance(classes, list) or not all(isinstance(each, str) for each in classes):
        raise BadModel(f"{name}: architectures in config.json must be a list of names, not {classes!r}")
    needs_code = bool(read.get("auto_map")) and kind not in CONFIG_MAPPING
    if needs_code and not settings.trust_remote_code:
        raise BadModel(
            f"{name}: the model needs its own Python code, which runs with all your permissions; read it, then allow "
            "it with --models.hf.trust-remote-code"
        )
    if not needs_code and kind not in CONFIG_MAPPING:
        raise BadModel(f"{name}: config.json names a model_type that transformers does not know: `{kind}`")
    if not needs_code and not (_is_causal(read) or _is_seq2seq(read)):
        architecture = ", ".join(classes or [str(kind)])
        raise BadModel(f"{name}: {architecture} does not generate text; choose a causal or sequence-to-sequence model")
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=settings.trust_remote_code, local_files_only=True)
    except Exception as error:
        raise BadModel(f"{name}: config.json cannot be used: {in_a_line(error)}") from error


def _is_causal(read: Mapping[str, Any]) -> bool:
    return not read.get("is_encoder_decoder") and _is_of(read, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def _is_seq2seq(read: Mapping[str, Any]) -> bool:
    return _is_of(read, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)


def _is_of(read: Mapping[str, Any], mapping: Mapping[str, Any]) -> bool:
    """Whether a configuration names one of these classes, or names none and its type has one of them."""
    classes = read.get("architectures")
    if not classes:
        return read["model_type"] in mapping
    return any(each == name or each in name for each in classes for name in mapping.values())


def _tokenizer(name: str, folder: Path, settings: HubSettings) -> Any:
    """Load the tokenizer, and check that it works. Raises BadModel."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=settings.trust_remote_code, local_files_only=True
        )
        # The first call resets the padding and truncation set in its file. Later calls may run while a thread decodes.
        if not tokenizer("x y")["input_ids"]:
            raise ValueError("it gives no tokens for a text")
    except Exception as error:
        missing = [file for file in ("tokenizer.json", "tokenizer_config.json") if not (folder / file).is_file()]
        why = f"the folder has no {' and no '.join(missing)}" if len(missing) == 2 else in_a_line(error)
        raise BadModel(f"{name}: no tokenizer: {why}; save the model's tokenizer in the folder") from error
    return tokenizer


def _device(text: str) -> dict[str, Any]:
    """The device of the weights, as an argument of `from_pretrained`. Raises BadModel."""
    if text == "auto":
        gpus = torch.cuda.device_count()
        return {"device_map": "auto" if gpus > 1 else "cuda" if gpus else "cpu"}
    flag = f"--models.hf.device {text}"
    try:
        device = torch.device(text)
    except RuntimeError:
        raise BadModel(f"{flag}: there is no such device; write auto, cpu, cuda, or cuda:1") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadModel(f"{flag}: PyTorch sees {torch.cuda.device_count()} GPUs on this machine")
    return {"device_map": str(device)}


def _model(name: str, folder: Path, config: Any, settings: HubSettings, where: Mapping[str, Any]) -> Any:
    """Load the weights. Raises BadModel."""
    dtype = settings.dtype
    if dtype == "auto" and where["device_map"] == "cpu":  # few CPUs are fast at 16 bits
        narrow = config.dtype == torch.bfloat16 and has_bf16(torch.device("cpu"))
        dtype = "bfloat16" if narrow else "float32"
    # Encoder-decoder models (ByT5 and the like) are another class in transformers.
    seq2seq = bool(config.is_encoder_decoder)
    kind: Any = AutoModelForSeq2SeqLM if seq2seq else AutoModelForCausalLM
    try:
        # The files are here already; `local_files_only` keeps a misnamed folder from becoming a download.
        model, loading_info = kind.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            trust_remote_code=settings.trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
            **where,
        )
    except ImportError as error:
        raise BadModel(f"{name}: {in_a_line(error)} ({INSTALL})") from error
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise BadModel(
            f"{name}: out of memory: {_size(folder)} of weights do not fit on {where['device_map']}"
        ) from error
    except Exception as error:
        # torch raises a plain RuntimeError when the CPU's memory is used up.
        if "not enough memory" in str(error) or "can't allocate memory" in str(error):
            raise BadModel(f"{name}: out of memory: {_size(folder)} of weights do not fit") from error
        raise BadModel(f"{name}: the weights cannot be read: {in_a_line(error)}") from error
    # transformers fills missing tensors with random numbers and only warns.
    _check_complete(name, loading_info)
    return model.eval()


def _check_complete(name: str, loading_info: Mapping[str, Any]) -> None:
    """Check that all weights were loaded: transformers fills missing ones with random numbers. Raises BadModel."""
    wrong = [*loading_info.get("missing_keys", ()), *(each[0] for each in loading_info.get("mismatched_keys", ()))]
    if wrong:
        raise BadModel(
            f"{name}: the weights do not match config.json: {len(wrong)} tensors are missing or have another shape, "
            f"such as {min(wrong)}"
        )


def _size(folder: Path) -> str:
    total = sum(path.stat().st_size for path in folder.iterdir() if path.suffix in (".safetensors", ".bin"))
    return f"{total / 2**30:.1f} GiB"


def _ready(name: str, model: Any, tokenizer: Any) -> Loaded:
    """Collect the special tokens and the context length. Raises BadModel."""
    own = model.generation_config
    ends = {end for source in (own, model.config, tokenizer) for end in _ids(getattr(source, "eos_token_id", None))}
    pads = [*_ids(tokenizer.pad_token_id), *_ids(own.pad_token_id), *sorted(ends), 0]
    encodes = bool(model.config.is_encoder_decoder)
    starts = [*_ids(own.decoder_start_token_id), *_ids(getattr(model.config, "decoder_start_token_id", None))]
    if encodes and not starts:
        raise BadModel(f"{name}: config.json has no decoder_start_token_id")
    # The model's own temperature, penalties and lengths would apply to requests without them. Rows end individually.
    model.generation_config = GenerationConfig(
        do_sample=False,
        pad_token_id=pads[0],
        bos_token_id=own.bos_token_id,
        decoder_start_token_id=starts[0] if encodes else None,
        forced_bos_token_id=own.forced_bos_token_id,
    )
    text = model.config.get_text_config()
    context = getattr(text, "max_position_embeddings", None) if not _is_relative(text) else None
    device = model.get_input_embeddings().weight.device
    return Loaded(model, tokenizer, device, frozenset(ends), pads[0], starts[0] if starts else 0, encodes, context)


def _is_relative(config: Any) -> bool:
    """Whether positions are relative, as in T5: such models have no maximum length."""
    return getattr(config, "relative_attention_num_buckets", None) is not None


def _ids(value: int | list[int] | None) -> list[int]:
    return [] if value is None else [value] if isinstance(value, int) else list(value)


def in_a_line(error: BaseException) -> str:
    """A library's error message, shortened to one line."""
    text = " ".join(str(error).split())
    return text[:WORDS] or type(error).__name__


# ----------------------------------------------------------------------------------------------------------------------
# Merges LoRA adapters into a model's weights in memory, so that they cost nothing per token.


def with_adapter(model: Any, address: HubAddress) -> Any:
    """Merge the adapter's weights into the model. Raises BadModel."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise BadModel(f"`{address}`: adapters need the package `{error.name}`; run {INSTALL}") from error
    place = place_of(address.adapter, ADAPTER_CONFIG)
    config = read_config(place.folder, ADAPTER_CONFIG, address.adapter)
    check_base(config, address, str(config_of(address.model).get("_name_or_path", "")))
    try:
        adapted = PeftModel.from_pretrained(model, str(place.folder))
        _check_adapter_complete(adapted, place.folder)
        return adapted.merge_and_unload().eval()
    except Exception as error:
        why = " ".join(str(error).split())[:300]
        raise BadModel(
            f"hf:{address.adapter}: the adapter does not fit hf:{address.model} (it was made for "
            f"`{config.get('base_model_name_or_path')}`): {why}"
        ) from error


def _check_adapter_complete(adapted: Any, folder: Path) -> None:
    """Check that all tensors match: peft only warns about missing ones and does not apply them. Raises ValueError."""
    from peft import get_peft_model_state_dict
    from peft.utils import load_peft_weights

    expected = {name for name in get_peft_model_state_dict(adapted, save_embedding_layers=False) if "lora_" in name}
    stored = {name for name in load_peft_weights(str(folder), device="cpu") if "lora_" in name}
    if wrong := expected ^ stored:
        problem = "are missing" if expected - stored else "have no place in the model"
        raise ValueError(f"{len(wrong)} of its tensors {problem}, such as {min(expected - stored or wrong)}")


def check_base(config: Mapping[str, Any], address: HubAddress, own_name: str) -> None:
    """Check by name that an adapter was made for a model. Folders move, so only the last part of a path counts.
    `own_name`: the model's name in its own config.json. Raises BadModel."""
    base = str(config.get("base_model_name_or_path") or "")
    model_names = {
        _last(name) for name in (address.model, str(Path(address.model).expanduser().resolve()), own_name) if name
    }
    if base and _last(base) not in model_names:
        raise BadModel(
            f"hf:{address.adapter}: the adapter is for `{base}`, and the model is `{address.model}`; if that is "
            f"the same model, correct base_model_name_or_path in {ADAPTER_CONFIG}"
        )


def _last(name: str) -> str:
    """The last part of a path or an id. In the hub's cache the path ends with a commit; there it is the id's."""
    parts = [part for part in name.lower().split("/") if part]
    cached = next((part for part in reversed(parts) if part.startswith("models--")), "")
    return cached.rpartition("--")[2] or (parts[-1] if parts else "")


# --- our own architecture, which needs no `trust_remote_code` once it is registered ----------------------------------


def register() -> None:
    """Register the architecture; repeated calls are harmless."""
    # Here, because they import transformers' model classes, which takes seconds: only who loads a model waits.
    from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM, ProofmeshModel

    # Also by name: transformers' Trainer and other libraries look up causal models in this table.
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[ProofmeshConfig.model_type] = ProofmeshForCausalLM.__name__
    AutoConfig.register(ProofmeshConfig.model_type, ProofmeshConfig, exist_ok=True)
    AutoModel.register(ProofmeshConfig, ProofmeshModel, exist_ok=True)
    AutoModelForCausalLM.register(ProofmeshConfig, ProofmeshForCausalLM, exist_ok=True)
    # Networks that are saved again after further training then include the model code.
    ProofmeshConfig.register_for_auto_class()
    ProofmeshModel.register_for_auto_class("AutoModel")
    ProofmeshForCausalLM.register_for_auto_class("AutoModelForCausalLM")
