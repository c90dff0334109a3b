"""Computes how many attempts to keep queued on a mesh, from the provers that run at the moment."""

from __future__ import annotations

from collections.abc import Sequence

from common.protocol.messages import NodeInfo

AHEAD = 1.25
"""Outstanding attempts for each search slot of the mesh, so that no slot is idle."""


def searches_of(nodes: Sequence[NodeInfo]) -> int:
    """The number of attempts to keep outstanding: at least one, even if there are no provers."""
    return max(1, round(AHEAD * sum(node.capacity.get("searches", 0) for node in nodes if node.role == "prover")))
