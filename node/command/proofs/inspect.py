"""`proofmesh inspect FILE.json [STATE]`: shows a search that `prove --explain` has written.

Without STATE: the result, the best line, and the states with most visits. With the number of a state: its goals, and
all its tactics with prior, visits and value, or with Lean's message.

`proofmesh inspect FOLDER --search ID [STATE]`: the same of a search that a run or an evaluation has kept. `--searches`
lists those, the most interesting ones first.

`proofmesh inspect RUN_DIRECTORY`: shows the train theorems of a run by level, and the hardest ones with attempts,
failures, results and cost; also while the learner runs. Or one of these, with --filter TEXT:

    --theorems 50       theorems, in the order of --by
    --attempts 50       the newest attempts, with outcome, cost and prover
    --tactics 50        the tactics of proofs by their first word, the most used first
    --proofs FILE|-     the shortest proof of each proved theorem, as Lean; `-`: to standard output
    --json              one JSON object for each row
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from msgspec import to_builtins

from common.limits import Natural, Positive
from common.output.command import Exit, UserError, command
from common.output.visible import as_json, say_data, visible
from common.output.words import number_of
from common.records.readers import (
    AttemptRecord,
    Level,
    Order,
    TacticRecord,
    TheoremRecord,
    Wanted,
    WantedAttempts,
    read_attempts,
    read_levels,
    read_tactics,
    read_theorems,
    shortest,
)
from common.records.rows import PARTS
from common.records.searches import BadSearch, KeptRow, SearchState, SearchTree, kept_rows, kept_search
from common.report.table import Column, Table, Tone, right
from node.command.proofs.attempt import records_of

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from common.output.terminal import Console
    from node.proving.explain import Explanation

STATEMENT = 60
"""Most characters of a statement to show."""

WIDE = 130
"""Columns of a terminal that shows the costs of theorems."""

THEOREMS = 20
"""Theorems to show if nothing else is asked for."""

TITLES = {
    Order.HARDEST: "hardest: undecided first, then those with most failures",
    Order.TRIED: "most tried first",
    Order.COST: "most expansions first",
    Order.SHORTEST: "shortest proof first",
    Order.NAME: "by name",
}


@dataclass
class InspectSettings:
    """Show a search, or the theorems of a run."""

    file: Annotated[Path, tyro.conf.Positional]
    """A JSON file from `prove --explain`, or the folder of a run or of an evaluation."""

    state: Annotated[int | None, tyro.conf.Positional] = None
    """Number of a state, to show its tactics."""

    search: str = ""
    """The kept search to show: the id of an attempt, the beginning of one, or a theorem. For a file with several
    searches: the number of one, from 0."""

    tree: Natural = 0
    """Number of the tree, from 0, if the kept search has several."""

    searches: Natural = 0
    """Most kept searches to list, the most interesting first."""

    states: Positive = 40
    """Most states of the tree to show. Those with most visits are shown."""

    theorems: Natural = 0
    """For a run directory: most theorems to show; 20 if nothing else is asked for."""

    attempts: Natural = 0
    """For a run directory: most attempts to show, the newest first."""

    tactics: Natural = 0
    """For a run directory: most first words of tactics to show."""

    filter: str = ""
    """For a run directory: show only what contains this text: names and statements of theorems and proofs; id, theorem,
    purpose, outcome, prover and message of attempts; tactics."""

    json: bool = False
    """Print JSON: one object for each row of a run, or the search or state of a file."""

    by: Order = Order.HARDEST
    """For a run directory: the order of theorems. First come undecided ones with most failures (hardest), those with
    most attempts (tried), those with most expansions (cost), or those with the shortest proof."""

    proofs: Path | None = None
    """For a run directory: write the shortest proof of every proved or disproved theorem into this .lean file, and into
    further ones beside it where headers need them; `-`: print them."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(InspectSettings, list(argv), _inspect, prog="proofmesh inspect", description=__doc__)


def _inspect(settings: InspectSettings) -> int:
    from common.output.terminal import Console
    from node.proving.explain import read

    console = Console(highlight=False)
    if settings.file.is_dir():
        _inspect_run(settings, console)
        return Exit.DONE
    for flag in ("proofs", "attempts", "theorems", "tactics", "filter", "searches"):
        if getattr(settings, flag):
            raise UserError(f"--{flag}: {settings.file} is not a run directory")
    if settings.search and not settings.search.isdecimal():
        raise UserError(f"--search {settings.search}: not a number; a file has searches by number, from 0")
    show(read(settings.file), int(settings.search or 0), settings, console)
    return Exit.DONE


