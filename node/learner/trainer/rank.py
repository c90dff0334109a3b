"""One process of the trainer group: `python -m node.learner.trainer.rank COMPUTE`, COMPUTE being JSON.

The first rank reads commands as lines on standard input and writes answers as lines to standard output; output of
libraries goes to standard error. It broadcasts every command to the other ranks, with its transitions, so all ranks
enter the same collectives. Ranks do not connect to the broker.
"""

from __future__ import annotations

import dataclasses
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from common.life.process import die_with_parent
from common.machine import gpu_id
from node.learner.trainer.messages import ComputeConfig, CreateConfig, RankAnswer, RankCommand, StartConfig

if TYPE_CHECKING:
    from node.learner.trainer.worker import RankWorker
    from node.training.documents import Document
    from node.training.trainer import RankDevice

IDLE_SHARE = 0.25
"""Share of the ranks' timeout after which the first rank, without a command, broadcasts an empty one, so that the
others do not time out."""


def main() -> int:
    """Carry out commands until standard input ends; with `create` in place of COMPUTE, create a network instead."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    if sys.argv[1] == "create":
        return create(msgspec.json.decode(sys.stdin.buffer.read(), type=CreateConfig))
    return work(msgspec.json.decode(sys.argv[1], type=ComputeConfig), answers)


def create(config: CreateConfig) -> int:
    """Write a checkpoint of a fresh network."""
    import torch

    from common.records.transitions import TransitionReader
    from node.model import checkpoint
    from node.model.config import config_from_dict
    from node.model.names import canonical
    from node.model.tokenizer import Tokenizer
    from node.model.transformer import Transformer

    shape = config_from_dict(config.model)
    readers = {file: TransitionReader(Path(file)) for file, _ in config.picks}
    transitions = [readers[file].read(number) for file, numbers in config.picks for number in numbers]
    texts = [text for transition in transitions for text in canonical(transition)]
    tokenizer = Tokenizer.train(texts, shape.vocab_size)
    # A small corpus yields fewer tokens than `vocab_size`. Embedding rows for the missing tokens would be sampled, but
    # they have no text.
    model = Transformer(dataclasses.replace(shape, vocab_size=tokenizer.vocab_size))
    model.reset(torch.Generator().manual_seed(config.seed))
    checkpoint.save(Path(config.checkpoint), model, tokenizer, step=0)
    return 0


def work(compute: ComputeConfig, answers: IO[bytes]) -> int:
    """Join the other ranks, load the network, report that, and carry out commands."""
    from node.data.errors import TrainingError
    from node.model.checkpoint import CheckpointError
    from node.training.trainer import started

    try:
        with started(compute) as device:
            return _serve(device, compute, answers)
    except (CheckpointError, TrainingError) as error:
        send(answers, RankAnswer(0, 0, error=str(error)))
        return 1


def _serve(device: RankDevice, compute: ComputeConfig, answers: IO[bytes]) -> int:
    from node.learner.trainer.worker import RankWorker
    from node.training.trainer import share_cores

    lines = _lines(compute.timeout * IDLE_SHARE) if device.first else None
    start = b""
    if lines is not None:
        start = next((line for line in lines if line is not None), b"")
    start = device.broadcast(start)
    if not start:
        return 0  # the learner ended before it sent its configuration
    worker = RankWorker(msgspec.json.decode(start, type=StartConfig), device)
    gpus = device.gather(gpu_id(str(device.device)))  # every rank has loaded
    if device.first:
        send(answers, RankAnswer(0, worker.step_number, gpus=sorted({str(gpu) for gpu in gpus if gpu})))
    while True:
        command = _next(device, worker, lines)
        if command is None:
            return 0
        if device.device.type == "cpu":
            share_cores(0 if command[0].alone else compute.threads)
        answer = carry_out(worker, *command)
        if device.first:
            send(answers, answer)
        if answer.error:
            return 1


Work = tuple[RankCommand, "list[Document]", str]
"""A command, its transitions, and why they could not be read (empty if they were read)."""


def _next(device: RankDevice, worker: RankWorker, lines: Iterator[bytes | None] | None) -> Work | None:
    """The next command, from standard input or from the first rank; None at the end."""
    from node.training.documents import Document

    packet = msgspec.msgpack.Decoder(tuple[RankCommand, list[Document], str] | None)
    while True:
        payload = b""
        if lines is not None:
            line = next(lines, b"")
            if line == b"":
                device.broadcast(msgspec.msgpack.encode(None))
                return None
            work = _read(worker, msgspec.json.decode(line, type=RankCommand)) if line is not None else None
            if work is not None and device.ranks == 1:
                return work
            payload = msgspec.msgpack.encode(work) if work is not None else b""
        payload = device.broadcast(payload)
        if payload:  # an empty payload only keeps the ranks from timing out
            decoded: Work | None = packet.decode(payload)
            return decoded


def _read(worker: RankWorker, command: RankCommand) -> Work:
    from common.records.readers import UnreadableRecords

    try:
        return command, worker.read(command.picks), ""
    except (UnreadableRecords, OSError) as error:
        return command, [], str(error)


def _lines(patience: float) -> Iterator[bytes | None]:
    """Lines of standard input; yields None after each `patience` seconds without input."""
    stream = sys.stdin.fileno()
    partial = b""
    while True:
        readable, _, _ = select.select([stream], [], [], patience)
        if not readable:
            yield None
            continue
        content = os.read(stream, 1 << 20)
        if not content:
            return
        *whole, partial = (partial + content).split(b"\n")
        yield from whole


def carry_out(worker: RankWorker, command: RankCommand, documents: list[Document], unreadable: str) -> RankAnswer:
    """Carry out a command and return the answer. `unreadable`: why its transitions could not be read, or empty."""
    from node.data.errors import NotFinite

    # 1. All ranks take part in the first four: they are collective. Files are the first rank's.
    first = worker.device.first
    metrics: dict[str, float] = {}
    values: list[float | None] = []
    digest, error, errno = "", unreadable, 0
    try:
        if unreadable:
            pass
        elif command.op == "step":
            metrics = worker.step(documents, command.factor, average=command.average)
        elif command.op == "evaluate":
            metrics = worker.evaluate(documents)
        elif command.op == "log-probabilities":
            found = worker.log_probabilities(documents)
            values = worker.aligned(command.picks, found) if first else []
        elif command.op == "restore":
            worker.restore(Path(command.path))
        elif command.op == "checkpoint" and first:
            worker.save(Path(command.path))
        elif command.op == "weights" and first:
            digest = worker.write_weights(Path(command.path), command.information)
    # 2. An error ends the group; that of a file keeps its number, because a full disk needs no restart.
    except (NotFinite, ValueError, OSError) as problem:
        error = f"{command.op}: {problem}"
        if isinstance(problem, OSError) and command.path:
            errno = problem.errno or 0
    left_out = len(worker.left_out)
    return RankAnswer(command.id, worker.step_number, metrics, values, digest, error, errno, left_out=left_out)


def send(answers: IO[bytes], answer: RankAnswer) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
