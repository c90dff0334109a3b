"""What proposes tactics, as a person names it: `own:PATH`, `tactics`, `tactics:FILE`, mixtures `own:PATH+tactics`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from node.lean.text.rules import tactic_problem
from node.prover.fixed_policy import CLOSING, FixedPolicy, value
from node.prover.mixture import MixturePolicy, Part
from node.prover.parameters import SearchParameters
from node.prover.policy import Advice, Policy
from node.prover.prior import Proposal
from node.prover.settings import ProverSettings
from node.proving.checkpoints import BadPolicy, weights_at

KINDS = "`own:PATH`, `tactics` and `tactics:FILE`, and mixtures such as `own:PATH+tactics`"

LIST_SHARE = 1.0
"""Of the prior mass, for a list of tactics beside a network with 1: what one sample in a few says weighs about as much
as the list's best guess."""

MOST_LINES = 48
"""Of a file of tactics: they are all tried on every state."""

_BEGINS_A_PART = re.compile(r"\+(?=\w+:|tactics(?:\+|$))")


@dataclass(frozen=True)
class PolicyName:
    """One part of what was asked for."""

    kind: str
    """`own` or `tactics`."""
    where: str = ""
    """The path behind the colon."""


@dataclass(frozen=True)
class OpenedPolicy:
    """A policy that answers, and the search that goes with it."""

    policy: Policy
    parameters: SearchParameters
    network: bool
    """Whether a network is part of it."""


class ListedTactics:
    """A policy that proposes the same tactics everywhere, in order."""

    def __init__(self, tactics: Sequence[str]) -> None:
        size = len(tactics)
        self._proposals = [Proposal(tactic, 1.0 - 0.5 * rank / size) for rank, tactic in enumerate(tactics)]

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """All of them, whatever is asked."""
        return Advice(list(self._proposals), value(state), exhausted=True)


def parse(text: str) -> list[PolicyName]:
    """The parts of a policy's name. Raises BadPolicy."""
    names = []
    for part in _BEGINS_A_PART.split(text.strip()):
        kind, colon, where = part.strip().partition(":")
        if kind not in ("own", "tactics"):
            raise BadPolicy(f"there is no policy `{part}`; there are {KINDS}")
        if (colon or kind == "own") and not where.strip():
            raise BadPolicy(f"`{part}` names no {'checkpoint' if kind == 'own' else 'file'}; write `{kind}:PATH`")
        names.append(PolicyName(kind, where.strip()))
    if len(names) != len(set(names)):
        raise BadPolicy(f"`{text}` names a part twice")
    return names


def check(text: str, note: Callable[[str], None] = lambda text: None) -> None:
    """Whether a policy can be opened, as far as that can be seen without loading a network. Raises BadPolicy."""
    for name in parse(text):
        if name.kind == "own":
            weights_at(Path(name.where), note)
        elif name.where:
            read_tactics(Path(name.where))


def read_tactics(file: Path) -> list[str]:
    """The tactics of a file: one a line, blank lines and lines that begin with # left out. Raises BadPolicy."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadPolicy(f"{file}: the list of tactics cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadPolicy(f"{file}: the list of tactics is not text in UTF-8") from error
    tactics: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        tactic = line.strip()
        if not tactic or tactic.startswith("#"):
            continue
        if problem := tactic_problem(tactic):
            raise BadPolicy(f"{file}, line {number}: {problem}")
        tactics[tactic] = None
    if not tactics:
        raise BadPolicy(f"{file}: there is no tactic in it")
    if len(tactics) > MOST_LINES:
        raise BadPolicy(f"{file}: {len(tactics)} tactics; at most {MOST_LINES}, as all are tried on every state")
    return list(tactics)


@asynccontextmanager
async def open_policy(
    names: Sequence[PolicyName],
    *,
    threads: int = 1,
    closing: Sequence[str] = CLOSING,
    note: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[OpenedPolicy]:
    """The policy, for as long as the block lasts. `closing`: what the fixed list tries first. Raises BadPolicy."""
    parts: list[Part] = []
    async with AsyncExitStack() as stack:
        for name in names:
            if name.kind == "own":
                parts.append(Part(await _network(stack, Path(name.where), threads, note), has_values=True))
            elif name.where:
                parts.append(Part(ListedTactics(read_tactics(Path(name.where))), LIST_SHARE))
            else:
                parts.append(Part(FixedPolicy(closing), LIST_SHARE))
        network = any(part.has_values for part in parts)
        parameters = ProverSettings(policy="inference" if network else "fixed").search_parameters()
        yield OpenedPolicy(parts[0].policy if len(parts) == 1 else MixturePolicy(parts), parameters, network)


async def _network(stack: AsyncExitStack, path: Path, threads: int, note: Callable[[str], None]) -> Policy:
    """Raises BadPolicy."""
    weights = weights_at(path, note)
    from node.model.checkpoint_folders import CheckpointError
    from node.model.weights import WeightsError
    from node.proving.own_policy import own_policy

    try:
        return await stack.enter_async_context(own_policy(weights, threads=threads))
    except (WeightsError, CheckpointError, OSError) as error:
        raise BadPolicy(f"cannot use the network {weights}: {error}") from error
