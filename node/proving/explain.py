"""Records a theorem's searches for `prove --explain`: states, tactics, priors, visits, values, Lean's messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from common.files import write_whole
from common.lean import Outcome, OutcomeKind, Theorem
from common.output.command import UserError
from common.protocol.attempts import Attempt
from common.report import page as report_page
from node.prover.agent import Expansion
from node.prover.search.methods import ProofSearch
from node.prover.search.tree import Action, StateNode
from node.proving.answers import Answer

USELESS = "useless"
"""Kind of a tactic that ran, but changed nothing or led back to an ancestor."""

SAME = "same"
"""Kind of a tactic that ran, and led to the same states as another tactic."""


class BadExplanation(UserError, ValueError):
    """A file without a recorded search. The message has the reason."""


class TakenTactic(msgspec.Struct, frozen=True):
    """A legal tactic of a state."""

    tactic: str
    prior: float
    """Its normalised prior."""
    visits: int
    value: float | None
    """Mean value: minus the remaining tactics, this one included. None: never visited."""
    children: tuple[int, ...]
    """The states that it leaves to be proved; empty: it closes the state."""
    steps: int | None = None
    """Length of the longest branch of the shortest known proof through it."""
    dead: bool = False
    """True if one of its states cannot be proved with the policy's tactics."""


class FailedTactic(msgspec.Struct, frozen=True):
    """A tactic that failed, or that the search ignores."""

    tactic: str
    kind: str
    """An outcome's kind, `useless`, or `same`."""
    message: str
    """Lean's whole message."""


class ExplainedState(msgspec.Struct, frozen=True):
    """A state of the search."""

    id: int
    state: str
    depth: int
    visits: int
    value: float
    """Mean value: minus the remaining tactics. Exact once a proof is known."""
    expansions: int
    parent: int | None
    """The state from which it was first reached."""
    tactic: str = ""
    """The tactic that led from the parent to this state."""
    steps: int | None = None
    """Length of the longest branch of its shortest known proof."""
    dead: bool = False
    best: int | None = None
    """Index of the first tactic of that proof."""
    tactics: tuple[TakenTactic, ...] = ()
    """Sorted by decreasing prior."""
    failed: tuple[FailedTactic, ...] = ()


class ExplainedSearch(msgspec.Struct, frozen=True):
    """One search. A theorem may have several, with different policies, or for its negation."""

    theorem: str
    simulations: int
    tactics_tried: int
    tactics_failed: int
    states: tuple[ExplainedState, ...]


class Explanation(msgspec.Struct, frozen=True):
    """The content of the JSON file of `prove --explain`."""

    name: str
    outcome: str
    reason: str
    lean: str
    """The theorem with its proof, if one was found."""
    by: str
    """The source of the proof. `searches` may be empty if closing tactics proved the theorem."""
    seconds: float
    searches: tuple[ExplainedSearch, ...]


@dataclass
class _Watched:
    theorem: Theorem
    search: ProofSearch
    outcomes: dict[int, dict[str, Outcome]] = field(default_factory=dict)
    """Lean's outcomes of the tactics of each state."""


class SearchRecorder:
    """Records searches (as `SoloProver`'s `watch`), and writes them to files."""

    def __init__(self) -> None:
        self._watched: list[_Watched] = []

    def watch(self, attempt: Attempt) -> Callable[[ProofSearch, int, Expansion], None]:
        """The callback for the expansions of an attempt's searches: one search, or several that take turns."""

        def expanded(search: ProofSearch, node_id: int, expansion: Expansion) -> None:
            watched = next((each for each in self._watched if each.search is search), None)
            if watched is None:
                watched = _Watched(attempt.theorem, search)
                self._watched.append(watched)
            watched.outcomes.setdefault(node_id, {}).update(expansion.outcomes)

        return expanded

    def explanation(self, answer: Answer) -> Explanation:
        """All recorded searches, with the answer."""
        searches = tuple(_explained(each, each.search) for each in self._watched)
        return Explanation(answer.name, answer.outcome, answer.reason, answer.lean, answer.by, answer.seconds, searches)

    def write(self, path: Path, answer: Answer) -> tuple[Path, Path]:
        """Write PATH.json and PATH.html (in a folder: search.json and search.html). Returns both. Raises OSError."""
        base = path / "search" if path.is_dir() else path.with_suffix("") if path.suffix in (".json", ".html") else path
        explanation = self.explanation(answer)
        json, html = base.with_name(f"{base.name}.json"), base.with_name(f"{base.name}.html")
        base.parent.mkdir(parents=True, exist_ok=True)
        write_whole(json, msgspec.json.format(msgspec.json.encode(explanation), indent=1))
        write_whole(html, page(explanation).encode())
        return json, html


