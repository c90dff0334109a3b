"""Starts an inference node. It serves the network: it answers `tactic.request`, follows the learner's weights, and
pauses when the learner says so. Or it serves a third-party language model."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from common.settings import NodeSettings
from node.inference.settings import InferenceSettings

if TYPE_CHECKING:
    from common.life.node import NodeContext


def main(settings: InferenceSettings, node: NodeSettings) -> int:
    """Run an inference node until it is stopped; returns the exit code."""
    if settings.model:
        return _serve_model(settings, node)
    # Import torch before the event loop starts: it takes a second, and would block the loop.
    from common.life.metrics import show_gpus
    from common.life.node import NodeFailure, run_node
    from node.inference.serving import Serving
    from node.model.checkpoint_folders import CheckpointError
    from node.model.weights import WeightsError

    # Freeze torch's 190,000 objects: every full garbage collection would otherwise scan them for 86 ms.
    gc.collect()
    gc.freeze()

    async def serve(context: NodeContext) -> None:
        show_gpus()
        try:
            await Serving(settings, context).run()
        except (WeightsError, CheckpointError) as error:  # a restart cannot help
            raise NodeFailure(f"[inference] weights: {error}", exit_code=2) from error

    return run_node("inference", settings=node, main=serve, capacity={"slots": settings.engine.slots})


def _serve_model(settings: InferenceSettings, node: NodeSettings) -> int:
    """Run a node that serves a third-party language model. It does not import torch, which a gateway does not need."""
    from common.life.metrics import show_gpus
    from common.life.node import run_node
    from node.inference.models import ModelServing

    async def serve(context: NodeContext) -> None:
        show_gpus()
        await ModelServing(settings, context).run()

    return run_node("inference", settings=node, main=serve, capacity={"requests": settings.queue})
