"""Names of the subjects on the broker. The bus adds the run's name in front, so that one broker serves several runs."""

from __future__ import annotations

import hashlib
import re
import secrets

from common.output.command import UserError
from common.protocol.attempts import LEARNER, SELF_PLAY, Purpose

PURPOSES = tuple(Purpose)
"""Kinds of attempts, in the order in which provers take them."""

TACTIC_REQUEST = "tactic.request"
LEAN_RUN = "lean.run"
LEAN_VERIFY = "lean.verify"
LEAN_CHECK = "lean.check"
LEAN_CHECK_GONE = "lean.check.gone"
PAUSE = "ctl.inference.pause"
RESUME = "ctl.inference.resume"

SIGNED = frozenset({LEAN_VERIFY})
"""Subjects whose replies count only with the signature of one of the run's verifiers (`common.bus.signing`)."""

VERIFIERS = "verifiers"
"""State key with the public keys of the run's verifiers."""

DURABLE_CLIENTS = (LEARNER, SELF_PLAY)
"""Clients whose results wait until they have stored them. The results of all others are kept for an hour."""

LONGEST_RUN_NAME = 40
"""Most characters of a run name."""

_RUN_NAME = re.compile(rf"[a-z0-9]([a-z0-9-]{{0,{LONGEST_RUN_NAME - 2}}}[a-z0-9])?")


class BadRunName(UserError, ValueError):
    """A run name that cannot be part of subjects and folder names."""


def check_run_name(name: str) -> str:
    """Return the name, or raise BadRunName: 1-40 lower-case letters, digits and inner hyphens."""
    if not _RUN_NAME.fullmatch(name):
        raise BadRunName(
            f"bad run name {name!r}: use 1 to {LONGEST_RUN_NAME} lower-case letters, digits and hyphens, such as "
            "`demo-2` (the name is part of every subject on the broker)"
        )
    return name


def result(client: str) -> str:
    """Subject for the results of one client's attempts (`common.protocol.attempts.Client`)."""
    return f"theorem.result.{client}"


def new_client(command: str) -> str:
    """A client name for a command that asks for attempts (`eval`, `prove`), which no other process has."""
    return f"{command}.{secrets.token_hex(8)}"


def todo(purpose: str) -> str:
    """Subject for attempts of one purpose."""
    return f"theorem.todo.{purpose}"


def samples(model: str) -> str:
    """Subject for requests to the nodes that serve a language model. Each model has its own subject."""
    return f"sample.request.{hashlib.blake2b(model.encode(), digest_size=8).hexdigest()}"


def samples_at_work(node_id: str) -> str:
    """Subject for polling one node about the sample requests that it works on."""
    return f"sample.at-work.{node_id}"


def telemetry(role: str, node_id: str, kind: str) -> str:
    return f"telemetry.{role}.{node_id}.{kind}"
