"""Merges LoRA adapters into a model's weights in memory, so that they cost nothing per token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from node.llm.address import BadModel, HubAddress
from node.llm.client import INSTALL
from node.llm.hub.folders import config_of, read_config
from node.llm.hub.library import place_of
from node.model.hub.folders import ADAPTER_CONFIG


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
        _check_complete(adapted, place.folder)
        return adapted.merge_and_unload().eval()
    except Exception as error:
        why = " ".join(str(error).split())[:300]
        raise BadModel(
            f"hf:{address.adapter}: the adapter does not fit hf:{address.model} (it was made for "
            f"`{config.get('base_model_name_or_path')}`): {why}"
        ) from error


def _check_complete(adapted: Any, folder: Path) -> None:
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
