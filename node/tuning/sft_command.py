"""`proofmesh train hf-sft MODEL`: supervised fine-tuning of a model in Hugging Face's format, full or LoRA.

    proofmesh train hf-sft models/small-llama --data bank@all --out runs/tuned
    proofmesh train hf-sft deepseek-ai/DeepSeek-Prover-V1.5-SFT --lora --data trace/ --kind proofs
    proofmesh train hf-sft models/small-llama --data bank trace/ --dry-run

The same command resumes an interrupted training. Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or
data, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.output.visible import say
from node.tuning import commands
from node.tuning.sft_settings import SftSettings


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return commands.main("proofmesh train hf-sft", __doc__, SftSettings, argv, _run)


def _run(settings: SftSettings) -> None:
    """Raises TrainingError."""
    if settings.dry_run:
        from node.tuning.sft_dry_run import dry_run

        say(*dry_run(settings), sep="\n", indent="")
        return
    from node.tuning.sft import run

    result = run(settings)
    loss = ""
    if result["held_out_loss"] is not None:
        loss = (
            f"; held-out loss {result['held_out_loss_before']} before, {result['held_out_loss']} after (nats a token)"
        )
    say(
        f"{result['parameters_trained']:,} of {result['parameters']:,} parameters trained: {result['steps']:,} steps, "
        f"{result['examples']:,} examples, {result['tokens']:,} tokens in {result['seconds']:,.0f} s{loss}"
        f"{commands.left_out(result['left_out'])}"
    )
    say(f"use it as {result['use']}")
