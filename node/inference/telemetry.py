"""Telemetry of an inference node: Prometheus metrics and the values of its heartbeat."""

from __future__ import annotations

from common.life import metrics
from common.life.metrics import Followed
from common.life.node import NodeContext
from node.inference.worker import Snapshot


class Telemetry:
    """Turns the worker's running totals into metrics."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._version = -1
        self._seconds = metrics.histogram("inference_request_seconds", "From a request's arrival to its answer")
        self._states = Followed(metrics.counter("inference_states", "States answered"))
        self._tokens = Followed(metrics.counter("inference_tokens", "Tokens sampled, ends included"))
        self._prompt_tokens = Followed(metrics.counter("inference_prompt_tokens", "Tokens of prompts read"))
        self._remembered = Followed(
            metrics.counter("inference_states_remembered", "States whose prompt was found prefilled and not read again")
        )
        self._dropped = Followed(
            metrics.counter("inference_prefilled_dropped", "Prefilled states dropped for newer ones")
        )
        self._cut_off = Followed(metrics.counter("inference_cut_off", "Samples cut off, which never go to Lean"))
        self._prefilled = metrics.gauge("inference_prefilled", "Prefilled states kept, over all weight versions")
        self._prefilled_bytes = metrics.gauge("inference_prefilled_bytes", "Memory of the prefilled states")
        self._passes = Followed(metrics.counter("inference_passes", "Forward passes"))
        self._rows = Followed(
            metrics.counter("inference_rows", "Rows of forward passes: distinct completions and new prompts")
        )
        self._samples = Followed(metrics.counter("inference_samples", "Samples advanced, summed over forward passes"))
        self._queue = metrics.gauge("inference_queue", "Requests held, running ones included")
        self._paused = metrics.gauge("inference_paused", "1 while the learner holds the compute")
        self._fraction = metrics.gauge("inference_pause_ratio", "Share of time paused")
        self._weights = metrics.gauge("inference_weights", "Weight version served")

    def answered(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def serving(self, version: int) -> None:
        self._version = version
        self._weights.set(version)

    def update(self, snapshot: Snapshot, queue: int, paused: bool, fraction: float) -> None:
        """Count what the worker did since the last call."""
        now = snapshot.counters
        self._states.follow(now.states)
        self._tokens.follow(now.tokens)
        self._prompt_tokens.follow(now.prompt_tokens)
        self._remembered.follow(now.remembered)
        self._dropped.follow(now.dropped)
        self._cut_off.follow(now.cut_off)
        self._prefilled.set(snapshot.prefilled)
        self._prefilled_bytes.set(snapshot.prefilled_bytes)
        self._passes.follow(now.passes)
        self._rows.follow(now.rows)
        self._samples.follow(now.samples)
        self._queue.set(queue)
        self._paused.set(paused)
        self._fraction.set(fraction)
        self._context.report(
            states=now.states,
            tokens=now.tokens,
            passes=now.passes,
            rows_per_pass=now.rows / max(1, now.passes),
            samples_per_pass=now.samples / max(1, now.passes),
            remembered=now.remembered,
            cut_off=now.cut_off,
            prefilled_bytes=snapshot.prefilled_bytes,
            queue=queue,
            weights=self._version,
            paused=float(paused),
            pause_fraction=fraction,
        )
