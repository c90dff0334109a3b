"""`proofmesh train grpo MODEL`: GRPO training of a Hugging Face model, full or LoRA, with Lean's or your own rewards.

    proofmesh train grpo models/small-llama@stp --steps 200 --evaluate pocket:test --out runs/grpo
    proofmesh train grpo deepseek-ai/DeepSeek-Prover-V1.5-SFT --lora --url http://localhost:8000 --data mine.jsonl
    proofmesh train grpo models/small-llama --reward my_rewards:short_proofs

The same command resumes an interrupted training. Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or
data, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.output.visible import say
from node.tuning import commands
from node.tuning.grpo_settings import GrpoSettings


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return commands.main("proofmesh train grpo", __doc__, GrpoSettings, argv, _run)


def _run(settings: GrpoSettings) -> None:
    """Raises TrainingError."""
    from node.tuning.grpo import rewards_of, run

    result = run(settings)
    pass_1 = ""
    if result["pass_at_1"] is not None:
        pass_1 = f"; pass@1 {result['pass_at_1_before']} before, {result['pass_at_1']} after"
    say(
        f"{result['parameters_trained']:,} of {result['parameters']:,} parameters trained: {result['steps']:,} steps, "
        f"{result['completions']:,} completions in {result['seconds']:,.0f} s; {rewards_of(result)}"
        f"{pass_1}{commands.left_out(result['left_out'])}"
    )
    say(f"use it as {result['use']}")
