"""Numbers that summarize the results of an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from node.agent.records import Attempt, Evaluation, Patch, Phase, Repository
from node.agent.store import AGENT, AgentStore
from node.proving.fill import GapState


def summary(attempts: Sequence[Attempt]) -> str:
    """The outcomes of searches, in a line."""
    counts = Counter(each.state for each in attempts)
    outcomes = ", ".join(f"{counts[state]} {state}" for state in GapState if counts[state])
    if resting := sum(bool(each.rests) for each in attempts):
        outcomes += f" ({resting} of them by what is still open)"
    seconds = sum(each.seconds for each in attempts)
    return f"{counted(len(attempts), 'gap')}{': ' if outcomes else ''}{outcomes}; {seconds:.0f} s of search"


def counted(number: int, thing: str) -> str:
    """`1 gap`, `2 gaps`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def filled(attempts: Iterable[Attempt]) -> int:
    """Number of gaps with verified proofs, including proofs that depend on other gaps."""
    return sum(each.state == GapState.FILLED for each in attempts)


def complete(attempts: Iterable[Attempt]) -> int:
    """Number of gaps with verified proofs that depend on no open gap."""
    return sum(each.state == GapState.FILLED and not each.rests for each in attempts)


def best_patches(store: AgentStore, repository: Repository) -> list[Patch]:
    """For each file of a repository, the patch that fills the most gaps; of equal ones the newest."""
    best: dict[str, tuple[int, Patch]] = {}
    for phase in (Phase.BASELINE, Phase.NETWORK, Phase.LAST):
        attempts = store.attempts(repository.number, phase)
        for patch in store.patches(repository.number, phase):
            count = filled(each for each in attempts if each.path == patch.path)
            if patch.path not in best or count >= best[patch.path][0]:
                best[patch.path] = count, patch
    return [patch for _, patch in best.values()]


@dataclass(frozen=True)
class Lifelong:
    """The effect of later training on earlier data sets, over all data sets except the last.

    a[i, j] is the accuracy on data j after training i, T the last training. (Chaudhry et al., arXiv 1801.10112,
    section 3: forgetting; Lopez-Paz and Ranzato, arXiv 1706.08840, equation 3: backward transfer.)
    """

    forgetting: float
    """Mean over j of max over i from j to T - 1 of a[i, j], minus a[T, j]. Positive means forgetting."""
    backward_transfer: float
    """Mean over j of a[T, j] minus a[j, j]. Positive means that later data helped earlier data."""
    loss_change: float
    """The same for the loss in nats a token. Negative means that later data helped."""


def lifelong(evaluations: Sequence[Evaluation], order: Sequence[int]) -> Lifelong | None:
    """`order`: trainings in order, AGENT (the first network) first. Returns None if there is nothing to compare."""
    by_key = {(each.training, each.repository): each for each in evaluations}
    last = order[-1] if order else AGENT
    forgotten, accuracy, loss = [], [], []
    for place, data in enumerate(order[:-1]):
        end, own = by_key.get((last, data)), by_key.get((data, data))
        if end is None or own is None:
            continue
        before = [by_key[each, data].accuracy for each in order[place:-1] if (each, data) in by_key]
        forgotten.append(max(before) - end.accuracy)
        accuracy.append(end.accuracy - own.accuracy)
        loss.append(end.loss - own.loss)
    if not accuracy:
        return None
    return Lifelong(_mean(forgotten), _mean(accuracy), _mean(loss))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