def _inspect_run(settings: InspectSettings, console: Console) -> None:
    """Print what is asked for of a run. Raises UserError."""
    # 1. Searches, which evaluations have, too.
    if settings.search:
        _show_kept(settings, console)
        return
    if settings.state is not None:
        raise UserError("a state is of one search: name it with --search")
    if settings.searches:
        rows = kept_rows(settings.file, settings.searches, settings.filter)
        _print(rows, _kept(rows), settings, console)
    # 2. What the records have.
    others = settings.proofs or settings.attempts or settings.tactics or settings.theorems
    if settings.searches and not others:
        return
    records, text = records_of(settings.file), settings.filter
    if settings.proofs is not None:
        write_proofs(settings, console)
    if settings.attempts:
        attempts = read_attempts(records, settings.attempts, WantedAttempts(text))
        _print(attempts, _attempts(attempts, wide=console.width >= WIDE), settings, console)
    if settings.tactics:
        from node.lean.text.lexing import first_word

        tactics = read_tactics(records, settings.tactics, text, first_word=first_word)
        _print(tactics, _tactics(tactics), settings, console)
    if settings.theorems or not others:
        levels = read_levels(records)
        theorems = read_theorems(records, settings.theorems or THEOREMS, settings.by, Wanted(text))
        if not settings.json:
            console.print(_levels(levels))
        _print(theorems, _theorems(theorems, settings.by, wide=console.width >= WIDE), settings, console)


def _print(rows: Sequence[Any], table: Table, settings: InspectSettings, console: Console) -> None:
    if not settings.json:
        console.print(table)
        return
    for row in rows:
        more: dict[str, Any] = {"result": row.result} if isinstance(row, TheoremRecord) else {}
        if isinstance(row, AttemptRecord):
            more = {"total": row.total, "largest": row.largest and row.largest[0]}
        say_data(as_json(asdict(row) | more))


# --- a search ---------------------------------------------------------------------------------------------------------


def show(explanation: Explanation, number: int, settings: InspectSettings, console: Console) -> None:
    """Print the search of this number, or the state. Raises BadSearch if it does not exist."""
    searches = explanation.searches
    if number >= max(1, len(searches)) or (settings.state is not None and not searches):
        raise BadSearch(f"{settings.file}: no search {number}; it has {len(searches)} (--search counts from 0)")
    if settings.state is not None:
        _show_state_of(searches[number], settings, console)
        return
    if settings.json:
        say_data(as_json(to_builtins(explanation)))
        return
    by = f", by {explanation.by}" if explanation.by else ""
    console.print(
        _text(visible(f"{explanation.name}: {explanation.outcome} ({explanation.seconds:.1f} s{by})"), style="bold")
    )
    console.print(_text(visible(explanation.reason, multiline=True)))
    if explanation.lean:
        console.print(_text(explanation.lean, style="green"))
    if searches:
        which = f"search {number} of {len(searches)} (--search N)" if len(searches) > 1 else "the search"
        _show_search(searches[number], which, settings, console)


def _show_kept(settings: InspectSettings, console: Console) -> None:
    """Print a kept search, or a state of it. Raises BadSearch."""
    row, trees = kept_search(settings.file, settings.search)
    if settings.tree >= len(trees):
        raise BadSearch(f"{row.attempt_id}: no tree {settings.tree}; it has {len(trees)} (--tree counts from 0)")
    if settings.state is not None:
        _show_state_of(trees[settings.tree], settings, console)
    elif settings.json:
        say_data(as_json(asdict(row) | {"trees": to_builtins(trees)}))
    else:
        told = f"{row.theorem_id}: {row.outcome} ({row.purpose}, attempt {row.attempt_id})"
        console.print(_text(visible(told), style="bold"))
        which = f"tree {settings.tree} of {len(trees)} (--tree N)" if len(trees) > 1 else "the search"
        _show_search(trees[settings.tree], which, settings, console)


def _show_state_of(search: SearchTree, settings: InspectSettings, console: Console) -> None:
    """Print a state. Raises BadSearch if it does not exist."""
    states, number = search.states, settings.state
    assert number is not None
    if not 0 <= number < len(states):
        raise BadSearch(f"{settings.file}: no state {number}; there are 0 to {len(states) - 1}")
    if settings.json:
        say_data(as_json(to_builtins(states[number])))
    else:
        _show_state(states[number], console)


def _text(text: str, style: str = "", end: str = "\n") -> Text:
    """Text from a file, which may have been sent to Lean or come from it."""
    from rich.text import Text

    return Text(visible(text, multiline=True, indent=""), style=style, end=end)


