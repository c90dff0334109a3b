"""Settings and errors of `proofmesh agent`. Does not import torch, so that `--help` is fast."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from common.limits import Chance, Duration, Natural, Positive, Ratio, Timeout
from common.output.command import UserError
from common.settings import LeanSettings


class AgentError(UserError, RuntimeError):
    """The agent cannot run with these settings. The text says why and what to do. Exit code 2."""


class Interrupted(RuntimeError):
    """The user pressed Ctrl-C. All finished work is recorded."""


NETWORK = "{network}"
"""Placeholder in a policy for the checkpoint of the last training."""


@dataclass
class LearningSettings:
    """How the network learns."""

    start: str = ""
    """Checkpoint to start from, or a run's folder with checkpoints; empty: a fresh network, trained on `start_data`."""
    start_data: tuple[str, ...] = ("transitions:bank",)
    """Training data of the first network (with `start`: the data that it was trained on). It stays part of the old
    data, and its held-out part shows how much is forgotten. Sources as in `proofmesh train`."""
    start_steps: Positive = 300
    """Optimizer steps for a fresh network."""
    preset: str = ""
    """Shape of a fresh network by name (demo, nano, small, base)."""
    epochs: Ratio = 1.0
    """Passes over a repository's transitions; LeanAgent makes one."""
    replay: Chance = 0.3
    """Share of old data in the tokens of a training: from the start data, and from earlier repositories."""
    most_steps: Natural = 0
    """Most optimizer steps for one repository; 0: as many as `epochs` needs."""
    minutes: Duration | None = None
    """Most minutes of training for one repository; none: no limit."""
    rate: Ratio = 0.3
    """Learning rates on repositories, as a fraction of those of the first training."""
    held_out: Natural = 10
    """One in this many theorems is held out, chosen by its name, to measure losses; 0: none."""
    length: Positive = 256
    """Tokens in a row of a batch."""
    batch_tokens: Positive = 4096
    """Tokens in a training step."""
    threads: Natural = 0
    """Threads on a CPU; 0: all cores."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: a GPU if there is one."""


@dataclass
class FillingSettings:
    """How gaps are filled."""

    policy: str = f"own:{NETWORK},tactics"
    """The policy, as for `prove --policy`; {network} is the checkpoint of the last training."""
    seconds: Timeout = 20.0
    """Most seconds of search for each gap."""
    simulations: Positive = 2000
    """Most expansions of proof states for each gap."""
    jobs: Natural = 0
    """Gaps that are searched at once; 0: as many as this machine allows."""
    baseline: bool = False
    """Before any training, search every gap also with only the list of tactics, for comparison."""
    last: bool = False
    """After the last training, search the gaps that are still open with the last network."""


@dataclass
class AgentSettings:
    """Trace repositories, train on one after the other, fill their gaps, and write a report."""

    projects: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Repositories: folders (Lake projects, or folders of .lean files), or URL@COMMIT."""
    out: Path = Path("runs/agent")
    """Folder of the agent: database, traces, networks, report. The same command resumes."""
    order: Literal["easy", "mean", "given"] = "easy"
    """Order of the repositories: most easy theorems first (LeanAgent), lowest mean difficulty first, or as named."""
    write: bool = False
    """Write proofs into repositories that are your folders; otherwise only the report has the diffs."""
    fill: bool = True
    """Search proofs for each `sorry`."""
    learning: Annotated[LearningSettings, tyro.conf.arg(name="")] = field(default_factory=LearningSettings)
    """How the network learns."""
    filling: Annotated[FillingSettings, tyro.conf.arg(name="")] = field(default_factory=FillingSettings)
    """How gaps are filled."""
    split: bool = True
    """Split composed tactics into atomic steps, as `proofmesh trace` does."""
    file_seconds: Timeout = 600.0
    """Time limit for each Lean process that elaborates a whole file."""
    memory_mb: Positive = 4096
    """Memory limit for each of these processes."""
    trace_jobs: Natural = 0
    """Files that are traced at once; 0: as many as cores and memory allow."""
    sandbox: bool = True
    """Confine Lean processes as far as the system allows."""
    seed: Natural = 0
    """Seed of weights and order."""
    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean to use; a Lake project uses its own unless these settings name one. Section [lean] of --config."""
    config: Path | None = None
    """A TOML file with a section [lean]; flags take precedence."""

    def fixed(self) -> dict[str, Any]:
        """The settings that must not change when the agent resumes."""
        learning = asdict(self.learning)
        free = ("threads", "device", "minutes")
        fixed_settings = {name: value for name, value in learning.items() if name not in free}
        fixed_settings["start_data"] = list(self.learning.start_data)
        return {**fixed_settings, "order": self.order, "split": self.split, "seed": self.seed}

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if self.learning.batch_tokens < self.learning.length:
            raise ValueError(
                f"batch_tokens {self.learning.batch_tokens}: must be at least --length {self.learning.length}"
            )
