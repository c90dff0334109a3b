"""The report of an evaluation: one self-contained HTML page, light and dark, with all foreign text escaped."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping

from common.lean import Theorem
from common.protocol.attempts import Method
from node.eval.curves import KINDS, Curve, curves_of, wilson
from node.eval.records import AttemptRecord, Standing
from node.eval.report_page import amount, document, facts, interval, percent, table, tally_cells, text
from node.eval.results import Costs, Results, StatementResult
from node.eval.results_file import reason_of
from node.lean.text.script import written

MOST_NAMED = 200
"""Most statements in a list of reasons; the table of statements and the files have all of them."""

MOST_GROUPS = 60
"""Most families in the table, the largest first."""

_TALLY_HEADS = ("solved", "of", "share", "95% interval", "")
_NUMBERS = (1, 2, 3, 4)


def report(results: Results, curves: Mapping[str, Curve] | None = None) -> str:
    """The whole page. `curves`: the evaluation's curves, if they are computed already."""
    benchmark = f"{results.plan.benchmark.name} {results.plan.benchmark.split}".strip()
    return document(
        f"{benchmark}: {results.plan.label}",
        [
            *_headline(results, benchmark),
            *_not_counted(results),
            *_budgets(results, curves or curves_of(results)),
            *_passes(results),
            *_groups(results),
            '<h2>What it took</h2><div class="cards">',
            *_endings(results),
            *_costs(results.costs),
            *_axioms(results),
            *_sources(results),
            "</div>",
            *_what(results),
            *statements(results),
        ],
    )


def _headline(results: Results, benchmark: str) -> Iterator[str]:
    total = results.total
    low, high = wilson(total.solved, total.statements)
    yield f"<h1>{text(benchmark)}</h1>"
    yield f"<p class=quiet>{text(results.plan.label)}, {text(results.plan.way)}, {text(budget_words(results))}</p>"
    yield f"<p class=big>{percent(total.rate)} solved</p>"
    within = f", 95% interval {interval(low, high)} (Wilson, over statements)" if total.statements else ""
    each_pass = f" in the mean of {results.passes} passes" if results.passes > 1 else ""
    some_pass = f"; {total.any:,} by at least one pass" if results.passes > 1 else ""
    yield f"<p>{amount(total.solved)} of {total.statements:,} statements{each_pass}{within}{some_pass}.</p>"
    if results.without_flawed is not None:
        clean = results.without_flawed
        low, high = wilson(clean.solved, clean.statements)
        yield (
            f"<p>Without statements that are known to be flawed: {percent(clean.rate)}, {amount(clean.solved)} of "
            f"{clean.statements:,} ({interval(low, high) or 'none is left'}).</p>"
        )
    if results.missing:
        yield f"<p class=undecided>Not complete: {results.missing:,} attempts are still to be played.</p>"


def budget_words(results: Results) -> str:
    """The budgets and passes in words."""
    budgets = results.plan.budgets
    limits = [
        f"{budgets.simulations:,} simulations" if budgets.simulations else "",
        f"{budgets.lean_attempts:,} Lean attempts" if budgets.lean_attempts else "",
        f"{budgets.seconds:g} seconds" if budgets.seconds else "",
    ]
    budget = " or ".join(each for each in limits if each) or "no limit"
    return f"{budget} an attempt, {results.passes} pass{'' if results.passes == 1 else 'es'}"


def _not_counted(results: Results) -> Iterator[str]:
    """Statements and rows that are neither solved nor unsolved, with reasons, and statements with known flaws."""
    unread = results.plan.benchmark.unread
    groups = [
        ("rows not read", "They are no statements that this program can read.", unread),
        (
            "statements not elaborated",
            "The Lean at hand does not take them: other versions of Lean or of its library may.",
            _reasons(results, Standing.NOT_ELABORATED),
        ),
        (
            "statements undecided",
            "Infrastructure failed in every attempt; the next run of the command tries again.",
            _reasons(results, Standing.UNDECIDED),
        ),
    ]
    if any(rows for _, _, rows in groups):
        yield "<h2>Neither solved nor unsolved</h2><p>These count for nothing in the shares on this page.</p>"
    for name, why, rows in groups:
        if rows:
            yield f"<details><summary>{name}: {len(rows):,}</summary><p class=quiet>{why}</p>{_named(rows)}</details>"
    flawed = tuple((row.statement.name, row.statement.flaw) for row in results.statements if row.statement.flaw)
    if flawed:
        yield f"<h2>Known flaws</h2><details><summary>statements that are known to be flawed: {len(flawed):,}; they "
        yield f"count, unless it is said otherwise</summary>{_named(flawed)}</details>"