def _show_search(search: SearchTree, which: str, settings: InspectSettings, console: Console) -> None:
    from node.proving.explain import best_line

    console.print()
    console.print(_text(f"{which}: {search.simulations} simulations, {len(search.states)} states, ", end=""))
    console.print(_text(f"{search.tactics_tried} tactics tried, {search.tactics_failed} failed"))
    console.print(_text(search.theorem, style="cyan"))
    tactics = Column("tactic", lines=True)
    table = Table(("state", tactics, "prior", "visits", "value", "leaves"), title="best line")
    for state, taken in best_line(search):
        value = "" if taken.value is None else f"{taken.value:.2f}"
        leaves = ", ".join(map(str, taken.children)) or "nothing"
        table.add(str(state.id), taken.tactic, f"{taken.prior:.3f}", str(taken.visits), value, leaves)
    console.print(table)
    console.print(_tree(search, settings.states))


def _tree(search: SearchTree, most: int) -> Tree:
    """The tree of the states with most visits. The parent of a state is the one from which it was first reached."""
    from rich.tree import Tree

    ranked = sorted(search.states, key=lambda each: (-each.visits, each.id))[:most]
    shown_ids = {0}
    for state in ranked:  # also shows all their ancestors
        ancestor: SearchState | None = state
        while ancestor is not None and ancestor.id not in shown_ids:
            shown_ids.add(ancestor.id)
            ancestor = search.states[ancestor.parent] if ancestor.parent is not None else None
    branches = {0: Tree(_line(search.states[0]))}
    for state in search.states:  # a parent comes before its children
        if state.id in shown_ids and state.parent is not None:
            branches[state.id] = branches[state.parent].add(_line(state))
    if left := len(search.states) - len(branches):
        branches[0].add(f"... and {left} more states (--states N)")
    return branches[0]


def _line(state: SearchState) -> Text:
    proof = f", proof of depth {state.steps}" if state.steps is not None else ", dead end" if state.dead else ""
    style = "green" if state.steps is not None else "dim" if state.dead else ""
    goal = " ".join(state.state.rsplit("⊢", 1)[-1].split())[:80]
    tactic = f"{visible(state.tactic)} → " if state.tactic else ""
    numbers = f"({state.visits} visits, value {state.value:.2f}{proof})" if state.visits else "(not visited)"
    return _text(f"{tactic}[{state.id}] ⊢ {goal} {numbers}", style=style)


def _show_state(state: SearchState, console: Console) -> None:
    console.print(_line(state))
    if state.parent is not None:
        console.print(_text(f"from state {state.parent} by {visible(state.tactic)}"))
    if state.at is not None:
        took = f"policy {state.policy_seconds:.2f} s, Lean {state.lean_seconds:.2f} s"
        console.print(_text(f"expanded {number_of(state.expansions, 'time')}, first after {state.at:.2f} s: {took}"))
    console.print(_text(state.state, style="cyan"))
    tactics = Column("tactic", lines=True)
    taken = Table((tactics, "prior", "visits", "value", "leaves"), title="tactics")
    for index, each in enumerate(state.tactics):
        value = "" if each.value is None else f"{each.value:.2f}"
        leaves = ", ".join(map(str, each.children)) or "nothing: it closes the goal"
        tone: Tone = "good" if index == state.best else "quiet" if each.dead else ""
        taken.add(each.tactic, f"{each.prior:.3f}", str(each.visits), value, leaves, tone=tone)
    console.print(taken)
    if state.failed:
        failed = Table((tactics, "kind", Column("message", lines=True)), title="tactics that led nowhere")
        console.print(failed.fill((lost.tactic, lost.kind, lost.message) for lost in state.failed))


# --- the theorems of a run --------------------------------------------------------------------------------------------


def _levels(levels: Sequence[Level]) -> Table:
    columns = ("level", "theorems", "tried", "proved", "disproved", "refused", "attempts", "failed", "expansions")
    table = Table(columns, title="train theorems", framed=False)
    for each in levels:
        counts = (each.theorems, each.tried, each.proved, each.disproved, each.refused)
        table.add(*map(str, (each.level, *counts, each.attempts, each.failures, each.expansions)))
    return table


