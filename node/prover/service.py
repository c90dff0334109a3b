"""Runs a prover node: sets garbage collection, publishes the node's facts, and plays attempts until it is stopped."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from common.protocol.messages import ProverFacts
from common.settings import NodeSettings
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from common.life.node import NodeContext

GC_THRESHOLDS = (50_000, 20, 50)
"""Search trees are large, full of cycles, and alive until an attempt ends. Collecting at every 700 objects, Python's
default, would scan them again and again and free nothing."""


def main(settings: ProverSettings, node: NodeSettings) -> int:
    """Run a prover until it is stopped. Returns the exit code."""
    from common.life.node import run_node

    async def serve(context: NodeContext) -> None:
        from node.prover.policies.names import INFERENCE, parse
        from node.prover.policies.sources import labels
        from node.prover.prover import Prover

        gc.set_threshold(*GC_THRESHOLDS)
        context.facts = ProverFacts(
            policy=settings.policy,
            leaves=settings.leaves,
            sampling=settings.sampling,
            templates=labels(parse(settings.policy, INFERENCE)),
        )
        await Prover(context.bus, settings, context.id, context.report, context.spans.add).run(context.stopping)

    return run_node("prover", node, serve, capacity={"searches": settings.resolved_searches()})
