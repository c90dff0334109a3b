"""Counts the costs of an attempt: time, samples, tokens. Builds the statistics of its result."""

from __future__ import annotations

from dataclasses import dataclass

from common.protocol.attempts import AttemptStatistics, Ended
from node.prover.policies.policy import Advice
from node.prover.search.simulation import SearchStatistics


@dataclass(slots=True)
class Account:
    """The costs of an attempt so far. `seconds_policy` and `seconds_lean` are waiting times, summed over expansions,
    which may overlap."""

    expansions: int = 0
    seconds_policy: float = 0.0
    seconds_lean: float = 0.0
    seconds_search: float = 0.0
    """Computing time of the search itself."""
    seconds_verify: float = 0.0
    """Time waiting for the final verification of proofs."""
    solved_at_seconds: float = 0.0
    """Time until the current proof was found."""
    samples: int = 0
    tokens: int = 0
    weights_first: int = 0
    weights_last: int = 0
    corrections: int = 0
    duplicates: int = 0
    without_proof: int = 0
    correct: int = 0

    def note_advice(self, advice: Advice) -> None:
        """Count the samples and tokens of one advice."""
        self.samples += advice.drawn
        self.tokens += advice.tokens or 0

    def note_weights(self, version: int) -> None:
        self.weights_first = self.weights_first or version
        self.weights_last = version or self.weights_last  # lists of tactics have version 0

    def statistics(
        self,
        search: SearchStatistics | None,
        *,
        nodes: int,
        seconds: float,
        lean_attempts: int,
        ended: Ended | None,
        proved: bool,
    ) -> AttemptStatistics:
        """The statistics of the attempt's result. `search`: None if the theorem was not opened."""
        return AttemptStatistics(
            simulations=search.simulations if search else 0,
            expansions=self.expansions,
            expansions_lost=search.expansions_lost if search else 0,
            nodes=nodes,
            tactics_tried=search.tactics_tried if search else 0,
            tactics_failed=search.tactics_failed if search else 0,
            seconds=seconds,
            seconds_policy=self.seconds_policy,
            seconds_lean=self.seconds_lean,
            weights_first=self.weights_first,
            weights_last=self.weights_last,
            ended=ended,
            solved_at_simulations=search.solved_at_simulations if search and proved else 0,
            solved_at_lean_attempts=search.solved_at_tactics if search and proved else 0,
            solved_at_seconds=self.solved_at_seconds if proved else 0.0,
            proofs_rejected=search.proofs_rejected if search else 0,
            lean_attempts=lean_attempts,
            samples=self.samples,
            tokens=self.tokens,
            seconds_verify=self.seconds_verify,
            corrections=self.corrections,
            duplicates=self.duplicates,
            without_proof=self.without_proof,
            correct=self.correct,
        )