def _attempts(attempts: Sequence[AttemptRecord], *, wide: bool) -> Table:
    """The attempts, with their parts if the terminal is wide enough."""
    parts = ("Lean", "expansions", "failed", "policy s", "Lean s", "weights", "prover", "message") if wide else ()
    columns = ("attempt", "theorem", "purpose", "outcome", "in all", "most of it", *parts)
    table = Table(columns, title="newest attempts, with the seconds from dispatch to record")
    for each in attempts:
        tone: Tone = "good" if each.outcome == "proved" else "quiet" if each.recorded is None else ""
        told = (each.attempt_id, each.theorem_id, each.purpose, each.outcome)
        most = each.largest
        took = (each.total, f"{PARTS[most[0]].name} {most[1]:.1f}" if most is not None else None)
        searched = (each.lean_attempts, each.expansions, each.tactics_failed)
        waited = (each.seconds_policy, each.seconds_lean, each.weights)
        more = (*searched, *waited, each.prover_id, each.message) if wide else ()
        table.add(*map(_shown, (*told, *took, *more)), tone=tone)
    return table


def _kept(rows: Sequence[KeptRow]) -> Table:
    """The kept searches."""
    columns = ("attempt", "theorem", "purpose", "outcome", right("interest"), right("kB"))
    table = Table(columns, title="kept searches, the most interesting first (--search ID shows one)")
    return table.fill(
        (*map(_cut, (each.attempt_id, each.theorem_id, each.purpose, each.outcome)), f"{each.interest:.2f}",
         f"{each.bytes / 1000:.0f}")
        for each in rows
    )  # fmt: skip


def _tactics(tactics: Sequence[TacticRecord]) -> Table:
    table = Table(("tactic", "uses", "theorems", "most frequent"), title="tactics of verified proofs")
    return table.fill((each.head, str(each.uses), str(each.theorems), _cut(each.example)) for each in tactics)


def _shown(value: float | str | None) -> str:
    return "" if value is None else f"{value:.1f}" if isinstance(value, float) else _cut(str(value))


def _theorems(theorems: Sequence[TheoremRecord], order: Order, *, wide: bool) -> Table:
    """The theorems, with their costs if the terminal is wide enough."""
    costs = ("level", "steps", "budget", "expansions", "Lean", "weights") if wide else ()
    table = Table(("theorem", "result", "attempts", "failed", *costs, "statement"), title=TITLES[order])
    for each in theorems:
        tone: Tone = "good" if each.proofs else "quiet" if each.disproved or each.refused else ""
        steps = "" if each.shortest is None else each.shortest
        spent = (each.level, steps, each.last_budget, each.expansions, each.lean_attempts, each.last_weights)
        found = (each.result, each.attempts, each.failures, *(spent if wide else ()))
        table.add(_cut(each.theorem_id), *map(str, found), _cut(each.conclusion), tone=tone)
    return table


def _cut(text: str) -> str:
    """The text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= STATEMENT else f"{line[: STATEMENT - 1]}…"


def write_proofs(settings: InspectSettings, console: Console) -> None:
    """Write the shortest proof of every theorem that the run has proved or disproved as Lean files, and say where.

    Reads the run only. Raises UserError.
    """
    from common.output.terminal import line
    from node.lean.check.files.proofs_text import ProvedStatement, proofs_files, write_files

    folder, file = settings.file, settings.proofs
    assert file is not None
    found = [each for each in shortest(records_of(folder)) if settings.filter in each.theorem.signature]
    if settings.json and str(file) == "-":
        for each in found:
            told = {"name": each.theorem.name, "statement": each.theorem.signature, "script": each.script}
            more = {"disproof": each.disproof, "proofs": each.proofs, "lean": each.lean_version}
            say_data(as_json(told | more | {"in_file": each.theorem.place is not None}))
        return
    proved = [
        ProvedStatement(
            each.theorem.name,
            each.theorem,
            each.script,
            f"{'disproved' if each.disproof else 'proved'} {number_of(each.proofs, 'time')}",
        )
        for each in found
    ]
    versions = dict.fromkeys(each.lean_version for each in found)
    files = proofs_files(proved, f"the run {folder.resolve().name}", ", ".join(versions) or "not known")
    if str(file) == "-":
        say_data("\n".join(files.texts))
        return
    try:
        paths = ", ".join(map(str, write_files(file, files.texts)))
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, FileExistsError):  # it may be another file than the user gave
            why = f"{error.filename} {error.strerror}; give --proofs another name"
        raise UserError(f"{file}: cannot be written ({why})") from error
    console.print(line(f"{number_of(files.proofs, 'proof')} in {paths}; check with `proofmesh verify`"))
    if files.left_out:
        console.print(line(f"{len(files.left_out)} are proofs for gaps in Lean files, and not in it"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
