"""The section of statements in a report: a row for each, which unfolds to the statement and its proof."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from common.lean import Theorem
from node.eval.records import AttemptRecord, Standing
from node.eval.report_page import text
from node.eval.results import Results, StatementResult
from node.eval.results_file import reason_of
from node.lean.text.filling import written

MOST_SHOWN = 2000
"""Most statements on a page: about 4 MB, which browsers open without delay."""

MOST_CHARACTERS = 6000
"""Most characters of a statement with its proof on the page."""

NAMES = {
    Standing.SOLVED: "solved",
    Standing.UNSOLVED: "unsolved",
    Standing.NOT_ELABORATED: "not elaborated",
    Standing.UNDECIDED: "undecided",
    Standing.NOT_PLAYED: "not played yet",
}


def statements(results: Results) -> Iterator[str]:
    """The section of all statements."""
    shown = results.statements[:MOST_SHOWN]
    yield f"<h2>Statements</h2><p>{_where(len(shown), len(results.statements))}</p>"
    if not shown:
        return
    yield '<div class="controls"><select id="standing" aria-label="which statements"><option value="">all</option>'
    yield from (f'<option value="{standing}">{name}</option>' for standing, name in NAMES.items())
    if any(row.statement.flaw for row in shown):
        yield '<option value="flaw">known to be flawed</option>'
    yield '</select><input id="words" type="search" placeholder="name, statement or proof contains …" '
    yield 'aria-label="text"><span id="count" class="quiet"></span></div>'
    yield '<div class="heads"><span>name</span><span>became</span><span class="extra">family</span>'
    yield '<span class="extra n">level</span><span class="extra n">simulations</span></div>'
    for row in shown:
        yield from _row(row, results.passes)


def _where(shown: int, count: int) -> str:
    """A sentence that says which statements are shown, and which files have all of them."""
    files = (
        "<code>statements.jsonl</code> and <code>attempts.jsonl</code> beside this page have all of it, "
        "<code>proofs.lean</code> all proofs"
    )
    if shown == count:
        return f"A click on a row shows the statement and its proof; {files}."
    return f"The first {shown:,} of {count:,} are shown, so that the page opens; {files}."


def _row(row: StatementResult, passes: int) -> Iterator[str]:
    statement = row.statement
    flaw = ' data-flaw="1"' if statement.flaw else ""
    became = NAMES[row.standing]
    if passes > 1 and row.counts:
        became += f" {len(row.solved)}/{len(row.decided)}"
    first = min(row.solved, key=lambda each: each.statistics.solved_at_simulations, default=None)
    spent = first.statistics.solved_at_simulations if first else max((_simulations(row)), default=0)
    yield f'<details class="row" data-standing="{row.standing}"{flaw}><summary><span>{text(cut(statement.name))}</span>'
    yield f'<span class="{row.standing}">{became}</span>'
    yield f'<span class="extra family">{text(cut(statement.family, 60))}</span>'
    yield f'<span class="extra n">{statement.level}</span><span class="extra n">{spent or ""}</span></summary>'
    if statement.flaw:
        yield f'<p class="flaw">Known to be flawed: {text(cut(statement.flaw))}</p>'
    if reason := reason_of(row):
        yield f"<p>{text(cut(reason))}</p>"
    if statement.theorem.header:
        yield f"<pre class=quiet>{text(cut(statement.theorem.header))}</pre>"
    yield f"<pre>{text(cut(_lean(statement.theorem, row.solved[0] if row.solved else None)))}</pre>"
    ends = "; ".join(_ended(each) for each in row.attempts)
    yield f'<p class="quiet">{text(cut(ends))}</p></details>' if ends else "</details>"


def _simulations(row: StatementResult) -> Iterator[int]:
    return (each.statistics.simulations for each in row.attempts)


def _lean(theorem: Theorem, attempt: AttemptRecord | None) -> str:
    """The statement with its proof, if it has one."""
    script = attempt.script if attempt else "sorry"
    return written(theorem, textwrap.dedent(script.strip("\n")).split("\n"))


def _ended(attempt: AttemptRecord) -> str:
    """How an attempt ended, and what it cost."""
    statistics = attempt.statistics
    how = f" ({attempt.ended})" if attempt.ended and attempt.standing is not Standing.SOLVED else ""
    words = f"{NAMES[attempt.standing]}{how}"
    took = f"{statistics.simulations} simulations, {statistics.lean_attempts} Lean attempts, {statistics.seconds:.1f} s"
    axioms = f", axioms: {', '.join(attempt.axioms)}" if attempt.axioms else ""
    return f"pass {attempt.number + 1}: {words}, {took}{axioms}"


def cut(foreign: str, most: int = MOST_CHARACTERS) -> str:
    """Shortens a text to `most` characters; a note says how many are missing."""
    return foreign if len(foreign) <= most else f"{foreign[:most]} … ({len(foreign) - most:,} more characters)"
