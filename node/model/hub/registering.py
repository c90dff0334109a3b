"""Makes our architecture known to transformers in this process: no `trust_remote_code`, no copied code."""

from __future__ import annotations

from transformers import AutoConfig, AutoModel, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM, ProofmeshModel


def register() -> None:
    """Once is enough; more does no harm."""
    # By names, too: the Trainer and others look there for what predicts the next token.
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[ProofmeshConfig.model_type] = ProofmeshForCausalLM.__name__
    AutoConfig.register(ProofmeshConfig.model_type, ProofmeshConfig, exist_ok=True)
    AutoModel.register(ProofmeshConfig, ProofmeshModel, exist_ok=True)
    AutoModelForCausalLM.register(ProofmeshConfig, ProofmeshForCausalLM, exist_ok=True)
    # What is saved again, after more training, keeps the code beside it.
    ProofmeshConfig.register_for_auto_class()
    ProofmeshModel.register_for_auto_class("AutoModel")
    ProofmeshForCausalLM.register_for_auto_class("AutoModelForCausalLM")
