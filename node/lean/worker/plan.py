"""Plans the documents that show the outcomes of a batch of candidates. Pure: documents out, readings of reports in.

All candidates first run together, on copies of the goal. If the report leaves an outcome open, the candidate that may
be the cause is set aside to run alone, and the remaining ones run together again. Each document settles a candidate or
sets one aside, so a plan ends.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence

from common.lean import Outcome, OutcomeKind, Step, Theorem
from node.lean.process.child import Ending
from node.lean.text.goals import may_share, split_goals, state_text
from node.lean.worker.document import MOST_COPIES, STATE, Frame, LeanDocument, Writer, goal_that_stood_alone
from node.lean.worker.reading import DocumentReading

_NAMES_A_GOAL = re.compile(r"\bcase'?(?![\w'])|\?(?!_(?!\w))[^\W\d]")
"""`case TAG` and `?name`: their meaning depends on the goal's tag, and copies have other tags."""

_MAY_REPORT = re.compile(r"\bby\b")
"""A nested `by` may report an error without failing. That error is lost when the candidate is undone."""

CRASHES_ALONE = 2
"""Crashes of the process while a candidate runs alone, after which the candidate gets CRASHED. After the first crash it
runs again, because something else may have killed the process."""

KINDS = {
    Ending.TIMEOUT: OutcomeKind.TIMEOUT,
    Ending.MEMORY: OutcomeKind.MEMORY,
    Ending.DIED: OutcomeKind.CRASHED,
}
"""The outcome of a candidate that ran alone, by the way in which its process ended."""


def _parts(indices: Sequence[int]) -> list[list[int]]:
    """The indices in parts, each small enough for one example."""
    return [list(indices[start : start + MOST_COPIES]) for start in range(0, len(indices), MOST_COPIES)]


