"""Evaluates a round's network on test statements, which training never uses."""

from __future__ import annotations

import statistics

from common.passes import sizes, unbiased
from node.stp.attempting import attempt, tasks, verify
from node.stp.store import Part
from node.stp.work import Work

TEST = "test"


async def evaluate(work: Work, round: int) -> dict[str, float]:
    """pass@k of the served network for powers of two k up to the number of samples (Chen et al., arXiv 2107.03374,
    equation 1), and the number of solved statements. Raises BusError."""
    settings, store = work.settings.evaluation, work.store
    theorems = [each.theorem for each in store.statements(TEST)]
    theorems = theorems[: settings.statements or len(theorems)]
    if not theorems or not settings.samples:
        return {}
    recorded = store.evaluations().get(round, {}).get(TEST)
    if recorded:
        return recorded
    names = {each.name for each in theorems}
    await attempt(work, round, tasks(work, theorems, f"{round}-test", settings.samples), Part.EVALUATION)
    await verify(work, round)
    results = [each for name, each in store.attempted(round).items() if name in names and each.samples]
    numbers = {
        f"pass@{k}": statistics.fmean(unbiased(each.samples, each.correct, k) for each in results if each.samples >= k)
        for k in sizes(settings.samples)
        if results
    }
    numbers |= {"solved": float(sum(each.correct > 0 for each in results)), "statements": float(len(results))}
    store.add_evaluation(round, TEST, numbers)
    return numbers


def in_words(numbers: dict[str, float]) -> str:
    """An evaluation in one line."""
    passes = [f"{name} {value:.1%}" for name, value in numbers.items() if name.startswith("pass@")]
    return f"test: {numbers['solved']:.0f} of {numbers['statements']:.0f} solved, {', '.join(passes)}"
