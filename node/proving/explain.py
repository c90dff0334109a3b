"""Writes and shows a theorem's searches, for `prove --explain`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from common.files import write_whole
from common.protocol.attempts import KeptSearch
from common.records.searches import BadSearch, SearchState, SearchTree, TakenTactic, check_places, unpacked
from common.report import page as report_page
from node.prover.record import SearchRecord
from node.proving.answers import Answer


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
    searches: tuple[SearchTree, ...]


class SearchRecorder:
    """Collects the searches of a theorem, and writes them to files."""

    def __init__(self) -> None:
        self._records: list[SearchRecord] = []
        self._kept: list[SearchTree] = []

    def watch(self, record: SearchRecord) -> None:
        """Hear of an attempt's record when its search begins, in this process."""
        self._records.append(record)

    def keep(self, search: KeptSearch) -> None:
        """Take the search of a result from a mesh. Raises BadSearch."""
        self._kept += unpacked("the mesh's result", search.trees)

    def explanation(self, answer: Answer) -> Explanation:
        """All recorded searches, with the answer."""
        searches = (*(tree for each in self._records for tree in each.trees()), *self._kept)
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
    """Read a file of `prove --explain`. Raises BadSearch."""
    try:
        explanation = msgspec.json.decode(path.read_bytes(), type=Explanation)
    except OSError as error:
        raise BadSearch(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise BadSearch(f"{path}: not what `prove --explain` writes: {error}") from error
    for tree in explanation.searches:
        check_places(str(path), tree)
    return explanation


def best_line(search: SearchTree) -> list[tuple[SearchState, TakenTactic]]:
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


def _outline(search: SearchTree) -> Iterator[SearchState]:
    """All states, each below the state from which it was first reached, the most visited first."""
    below: dict[int | None, list[SearchState]] = {}
    for state in search.states:
        below.setdefault(state.parent, []).append(state)
    todo = list(reversed(below.get(None, [])))
    while todo:
        state = todo.pop()
        todo += sorted(below.get(state.id, []), key=lambda each: each.visits)
        yield state


def _numbers(state: SearchState) -> str:
    proof = f", proof of depth {state.steps}" if state.steps is not None else ", dead end" if state.dead else ""
    return f"({state.visits} visits, value {state.value:.2f}{proof})" if state.visits else "(not visited)"


def _kind(state: SearchState) -> str:
    return "solved" if state.steps is not None else "dead" if state.dead else "open"
