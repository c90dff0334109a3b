"""The table of roles: the command of each, and the module of its code, which is imported only when it runs."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from common.output.command import UserError


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
    words: tuple[str, ...] = ()
    """First arguments with which the role's name is a command of its own: `broker keys`."""
    words_entry: str = ""
    """`module:function` of that command."""


def _role(package: str, settings: str, help: str) -> Role:
    section = package.split(".")[-1]
    return Role(help, f"{package}.service:main", f"{package}.settings:{settings}", section)


ROLES: dict[str, Role] = {
    "broker": replace(
        _role("broker", "BrokerSettings", "the message broker: nats-server with the streams of a run; its keys"),
        words=("keys", "invite", "revoke"),
        words_entry="broker.command:main",
    ),
    "learner": _role("node.learner", "LearnerSettings", "matchmaker, replay buffer, training, checkpoints, evaluation"),
    "inference": _role("node.inference", "InferenceSettings", "samples tactics from the policy, in batches"),
    "prover": _role("node.prover", "ProverSettings", "searches for proofs, several at once"),
    "lean-proxy": _role("node.lean_proxy", "LeanProxySettings", "runs tactics in Lean, verifies proofs"),
    "ui": _role("ui", "UiSettings", "the web monitor"),
}


class MissingPart(UserError):
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
