"""`proofmesh train WHAT`: training stages of our own network, and trainers for models in Hugging Face format."""

from __future__ import annotations

from collections.abc import Sequence

from common.output.command import refuse
from common.output.visible import say
from node.mesh.roles import Command, MissingPart, resolve

TRAINERS = {
    "hf-sft": Command(
        "supervised fine-tuning of a Hugging Face model, full or LoRA: states to tactics, or whole proofs",
        "node.tuning.commands:sft",
    ),
    "grpo": Command(
        "GRPO of a Hugging Face model, with rewards from Lean or your own ones", "node.tuning.commands:grpo"
    ),
    "retriever": Command("a dense premise retriever", "node.retrieval.train_command:main"),
    "progress": Command("a model that predicts the remaining steps of a proof", "node.progress.command:main"),
}

OWN = "node.training.__main__:main"


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    arguments = list(argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        code: int = resolve(OWN)(arguments)
        print("\nModels in Hugging Face format (`pip install proofmesh[trainers]`):")
        for name, command in TRAINERS.items():
            say(f"  proofmesh train {name:10} {command.help}")
        return code
    if (trainer := TRAINERS.get(arguments[0])) is None:
        return int(resolve(OWN)(arguments))
    try:
        return int(resolve(trainer.entry)(arguments[1:]))
    except MissingPart as error:
        return refuse(f"proofmesh train {arguments[0]}", error)
