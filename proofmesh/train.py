"""The trainers `proofmesh train hf-sft|grpo|retriever|progress` as functions.

    from proofmesh import train

    done = train.sft("models/small-llama", data=["bank"], lora=True, steps=200, out="runs/tuned")
    done.model                          # the folder of the trained model
    done.summary                        # figures that the command writes

Keyword arguments are the command's flags: `rate=1e-4` is `--rate 1e-4`, `lora=True` is `--lora`, `lora__rank=8` is
`--lora.rank 8`, `data=["a", "b"]` is `--data a b`. The command runs in a separate process with this process's module
path. So its memory is free afterwards, Ctrl-C reaches it, and an interrupted call resumes when it is repeated.

They need `pip install 'proofmesh[trainers]'`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from proofmesh.errors import BadInput, MachineryFailed

__all__ = ["Training", "grpo", "progress", "retriever", "sft"]

SUMMARIES = ("summary.json", "evaluation.json")
"""Files with figures that trainers write into their folders."""

LINES = 40
"""Most kept lines of a command's standard error."""


@dataclass(frozen=True)
class Training:
    """The result of a training."""

    out: Path
    """The folder of the training: checkpoints, curves, the model."""
    said: str
    """The standard output of the command."""
    summary: dict[str, Any] = field(default_factory=dict)
    """Figures from the trainer: losses, rewards, seconds."""

    @property
    def model(self) -> Path:
        """The folder of the trained model or adapter."""
        return self.out / "model"


def sft(model: str | os.PathLike[str], *, show: bool = True, **settings: Any) -> Training:
    """Supervised fine-tuning of a language model, full or LoRA: `proofmesh train hf-sft`.

    `model`: a folder, an id of the hub, or MODEL+ADAPTER. `show`: print the command's progress. Raises BadInput,
    MachineryFailed.
    """
    return _train("hf-sft", [os.fspath(model)], settings, show)


def grpo(
    model: str | os.PathLike[str],
    *,
    reward: str | Callable[..., Any] = "lean",
    show: bool = True,
    **settings: Any,
) -> Training:
    """GRPO of a language model: `proofmesh train grpo`.

    `reward`: `lean`, `MODULE:FUNCTION`, or a function with TRL's signature, defined in a module. Raises BadInput,
    MachineryFailed.
    """
    return _train("grpo", [os.fspath(model)], {"reward": _named(reward), **settings}, show)


def retriever(*, show: bool = True, **settings: Any) -> Training:
    """Trains a dense retriever of premises: `proofmesh train retriever`. Raises BadInput, MachineryFailed."""
    return _train("retriever", [], settings, show)


def progress(*, show: bool = True, **settings: Any) -> Training:
    """Trains a model that predicts the remaining steps of a proof: `proofmesh train progress`. Raises BadInput,
    MachineryFailed."""
    return _train("progress", [], settings, show)


def flags(settings: dict[str, Any]) -> list[str]:
    """Keyword arguments as flags of a command."""
    arguments: list[str] = []
    for name, value in settings.items():
        flag = name.replace("__", ".").rstrip("_").replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            parent, dot, last = flag.rpartition(".")
            arguments.append(f"--{flag}" if value else f"--{parent}{dot}no-{last}")
        elif isinstance(value, (str, os.PathLike)) or not isinstance(value, Iterable):
            arguments += [f"--{flag}", _text(value)]
        else:
            arguments += [f"--{flag}", *map(_text, value)]
    return arguments


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, (str, os.PathLike)) else str(value)


def _named(reward: str | Callable[..., Any]) -> str:
    """The name `MODULE:FUNCTION` under which another process can import a reward. Raises BadInput."""
    if isinstance(reward, str):
        return reward
    module, name = getattr(reward, "__module__", ""), getattr(reward, "__qualname__", "")
    if not name.isidentifier() or module in ("", "__main__", "builtins"):
        raise BadInput(
            f"grpo: reward: {reward!r} is not a function of a module: move it into a file, and import it from there"
        )
    return f"{module}:{name}"


def _train(name: str, positional: list[str], settings: dict[str, Any], show: bool) -> Training:
    """Raises BadInput, MachineryFailed."""
    if settings.get("out") is None:
        raise BadInput(f"train {name}: `out` names the folder of the training: out='runs/{name}'")
    # 1. In a process of its own: torch's state, and a training's memory, do not stay in a notebook.
    command = [sys.executable, "-m", "node.command.cli", "train", name, *positional, *flags(settings)]
    # It has to find what this process finds: this package and the user's reward functions.
    paths = [str(Path(__file__).parents[1]), *(path for path in sys.path if path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None and child.stderr is not None
        # 2. Standard error is read in a thread: a full pipe would stop the training. Its last lines are the reason if
        # it fails.
        last: deque[str] = deque(maxlen=LINES)
        listening = threading.Thread(target=_listen, args=(child.stderr, last, show), daemon=True)
        listening.start()
        try:
            output = child.stdout.read()
            code = child.wait()
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):
                child.wait()  # the command got the signal as well, and writes a checkpoint
            raise
        listening.join()
    if code:
        raise _failure(code)(_reason(name, list(last), code))
    out = Path(settings["out"])
    return Training(out, output, _summary(out))


def _listen(errors: IO[str], last: deque[str], show: bool) -> None:
    for line in errors:
        last.append(line.rstrip())
        if show:
            sys.stderr.write(line)


def _failure(code: int) -> type[BadInput] | type[MachineryFailed]:
    return BadInput if code == 2 else MachineryFailed


def _reason(name: str, last: list[str], code: int) -> str:
    """The error line of the command; without one, the message about a wrong flag, or the end of a traceback."""
    own = [line for line in last if line.startswith(f"proofmesh train {name}:")]
    if own:
        return own[-1]
    plain = [text for line in last if (text := line.strip("│╭╮╰╯─ "))]
    wrong_flag = next((line for line in plain if "--" in line and ":" in line), "")
    return f"train {name}: {wrong_flag or ' '.join(plain[-1:]) or f'ended with code {code}'}"


def _summary(out: Path) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name in SUMMARIES:
        with contextlib.suppress(OSError, ValueError):
            figures |= json.loads((out / name).read_text(encoding="utf-8"))
    return figures
