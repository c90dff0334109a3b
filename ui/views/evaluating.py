"""Views of evaluations: their history, the statements of one, and two of them compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from common.protocol.attempts import AttemptOutcome
from common.records.readers import evaluated_statements
from common.statistics import bootstrap_interval, mcnemar
from ui.runs import Kind, NotHere, Run
from ui.views import View
from ui.views.learning import evaluation, share

MOST_NAMED = 300
"""Most statements that are listed of those which only one of two evaluations has solved; the numbers are of all."""

Label = Annotated[str, msgspec.Meta(max_length=200)]


class Statement(msgspec.Struct, frozen=True):
    """A statement of an evaluation."""

    theorem: str
    family: str
    level: int
    outcome: str
    """`solved`, `unsolved`, `undecided` (infrastructure failed) or `outstanding`."""
    attempt: str = ""
    """Its latest attempt; empty: it has no page."""
    simulations: int | None = None
    seconds: float | None = None
    reason: str = ""

    @property
    def solved(self) -> bool | None:
        """None: neither solved nor unsolved."""
        return {"solved": True, "unsolved": False}.get(self.outcome)


class EvaluationsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which evaluation, and which one it is compared with."""

    label: Label = ""
    """Empty: the latest one."""
    against: Label = ""
    """The one that it is compared with; empty: none."""
    outcome: Annotated[str, msgspec.Meta(max_length=20)] = ""
    """Only statements with this outcome; empty: all."""
    start: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(default=0, name="from")
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 100


def evaluations(run: Run, query: EvaluationsQuery) -> dict[str, Any]:
    """The history of a run's evaluations, some statements of one of them, and a comparison with another."""
    if run.kind is Kind.EVALUATION:
        whole, rows = _of_folder(run)
        return whole | _page(rows, query)
    history = [evaluation(each) for each in run.evaluations()]
    labels = [each["label"] for each in history]
    label = query.label or (labels[-1] if labels else "")
    if (query.label and query.label not in labels) or (query.against and query.against not in labels):
        raise NotHere(f"run {run.name} has no finished evaluation {query.label or query.against}")
    statements = _statements(run, label) if run.folder is not None and label else []
    found: dict[str, Any] = {"history": history, "label": label} | _page(statements, query)
    if query.against:
        found["compared"] = compared(_statements(run, query.against), statements)
    return found


def _page(statements: Sequence[Statement], query: EvaluationsQuery) -> dict[str, Any]:
    kept = [each for each in statements if not query.outcome or each.outcome == query.outcome]
    return {"statements": kept[query.start : query.start + query.limit], "kept": len(kept), "all": len(statements)}


def _statements(run: Run, label: str) -> Sequence[Statement]:
    if run.kind is not Kind.LEARNER:
        return ()
    finished = next((float(each["time"]) for each in run.evaluations() if each["label"] == label), 0.0)
    return _finished(run.records, finished, label)


@lru_cache(maxsize=4)
def _finished(records: Path, finished: float, label: str) -> Sequence[Statement]:
    """The statements of a finished evaluation, which never change. `finished`: when; in a new run of the same name
    another time (its file may have the old one's inode)."""
    return [
        Statement(
            theorem=each.theorem_id,
            family=each.family,
            level=each.level,
            outcome=_outcome(each.outcome),
            attempt=each.attempt_id,
            simulations=each.simulations,
            seconds=each.seconds,
            reason=each.message,
        )
        for each in evaluated_statements(records, label)
    ]


def _outcome(recorded: str) -> str:
    """As the learner counts it."""
    if recorded not in set(AttemptOutcome):
        return "outstanding"
    outcome = AttemptOutcome(recorded)
    return "solved" if outcome is AttemptOutcome.PROVED else "unsolved" if outcome.decided else "undecided"


def compared(first: Sequence[Statement], second: Sequence[Statement]) -> dict[str, Any]:
    """The second evaluation against the first one, over the statements that both have decided: the difference with its
    95% interval, the p-value of McNemar's test, and the statements that only one has solved."""
    before: Mapping[str, bool | None] = {each.theorem: each.solved for each in first}
    both = [(each, before.get(each.theorem), each.solved) for each in second]
    decided = [(each, one, two) for each, one, two in both if one is not None and two is not None]
    lost = [each for each, one, two in decided if one and not two]
    won = [each for each, one, two in decided if two and not one]
    mean, low, high = _interval(len(won), len(lost), len(decided) - len(won) - len(lost))
    return {
        "statements": len(decided),
        "difference": mean,
        "low": low,
        "high": high,
        "p": mcnemar(len(lost), len(won)),
        "won": len(won),
        "lost": len(lost),
        "won_names": won[:MOST_NAMED],
        "lost_names": lost[:MOST_NAMED],
    }


@lru_cache(maxsize=256)
def _interval(won: int, lost: int, same: int) -> tuple[float, float, float]:
    """The bootstrap depends only on how many statements differ, and takes half a second."""
    return bootstrap_interval([(0.0, 1.0)] * won + [(1.0, 0.0)] * lost + [(0.0, 0.0)] * same, seed=0)


def _of_folder(run: Run) -> tuple[dict[str, Any], list[Statement]]:
    """The results of `proofmesh eval`, as one evaluation, and its statements."""
    # The one place of the monitor that imports a library of `node`'s applications: how attempts of a folder are counted
    # is long, and must not be done in two ways.
    from node.eval.folder import Standing, read
    from node.eval.results import results_of

    results = results_of(read(run.path("")))
    outcomes = {Standing.SOLVED: "solved", Standing.UNSOLVED: "unsolved"}
    statements = [
        Statement(
            theorem=row.statement.name,
            family=row.statement.family,
            level=row.statement.level,
            outcome=outcomes.get(row.standing, "undecided"),
            simulations=sum(each.statistics.simulations for each in row.attempts),
            reason=row.reason,
        )
        for row in results.statements
    ]
    grouped: dict[str, dict[str, list[Statement]]] = {"levels": {}, "families": {}}
    for each in statements:
        grouped["levels"].setdefault(str(each.level), []).append(each)
        grouped["families"].setdefault(each.family, []).append(each)
    whole: dict[str, Any] = {
        "label": run.name,
        "step": 0,
        "statements": len(statements),
        "solved": sum(each.outcome == "solved" for each in statements),
        "undecided": sum(each.solved is None for each in statements),
        "share": _share(statements),
        "simulations": results.plan.budgets.simulations,
        "time": max((each.time for row in results.statements for each in row.attempts), default=0.0),
    }
    parts = {kind: {name: _share(some) for name, some in groups.items()} for kind, groups in grouped.items()}
    return {"history": [whole | parts], "label": run.name}, statements


def _share(statements: Sequence[Statement]) -> Any:
    return share(
        sum(each.outcome == "solved" for each in statements), sum(each.solved is not None for each in statements)
    )


VIEWS = {"evaluations": View(EvaluationsQuery, evaluations)}
