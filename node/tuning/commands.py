"""The commands `proofmesh train hf-sft` and `grpo`, and what they share with `retriever` and `progress`: flags, exit
codes, errors in one line.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import tyro

from common import config
from common.output.command import Exit, refuse
from common.output.visible import say
from node.data.errors import TrainingError
from node.tuning.settings import GrpoSettings, SftSettings, check_flags

S = TypeVar("S")


def main(
    program: str, description: str | None, settings_type: type[S], argv: Sequence[str], run: Callable[[S], None]
) -> int:
    """Parses the flags, runs the command and returns the exit code. `run` imports heavy packages and prints the
    result."""
    settings = tyro.cli(settings_type, args=list(argv), prog=program, description=description)
    try:
        check_flags(settings)
    except config.ConfigError as error:
        return refuse(program, error)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        run(settings)
    except KeyboardInterrupt:  # before the first step, or a second Ctrl-C
        return refuse(program, "interrupted", Exit.INTERRUPTED)
    except ImportError as error:
        return refuse(program, f"needs the package `{error.name}`: pip install 'proofmesh[trainers]'")
    except TrainingError as error:
        return refuse(program, error, error.exit_code)
    return Exit.DONE


def left_out(counts: Mapping[str, Any]) -> str:
    """The numbers of left-out examples by reason, as the end of a sentence."""
    return "".join(f"; left out: {count:,} {reason}" for reason, count in counts.items())


SFT = """`proofmesh train hf-sft MODEL`: supervised fine-tuning of a model in Hugging Face's format, full or LoRA.

    proofmesh train hf-sft models/small-llama --data bank@all --out runs/tuned
    proofmesh train hf-sft deepseek-ai/DeepSeek-Prover-V1.5-SFT --lora --data trace/ --kind proofs
    proofmesh train hf-sft models/small-llama --data bank trace/ --dry-run

The same command resumes an interrupted training. Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or
data, 130 interrupted.
"""


def sft(argv: Sequence[str]) -> int:
    """`proofmesh train`'s command; returns its exit code."""
    return main("proofmesh train hf-sft", SFT, SftSettings, argv, _run_sft)


def _run_sft(settings: SftSettings) -> None:
    """Raises TrainingError."""
    if settings.dry_run:
        from node.tuning.sft import dry_run

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
        f"{left_out(result['left_out'])}"
    )
    say(f"use it as {result['use']}")


GRPO = """`proofmesh train grpo MODEL`: GRPO training of a Hugging Face model, full or LoRA, with Lean's or your own
rewards.

    proofmesh train grpo models/small-llama@stp --steps 200 --evaluate pocket:test --out runs/grpo
    proofmesh train grpo deepseek-ai/DeepSeek-Prover-V1.5-SFT --lora --url http://localhost:8000 --data mine.jsonl
    proofmesh train grpo models/small-llama --reward my_rewards:short_proofs

The same command resumes an interrupted training. Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or
data, 130 interrupted.
"""


def grpo(argv: Sequence[str]) -> int:
    """`proofmesh train`'s command; returns its exit code."""
    return main("proofmesh train grpo", GRPO, GrpoSettings, argv, _run_grpo)


def _run_grpo(settings: GrpoSettings) -> None:
    """Raises TrainingError."""
    from node.tuning.grpo import rewards_of, run

    result = run(settings)
    pass_1 = ""
    if result["pass_at_1"] is not None:
        pass_1 = f"; pass@1 {result['pass_at_1_before']} before, {result['pass_at_1']} after"
    say(
        f"{result['parameters_trained']:,} of {result['parameters']:,} parameters trained: {result['steps']:,} steps, "
        f"{result['completions']:,} completions in {result['seconds']:,.0f} s; {rewards_of(result)}"
        f"{pass_1}{left_out(result['left_out'])}"
    )
    say(f"use it as {result['use']}")
