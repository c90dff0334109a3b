"""The table of commands: name, one-line help, and the module of the code, which is imported only when it runs."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command of `proofmesh`, run as `main(argv) -> exit code`."""

    help: str
    entry: str
    """`module:function`."""


@dataclass(frozen=True)
class Role(Command):
    """A node's command, run as `main(settings, node) -> exit code`, with settings from file and flags."""

    settings: str
    """`module:class` of the role's dataclass."""
    section: str
    """Its section in the configuration file."""


def _role(package: str, settings: str, help: str) -> Role:
    section = package.split(".")[-1]
    return Role(help, f"{package}.service:main", f"{package}.settings:{settings}", section)


ROLES: dict[str, Role] = {
    "broker": _role("broker", "BrokerSettings", "the message broker: nats-server with the streams of a run"),
    "learner": _role("node.learner", "LearnerSettings", "matchmaker, replay buffer, training, checkpoints, evaluation"),
    "inference": _role("node.inference", "InferenceSettings", "samples tactics from the policy, in batches"),
    "prover": _role("node.prover", "ProverSettings", "searches for proofs, several at once"),
    "lean-proxy": _role("node.lean_proxy", "LeanProxySettings", "runs tactics in Lean, verifies proofs"),
    "ui": _role("ui", "UiSettings", "the web monitor"),
}

TOOLS: dict[str, Command] = {
    "up": Command("start all roles as child processes, from one file", "node.mesh.up:main"),
    "prove": Command("prove a statement, a theorem or `sorry` of a file, or many statements", "node.mesh.prove:main"),
    "eval": Command("evaluate policies and methods on benchmarks; compare and show results", "node.mesh.eval:main"),
    "fill": Command("replace `sorry`s in .lean files by proofs, printed or written", "node.mesh.fill:main"),
    "inspect": Command("show a search of `prove --explain`, or the theorems of a run", "node.mesh.inspect:main"),
    "verify": Command("check the proofs in .lean files and folders with Lean's kernel", "node.mesh.verify:main"),
    "recheck": Command("verify every recorded proof of a run anew, with a second kernel", "node.mesh.recheck:main"),
    "serve": Command("run a verification service with Kimina Lean Server's HTTP API", "node.serve.service:main"),
    "status": Command("show the nodes of a mesh, and the protections of Lean processes", "node.mesh.status:main"),
    "runs": Command("list the runs on a broker, and remove those that are over", "node.mesh.runs:main"),
    "trace": Command("extract every tactic of Lean files, with states before and after", "node.mesh.trace:main"),
    "premises": Command(
        "premise retrieval by proof state: index a library, search, eval", "node.retrieval.command:main"
    ),
    "bank": Command("theorem banks: import data sets, list, stats, check", "node.bank.command:main"),
    "models": Command(
        "prover models: families and exact prompts, try one, convert ours to Hugging Face format and back",
        "node.llm.command:main",
    ),
    "replay": Command("rebuild a run's replay buffer from its records", "node.learner.replay.command:main"),
    "demo": Command("run a small mesh that learns: warm start, reinforcement learning", "node.mesh.demo:main"),
    "repl": Command("serve the community REPL's protocol on stdin and stdout", "node.lean.adapters.repl.service:main"),
    "leantree-server": Command(
        "serve LeanTree's HTTP protocol over our Lean workers", "node.lean.adapters.leantree.service:main"
    ),
    "train": Command(
        "train our network (pretrain, midtrain, sft, recipe), or a Hugging Face model (hf-sft, grpo, ...)",
        "node.mesh.train:main",
    ),
    "agent": Command("learn from Lean repositories in turn, and prove their `sorry`s", "node.mesh.agent:main"),
    "stp": Command("self-play of a conjecturer and a prover (STP)", "node.mesh.stp:main"),
    "join-trainer": Command(
        "join a learner that trains on several machines, with this machine's ranks", "node.learner.trainer.join:main"
    ),
    "tokenizer": Command("make, measure and show tokenizers", "node.training.tokenizer_cli:main"),
    "bench": Command("benchmark one part: bus, engine, search, ...", "scripts.bench.__main__:main"),
}

COMMANDS: dict[str, Command] = TOOLS | ROLES


class MissingPart(Exception):
    """This installation lacks a module that a command needs. The message names the module."""


def exists(target: str) -> bool:
    """Whether the module of `module:name` exists. Does not import it."""
    module = target.partition(":")[0]
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def resolve(target: str) -> Callable[..., Any]:
    """Import `module:name` and return the object. Raises MissingPart; exceptions of the import itself pass through."""
    module, _, name = target.partition(":")
    if not exists(target):
        raise MissingPart(f"this installation has no {module}; run `just setup` in a complete checkout")
    function: Callable[..., Any] | None = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise MissingPart(f"{module} has no `{name}`; the checkout mixes versions: run `git status` and `just setup`")
    return function
