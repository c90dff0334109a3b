"""One process of the trainer group: `python -m node.learner.trainer.rank CONFIG`, CONFIG being JSON.

Commands come as lines on standard input, answers go as lines to standard output (whatever libraries print goes to
standard error). Every rank gets every command, so no rank waits in a collective for one that was not told. A rank
never touches the broker.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import IO

import msgspec

from node.learner.trainer.messages import CreateConfig, RankAnswer, RankCommand, RankConfig


def main() -> int:
    """Work until standard input ends; with `create` in place of CONFIG, create a network as standard input says."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    if sys.argv[1] == "create":
        return create(msgspec.json.decode(sys.stdin.buffer.read(), type=CreateConfig))
    return work(msgspec.json.decode(sys.argv[1], type=RankConfig), answers)


def create(config: CreateConfig) -> int:
    """Write a checkpoint of a fresh network."""
    import torch

    from node.learner.replay.segments import SegmentReader
    from node.model import checkpoint
    from node.model.files import config_from_dict
    from node.model.names import canonical
    from node.model.tokenizer import Tokenizer
    from node.model.transformer import Transformer

    shape = config_from_dict(config.model)
    readers = {base: SegmentReader(Path(base)) for base, _ in config.picks}
    transitions = [readers[base].read(position) for base, positions in config.picks for position in positions]
    texts = [text for transition in transitions for text in canonical(transition)]
    tokenizer = Tokenizer.train(texts, shape.vocab_size)
    # A small corpus fills fewer tokens than asked for; rows for the others would be sampled, and mean nothing.
    model = Transformer(dataclasses.replace(shape, vocab_size=tokenizer.vocab_size))
    model.reset(torch.Generator().manual_seed(config.seed))
    checkpoint.save(Path(config.checkpoint), model, tokenizer, step=0)
    return 0


def work(config: RankConfig, answers: IO[bytes]) -> int:
    """Start, say so, and answer commands."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(config.threads)
    torch.manual_seed(config.rank)
    if config.device == "cuda":
        torch.cuda.set_device(config.rank)
    if config.ranks > 1:
        # All ranks are on this machine: gloo must not pick an address of another interface.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "nccl" if config.device == "cuda" else "gloo",
            init_method=f"file://{config.rendezvous}",
            rank=config.rank,
            world_size=config.ranks,
            timeout=timedelta(seconds=config.timeout),
        )
    from node.learner.trainer.training import Training

    training = Training(config)
    send(answers, RankAnswer(0, training.step_number))
    for line in sys.stdin.buffer:
        command = msgspec.json.decode(line, type=RankCommand)
        answer = carry_out(training, command)
        send(answers, answer)
        if answer.error:
            return 1
    if config.ranks > 1:
        dist.destroy_process_group()
    return 0


def carry_out(training: object, command: RankCommand) -> RankAnswer:
    """The answer to a command."""
    from node.learner.replay.segments import SegmentError
    from node.learner.trainer.training import NotFinite, Training

    assert isinstance(training, Training)
    first = training.config.rank == 0
    metrics: dict[str, float] = {}
    digest = error = ""
    errno = 0
    try:
        if command.op == "step":
            metrics = training.step(command.picks, command.factor)
        elif command.op == "evaluate":
            metrics = training.evaluate(command.picks)
        elif command.op == "checkpoint":
            if first:
                training.save(Path(command.path))
        elif command.op == "weights":
            if first:
                digest = training.write_weights(Path(command.path), command.information)
        else:
            error = f"unknown command {command.op!r}"
    except (SegmentError, NotFinite, ValueError, OSError) as problem:
        error = f"{command.op}: {problem}"
        if isinstance(problem, OSError) and command.path:
            errno = problem.errno or 0
    return RankAnswer(command.id, training.step_number, metrics if first else {}, digest, error, errno)


def send(answers: IO[bytes], answer: RankAnswer) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
