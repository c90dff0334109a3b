"""The unlikelihood loss of failed tactics: -log(1 - p(tactic | state)).

Welleck et al. (arXiv 1908.04319) lower the probability of single unwanted tokens. Here the unwanted thing
is a whole tactic, so p is the product of its tokens' probabilities, its end included. A token of a failed tactic is
often the right one, for example the first word of `exact h` where `exact g` is the proof.

The gradient with respect to log p is p / (1 - p), the same for all tokens of the tactic. It is computed first, and then
enters `linear_cross_entropy` as the negative weight of these tokens. So the logits of all tokens never exist at once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from node.model.cross_entropy import linear_cross_entropy

MOST_PULL = 10.0
"""Largest gradient with respect to log p, reached at p = 0.91. Without a limit, one failed tactic that the network is
sure of would determine the whole step."""

LEAST_NATS = math.log1p(1.0 / MOST_PULL)
"""-log p at that probability."""


def unlikelihood(nats: Tensor) -> Tensor:
    """-log(1 - p) for -log p = `nats`, of the same shape, limited as in `unlikelihood_loss`. Of the two usual forms,
    the one that is exact for this p (Mächler, "Accurately computing log(1 - exp(-|a|))", 2012)."""
    nats = nats.clamp_min(LEAST_NATS)
    likely = -torch.log(-torch.expm1(-nats))
    return torch.where(nats < math.log(2), likely, -torch.log1p(-torch.exp(-nats)))


def unlikelihood_loss(
    states: Tensor, matrix: Tensor, targets: Tensor, owner: Tensor, count: int, softcap: float
) -> tuple[Tensor, Tensor]:
    """Σ -log(1 - p) over `count` failed tactics, in nats, and their log-probabilities (count,) without gradients.

    `states` (F, width) are the states before the tokens `targets` (F,), and `owner` (F,) is the number of each token's
    tactic. Above p = 0.91 the value is the one at 0.91, and the gradient is that of this point (`MOST_PULL`).
    """
    with torch.no_grad():
        _, nats, _ = linear_cross_entropy(
            states, matrix, targets, torch.zeros_like(targets, dtype=torch.float32), softcap
        )
        total = torch.zeros(count, device=states.device).index_add_(0, owner, nats.float())
        limited = total.clamp_min(LEAST_NATS)
        pull = 1 / torch.expm1(limited)  # p / (1 - p)
        value = unlikelihood(total).sum()
    surrogate, _, _ = linear_cross_entropy(states, matrix, targets, -pull[owner], softcap)
    return surrogate + (value - surrogate.detach()), -total