class BatchPlan:
    """The plan for one request: candidates on the state at the end of a path."""

    def __init__(
        self,
        theorem: Theorem,
        path: Sequence[Step],
        candidates: Mapping[int, str],
        *,
        state: str | None = None,
        probe: frozenset[int] = frozenset(),
        alone: frozenset[int] = frozenset(),
        messages: bool = True,
        resumable: bool = False,
    ) -> None:
        """`candidates`: tactics by index. `state`: the state's text, if the cache has it. `probe`: candidates that
        first get a probe, which shows whether they parse. `alone`: candidates that never share a document. `messages`:
        whether errors need Lean's message. `resumable`: Lean keeps the state after each tactic of a document, so that
        the next document with the same steps goes on from there. That costs a third more while it keeps them."""
        self.theorem = theorem
        self.path = tuple(path)
        self.candidates = dict(candidates)
        self.state = state
        self.outcomes: dict[int, Outcome] = {}
        """Outcomes by index of the candidate; complete when the plan is done, unless the statement is bad."""
        self.unparsable: set[int] = set()
        """Candidates that Lean's parser rejects."""
        self.bad_statement = ""
        """Lean's error in the statement; empty without one."""
        # What is still to do. Each document moves candidates out of these, so a plan ends.
        self._pending = [index for index in self.candidates if index not in alone]
        self._alone = deque(index for index in self.candidates if index in alone)
        self._unprobed = set(self._pending) & probe
        self._silent: set[int] = set()
        """Candidates without a message, which have probably closed their copy of the goal."""
        self._unclear: set[int] = set()
        """Candidates of `_silent` that a confirmation did not confirm."""
        self._crashes: dict[int, int] = {}
        """Number of crashes of the process while a candidate ran alone."""
        self._failures = 0
        """Documents during which the process ended or timed out."""
        self.resumable = resumable
        self._brief = not resumable
        """True while documents may be brief: until one of them times out or comes back without its echo."""
        self._terse = not messages and theorem.place is None
        """True while documents may be terse or undone: until a report on one contradicts itself."""
        self._documents = 0
        self._running: list[int] = []
        """Candidates of the current document."""
        several = bool(self.path) and len(self.path[-1].layout[self.path[-1].branch]) > 1
        self._separate = several or (state is not None and may_share(state))
        """True for goals with metavariables, which copies would share."""
        self._may_undo = not any(_NAMES_A_GOAL.search(step.tactic) for step in path[goal_that_stood_alone(path) :])

    @property
    def done(self) -> bool:
        return bool(self.bad_statement) or (self.state is not None and not self._pending and not self._alone)

    def document(self, frame: Frame) -> LeanDocument | None:
        """The next document to run; None when all is settled."""
        # Each document should bring the plan closer to its end. The bound is for reports that nothing here expects.
        if not self.done and self._documents > 4 * len(self.candidates) + 8:
            self._give_up("Lean's reports gave no clear outcome")
        if self.done:
            return None
        self._documents += 1
        brief_part = self._brief_part()
        writer = Writer(frame, brief=brief_part is not None)
        if self._unprobed:
            self._running = sorted(self._unprobed)
            for index in self._running:
                writer.probe(index, self.candidates[index])
        elif self._pending or self.state is None:
            self._batch(writer, self._pending if brief_part is None else brief_part)
        else:
            self._running = [self._alone[0]]
            writer.separate(self.theorem, self.path, self._alone[0], self.candidates[self._alone[0]])
        return writer.document()

    def _brief_part(self) -> list[int] | None:
        """The candidates of the next document if it can be brief, which allows a single example. The other candidates
        wait, because two brief documents cost less than a long one. None: the next document must not be brief."""
        if not self._brief or self._unprobed or not (self._pending or self.state is None):
            return None
        if self._separate:
            return [index for index in self._pending if self._undoes(index)][:MOST_COPIES] or None
        shared = [index for index in self._pending if not self._needs_own_example(index)]
        copies = [index for index in shared if index not in self._silent]
        if copies or self.state is None:
            return copies[:MOST_COPIES]
        return shared[:MOST_COPIES] or None

    def _batch(self, writer: Writer, chosen: Sequence[int]) -> None:
        """Write the chosen candidates into one document, each in the fastest form that is safe for it.

        A document can contain a command of a file only once. Candidates that need another form then wait for the next
        document.
        """
        undone = [index for index in chosen if self._undoes(index)]
        separate = [index for index in chosen if index not in undone and self._needs_own_example(index)]
        silent = [index for index in chosen if index in self._silent and index not in separate]
        copies = [index for index in chosen if index not in {*undone, *separate, *silent}]
        if self.theorem.place is not None:
            copies, silent, separate = self._first_of(copies, silent, separate)
        self._running = [index for index in chosen if index in {*undone, *copies, *silent, *separate}]
        for part in _parts(undone):
            writer.undone(self.theorem, self.path, self._texts(part))
        if self._separate:
            if self.state is None:
                writer.separate(self.theorem, self.path, STATE, "skip")
        elif copies or self.state is None:
            for part in _parts(copies) or [[]]:
                show = self.state is None and part == copies[: len(part)]
                if self._terse and part and not show:
                    writer.terse(self.theorem, self.path, self._texts(part))
                else:
                    writer.copies(self.theorem, self.path, self._texts(part), show_state=show)
        for part in _parts(silent):
            writer.confirmation(self.theorem, self.path, self._texts(part))
        for index in separate:
            writer.separate(self.theorem, self.path, index, self.candidates[index])

    def _first_of(
        self, copies: list[int], silent: list[int], separate: list[int]
    ) -> tuple[list[int], list[int], list[int]]:
        """The candidates, by form, that fit into one example.

        The first document shows the state of the gap without candidates, so that any error in it is the file's.
        """
        if self.state is None and (self._separate or not self.path):
            return [], [], []
        if copies or self.state is None:
            return copies[:MOST_COPIES], [], []
        return [], silent[:MOST_COPIES], [] if silent else separate[:1]

    def _texts(self, indices: Sequence[int]) -> list[tuple[int, str]]:
        return [(index, self.candidates[index]) for index in indices]

    def _undoes(self, index: int) -> bool:
        """True when a candidate runs in an example that takes it back."""
        if not (self._separate and self._terse and self._may_undo) or self.state is None or index in self._silent:
            return False
        tactic = self.candidates[index]
        return index not in self._unclear and not _NAMES_A_GOAL.search(tactic) and not _MAY_REPORT.search(tactic)

    def _needs_own_example(self, index: int) -> bool:
        """True when a candidate must not run on a copy of the goal."""
        if self._separate or index in self._unclear:
            return True
        return bool(_NAMES_A_GOAL.search(self.candidates[index]))

    def take(self, reading: DocumentReading) -> None:
        """Take the reading of the final diagnostics of the current document."""
        if reading.bad_statement:
            self.bad_statement = reading.bad_statement
            return
        if STATE in reading.broken:
            self._give_up(f"the path to the state did not replay: {reading.broken[STATE]}")
            return
        probed = bool(self._unprobed)
        self._unprobed.clear()
        if self._learn_state(reading):
            self.unparsable |= reading.unparsable
            progress = probed or bool(reading.outcomes or reading.silent or reading.unclear)
            self._silent |= reading.silent
            self._unclear |= reading.unclear
            for index, outcome in reading.outcomes.items():
                self._finish(index, outcome)
            self._terse = self._terse and not reading.contradictory
            for index, message in reading.broken.items():
                # The path does replay, because the state was printed. But it leaves a placeholder, which Lean reports
                # if the candidate itself has no error.
                self._finish(index, Outcome(OutcomeKind.ERROR, message=message))
            if reading.suspect is not None:
                self._send_alone(reading.suspect)
            elif not progress and not reading.broken and not reading.contradictory and self._running:
                self._send_alone(self._running[0])

    def stop_brief_documents(self) -> None:
        """Use no more brief documents, after one timed out or failed. Lean shows its progress in the others."""
        self._brief = False

    def ended(self, ending: Ending, reason: str, suspect: int | None, *, stuck: bool, parser_error: str = "") -> None:
        """Record that the process ended or timed out during the current document.

        `suspect`: the candidate that Lean was running. `stuck`: Lean ran it for the candidate's full time limit.
        `parser_error`: the error that Lean's parser had reported for it.
        """
        self._failures += 1
        self._unprobed.clear()
        if suspect is not None and parser_error and suspect not in self.outcomes:
            self.unparsable.add(suspect)
            self._finish(suspect, Outcome(OutcomeKind.ERROR, message=parser_error))
        elif suspect is not None and suspect in self._pending and ending is Ending.TIMEOUT and stuck:
            self._finish(suspect, Outcome(OutcomeKind.TIMEOUT, message=reason))
        elif len(self._running) == 1 and self._running[0] in self._alone:
            self._failed_alone(self._running[0], ending, reason)
        elif suspect is not None and suspect in self._pending:
            self._send_alone(suspect)
        elif self._failures > 1 or ending is Ending.TIMEOUT:
            # Lean was running no candidate, but the declaration as a whole. After the first crash all candidates run
            # together once more, because something else may have killed the process. Now each runs alone.
            for index in list(self._pending):
                self._send_alone(index)
            if self.state is None and self._failures > 2:
                self._give_up(f"the state cannot be shown: {reason}")

    def _learn_state(self, reading: DocumentReading) -> bool:
        """Store the state's text. Returns False if its goals contain metavariables: the copies shared these, so nothing
        else in this reading counts."""
        for goals in reading.states:
            self.state = state_text(split_goals(goals))
        if self.state is not None and not self._separate and may_share(self.state):
            self._separate = True
            return False
        return True

    def _finish(self, index: int, outcome: Outcome) -> None:
        """Record the outcome of a candidate."""
        self.outcomes[index] = outcome
        if index in self._pending:
            self._pending.remove(index)
        if index in self._alone:
            self._alone.remove(index)

    def _send_alone(self, index: int) -> None:
        if index in self._pending:
            self._pending.remove(index)
            self._alone.append(index)

    def _failed_alone(self, index: int, ending: Ending, reason: str) -> None:
        self._crashes[index] = self._crashes.get(index, 0) + 1
        if ending is not Ending.DIED or self._crashes[index] >= CRASHES_ALONE:
            self._finish(index, Outcome(KINDS[ending], message=reason))

    def _give_up(self, reason: str) -> None:
        """Give all open candidates the outcome LOST, which says nothing about them."""
        for index in (*self._pending, *self._alone):
            self.outcomes[index] = Outcome(OutcomeKind.LOST, message=reason)
        self._pending.clear()
        self._alone.clear()
        if self.state is None and self.theorem.place is not None and not self.path:
            self.bad_statement = f"Lean shows no goal at this gap of the file: {reason}"
        self.state = self.state or ""
