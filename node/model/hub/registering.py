"""Registers our architecture with transformers in this process, so that it needs no `trust_remote_code`."""

from __future__ import annotations

from transformers import AutoConfig, AutoModel, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM, ProofmeshModel


def register() -> None:
    """Register the architecture; repeated calls are harmless."""
    # Also by name: transformers' Trainer and other libraries look up causal models in this table.
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[ProofmeshConfig.model_type] = ProofmeshForCausalLM.__name__
    AutoConfig.register(ProofmeshConfig.model_type, ProofmeshConfig, exist_ok=True)
    AutoModel.register(ProofmeshConfig, ProofmeshModel, exist_ok=True)
    AutoModelForCausalLM.register(ProofmeshConfig, ProofmeshForCausalLM, exist_ok=True)
    # Networks that are saved again after further training then include the model code.
    ProofmeshConfig.register_for_auto_class()
    ProofmeshModel.register_for_auto_class("AutoModel")
    ProofmeshForCausalLM.register_for_auto_class("AutoModelForCausalLM")