def _reasons(results: Results, standing: Standing) -> tuple[tuple[str, str], ...]:
    return tuple((row.statement.name, reason_of(row)) for row in results.statements if row.standing is standing)


def _named(rows: tuple[tuple[str, str], ...]) -> str:
    cells = ((text(cut(name)), text(cut(why))) for name, why in rows[:MOST_NAMED])
    more = f"<p class=quiet>and {len(rows) - MOST_NAMED:,} more</p>" if len(rows) > MOST_NAMED else ""
    return f'<div class="reasons">{table(("name", "why"), cells, ())}{more}</div>'


def _budgets(results: Results, curves: Mapping[str, Curve]) -> Iterator[str]:
    from node.eval.pictures import svg  # draws with matplotlib, which takes half a second to import

    yield '<h2>Solved by budget</h2><div class="cards">'
    bound = False
    for kind, name in KINDS.items():
        curve = curves[kind]
        rows = []
        for limit, tally in results.budgets[kind]:
            least = limit > curve.complete_until
            bound |= least
            solved, _, share, within, _ = tally_cells(tally)
            rows.append([amount(limit), solved, ("≥ " if least else "") + share, within])
        yield f'<div class="card"><h3>{name.capitalize() if name.islower() else name}</h3>'
        if curve.points:
            yield f"<figure>{svg([curve], kind)}</figure>"
        yield f"{table(('within', 'solved', 'share', '95% interval'), rows, (0, 1, 2, 3))}</div>"
    yield "</div>"
    yield "<p class=quiet>Shaded: the 95% interval."
    if bound:
        yield "≥ and dashes: some attempts had ended by another budget before they had this much; with it they might "
        yield "have found a proof."
    yield "</p>"


def _passes(results: Results) -> Iterator[str]:
    if results.passes == 1:
        return
    rows = []
    for each in results.pass_at:
        spread = "" if math.isnan(each.deviation) else f" ± {100 * each.deviation:.1f}%"
        rows.append(
            [str(each.k), percent(each.unbiased), percent(each.mean) + spread, str(each.blocks), f"{each.statements:,}"]
        )
    heads = ("k", "unbiased", "blocks: mean ± deviation", "blocks", "statements")
    yield f'<h2>pass@k</h2><div class="card fits">{table(heads, rows, (0, 1, 2, 3, 4))}</div>'
    yield "<p class=quiet>Unbiased: Chen et al., arXiv 2107.03374, equation 1. Blocks: disjoint ones of k passes, as "
    yield "STP reports them (arXiv 2502.00212). Statements with fewer than k decided attempts are left out.</p>"


def _groups(results: Results) -> Iterator[str]:
    yield '<h2>By family and level</h2><div class="cards">'
    families = sorted(results.families.items(), key=lambda item: -item[1].statements)
    rows = [[text(cut(name, 60)) or "–", *tally_cells(tally)] for name, tally in families[:MOST_GROUPS]]
    yield f'<div class="card">{table(("family", *_TALLY_HEADS), rows, _NUMBERS)}'
    if len(families) > MOST_GROUPS:
        yield f"<p class=quiet>and {len(families) - MOST_GROUPS:,} smaller ones, in results.json</p>"
    rows = [[str(level), *tally_cells(tally)] for level, tally in results.levels.items()]
    yield f'</div><div class="card">{table(("level", *_TALLY_HEADS), rows, _NUMBERS)}</div></div>'


