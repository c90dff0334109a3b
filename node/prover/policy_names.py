"""Policies as a person names them: a network, `tactics`, `tactics:FILE`, and mixtures of these, joined by `+`.

What runs in one process has its network from a file: `own:PATH`. A mesh has one network, that of its inference nodes:
`inference`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

OWN, INFERENCE, TACTICS = "own", "inference", "tactics"

NETWORKS = (OWN, INFERENCE)

KINDS = {
    OWN: "`own:PATH`, `tactics` and `tactics:FILE`, and mixtures such as `own:PATH+tactics`",
    INFERENCE: "`inference`, `tactics` and `tactics:FILE`, and mixtures such as `inference+tactics`",
}
"""All policies, by the network that can be part of them."""

_ELSEWHERE = {
    OWN: "a mesh has a network of its own, `inference`, and takes no `own:PATH`; `proofmesh up --policy own:PATH` "
    "starts one that serves this network, and so does [inference] weights",
    INFERENCE: "`inference` is the network of a running mesh; name the mesh with --url, or a network with `own:PATH`",
}
"""What to do instead, by the network that was asked for where it cannot be had."""

_ALSO = {"fixed": TACTICS}

_BEGINS_A_PART = re.compile(r"\+(?=\w+:|(?:tactics|fixed|inference)(?:\+|$))")


class BadPolicy(ValueError):
    """What was asked for as a policy cannot be had; the text says why, and what to do."""


@dataclass(frozen=True)
class PolicyName:
    """One part of what was asked for."""

    kind: str
    """`own`, `inference` or `tactics`."""
    where: str = ""
    """The path behind the colon."""

    @property
    def is_network(self) -> bool:
        return self.kind in NETWORKS

    def __str__(self) -> str:
        return f"{self.kind}:{self.where}" if self.where else self.kind


def parse(text: str, network: str) -> list[PolicyName]:
    """The parts of a policy's name. `network`: what can be a network there, OWN or INFERENCE. Raises BadPolicy."""
    names = [_part(part.strip(), network) for part in _BEGINS_A_PART.split(text.strip())]
    if len(names) != len(set(names)):
        raise BadPolicy(f"`{text}` names a part twice")
    return names


def joined(names: Iterable[PolicyName]) -> str:
    """The name that `parse` reads again."""
    return "+".join(map(str, names))


def has_network(names: Iterable[PolicyName]) -> bool:
    """Whether a network is part of a policy."""
    return any(name.is_network for name in names)


def _part(part: str, network: str) -> PolicyName:
    """Raises BadPolicy."""
    kind, colon, where = (piece.strip() for piece in part.partition(":"))
    kind = _ALSO.get(kind, kind)
    if kind in NETWORKS and kind != network:
        raise BadPolicy(_ELSEWHERE[kind])
    if kind not in (network, TACTICS):
        raise BadPolicy(f"there is no policy `{part}`; there are {KINDS[network]}")
    if kind == INFERENCE and colon:
        raise BadPolicy(f"`{part}`: a mesh has one network; write `{INFERENCE}`")
    if (colon or kind == OWN) and not where:
        raise BadPolicy(f"`{part}` names no {'checkpoint' if kind == OWN else 'file'}; write `{kind}:PATH`")
    return PolicyName(kind, where)
