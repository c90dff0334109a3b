"""Tiny models to fine-tune, with random weights, saved as people save theirs."""

import json
from pathlib import Path

from tests.node.llm.hub.tiny import llama, saved, tiny_tokenizer

CONTEXT = 1024
"""Tokens: a tiny tokenizer knows little more than bytes."""

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def raw_model(folder: Path) -> Path:
    """A Llama that is asked as BFS-Prover V1 is."""
    return _named(saved(llama(sharpness=1.0, max_position_embeddings=CONTEXT), folder), "bfs-prover-v1")


def chat_model(folder: Path, template: str = "goedel-prover-v2") -> Path:
    """A Llama whose tokenizer has ChatML's template, where `<|im_end|>` ends an answer."""
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = CHATML
    tokenizer.eos_token = "<|im_end|>"
    return _named(
        saved(llama(sharpness=1.0, max_position_embeddings=CONTEXT, eos_token_id=3), folder, tokenizer), template
    )


def _named(folder: Path, template: str) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"proofmesh_template": template}))
    return folder