def _endings(results: Results) -> Iterator[str]:
    rows = [[text(ended), f"{count:,}"] for ended, count in results.endings.most_common()]
    yield '<div class="card"><h3>How the rest ended</h3>'
    yield (table(("attempts without a proof", ""), rows, (1,)) if rows else "<p>No attempt ended without a proof.</p>")
    yield "</div>"


def _costs(costs: Costs) -> Iterator[str]:
    seconds = [
        ("wall seconds", costs.wall_seconds),
        ("CPU seconds of this program", costs.own_cpu),
        ("CPU seconds of Lean", costs.lean_cpu),
        ("waiting for the policy, summed", costs.seconds_policy),
        ("waiting for Lean, summed", costs.seconds_lean),
        ("waiting for verification, summed", costs.seconds_verify),
    ]
    counts = [
        ("attempts", costs.attempts),
        ("simulations", costs.simulations),
        ("Lean attempts", costs.lean_attempts),
        ("samples", costs.samples),
        ("tokens", costs.tokens),
        ("proofs that verification refused", costs.proofs_rejected),
    ]
    rows = [[name, f"{count:,}"] for name, count in counts]
    rows += [[name, "a mesh's" if value is None else f"{value:,.1f}"] for name, value in seconds]
    yield f'<div class="card"><h3>Costs</h3>{table(("", ""), rows, (1,))}</div>'


def _axioms(results: Results) -> Iterator[str]:
    free = sum(1 for row in results.statements if row.solved and not row.solved[0].axioms)
    rows = [[text(axiom), f"{count:,}"] for axiom, count in results.axioms.most_common()]
    rows += [["none at all", f"{free:,}"]] if free else []
    yield '<div class="card"><h3>Axioms</h3>'
    yield (table(("proofs that rest on", ""), rows, (1,)) if rows else "<p>No proof was found.</p>") + "</div>"


def _sources(results: Results) -> Iterator[str]:
    if results.sources:
        rows = [[text(source), f"{count:,}"] for source, count in results.sources.most_common()]
        yield f'<div class="card"><h3>Who proposed the proofs\' tactics</h3>{table(("", ""), rows, (1,))}</div>'


def _what(results: Results) -> Iterator[str]:
    """All facts that are needed to repeat the evaluation."""
    plan = results.plan
    benchmark, lean, sampling = plan.benchmark, plan.lean, plan.sampling
    yield "<h2>What was evaluated</h2>"
    yield '<div class="cards"><div class="card"><h3>Benchmark</h3>'
    yield facts(
        [
            ("asked for as", benchmark.spec),
            ("name, split", f"{benchmark.name} {benchmark.split}".strip()),
            ("statements", f"{benchmark.statements:,} of {benchmark.rows:,} rows"),
            ("digest", benchmark.digest),
            ("source", benchmark.source),
            ("revision", benchmark.revision),
            ("licence", benchmark.licence),
            ("homepage", benchmark.homepage),
            ("paper", benchmark.paper),
            *(("note", note) for note in benchmark.notes),
        ]
    )
    yield '</div><div class="card"><h3>Prover</h3>'
    each = "at once" if plan.method == Method.WHOLE_PROOF and not plan.then else "an expansion"
    drawn = f"{plan.samples} {each}, temperature {sampling.temperature:g}, top-p {sampling.top_p:g}"
    yield facts(
        [
            ("policy", plan.policy),
            ("in words", plan.label),
            *((f"digest of {part}", digest) for part, digest in plan.weights.items()),
            ("method", plan.way),
            ("budgets", budget_words(results)),
            ("samples", drawn + (", distinct" if sampling.distinct else "")),
            ("expansions in flight", str(plan.leaves)),
            ("seed", str(plan.seed)),
            ("mesh", plan.mesh),
            ("proofmesh", plan.proofmesh),
        ]
    )
    yield '</div><div class="card"><h3>Lean</h3>'
    library = [(f"{name}, commit", commit) for name, commit in lean.library.items()]
    yield facts([("version", lean.version), ("name", lean.name), *library, ("header", lean.header or "none")])
    yield "</div></div>"


# ----------------------------------------------------------------------------------------------------------------------
# The section of statements in a report: a row for each, which unfolds to the statement and its proof.

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