def read(path: Path) -> Explanation:
    """Read a file of `prove --explain`. Raises BadExplanation."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Explanation)
    except OSError as error:
        raise BadExplanation(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise BadExplanation(f"{path}: not what `prove --explain` writes: {error}") from error


def best_line(search: ExplainedSearch) -> list[tuple[ExplainedState, TakenTactic]]:
    """The path from the root along the known proof, or else along the tactics with the most visits. At several branches
    it follows the one with the most visits."""
    line = []
    state = search.states[0]
    seen: set[int] = set()
    while state.tactics and state.id not in seen:
        seen.add(state.id)
        taken = (
            state.tactics[state.best] if state.best is not None else max(state.tactics, key=lambda each: each.visits)
        )
        line.append((state, taken))
        if not taken.children:
            break
        state = max((search.states[child] for child in taken.children), key=lambda each: each.visits)
    return line


def _explained(watched: _Watched, search: ProofSearch) -> ExplainedSearch:
    statistics = search.statistics
    return ExplainedSearch(
        watched.theorem.signature,
        statistics.simulations,
        statistics.tactics_tried,
        statistics.tactics_failed,
        tuple(_state(node, watched.outcomes.get(node.index, {})) for node in search.tree.nodes),
    )


def _state(node: StateNode, outcomes: dict[str, Outcome]) -> ExplainedState:
    action, _ = node.origin or (None, 0)
    taken = node.actions
    return ExplainedState(
        id=node.index,
        state=node.state,
        depth=node.depth,
        visits=node.visits,
        value=node.value,
        expansions=node.expansions,
        parent=action.parent.index if action else None,
        tactic=action.tactic if action else "",
        steps=node.steps,
        dead=node.dead,
        best=taken.index(node.best) if node.best in taken else None,
        tactics=tuple(_taken(each) for each in taken),
        failed=tuple(_failed(node, tactic, outcome) for tactic, outcome in outcomes.items() if _left(node, tactic)),
    )


def _left(node: StateNode, tactic: str) -> bool:
    """True if a tactic is not in the state's list of legal tactics under this text."""
    action = node.tried.get(tactic)
    return action is None or action.tactic != tactic


def _taken(action: Action) -> TakenTactic:
    mass = action.parent.mass
    value = action.value if action.visits else None
    return TakenTactic(
        action.tactic,
        action.mass / mass if mass > 0 else 0.0,
        action.visits,
        value if value is None or math.isfinite(value) else None,
        tuple(child.index for child in action.children),
        action.steps,
        action.dead,
    )


def _failed(node: StateNode, tactic: str, outcome: Outcome) -> FailedTactic:
    same = node.tried.get(tactic)
    if same is not None:
        return FailedTactic(tactic, SAME, f"leads to what `{same.tactic}` leads to")
    if outcome.kind in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        return FailedTactic(tactic, USELESS, "leads back to a state above, changes nothing, or goes too deep")
    return FailedTactic(tactic, str(outcome.kind), outcome.message)


# --- a search as one page, which runs no script and fetches nothing ---------------------------------------------------

SHOWN_MESSAGE = 600
"""Most characters of a message on the page. The JSON file has the whole message."""


def page(explanation: Explanation) -> str:
    """The whole page."""
    return report_page.page(
        Path(__file__).with_name("explain.html"),
        f"{explanation.name}: {explanation.outcome}",
        explanation=explanation,
        best_line=best_line,
        outline=_outline,
        kind=_kind,
        numbers=_numbers,
        shown_message=SHOWN_MESSAGE,
    )


def _outline(search: ExplainedSearch) -> Iterator[ExplainedState]:
    """All states, each below the state from which it was first reached, the most visited first."""
    below: dict[int | None, list[ExplainedState]] = {}
    for state in search.states:
        below.setdefault(state.parent, []).append(state)
    todo = list(reversed(below.get(None, [])))
    while todo:
        state = todo.pop()
        todo += sorted(below.get(state.id, []), key=lambda each: each.visits)
        yield state


def _numbers(state: ExplainedState) -> str:
    proof = f", proof of depth {state.steps}" if state.steps is not None else ", dead end" if state.dead else ""
    return f"({state.visits} visits, value {state.value:.2f}{proof})" if state.visits else "(not visited)"


def _kind(state: ExplainedState) -> str:
    return "solved" if state.steps is not None else "dead" if state.dead else "open"
