"""Style, script and HTML elements of report pages. Foreign text is escaped with `text`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from common.output.visible import in_html
from node.eval.curves import wilson
from node.eval.results import Tally

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page fetches nothing, even if a text in it contains an address."""

_STYLE = """
:root { --page: #fff; --card: #f6f7f9; --ink: #1b1f27; --quiet: #5c6675; --line: #dde1e7; --accent: #0072b2;
  --good: #1a7f4b; --warn: #96660a; --bad: #b3303f; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --page: #11141b; --card: #191e28; --ink: #e5e8ef; --quiet: #9aa4b6;
  --line: #2a3140; --accent: #4aa8de; --good: #3ecf9f; --warn: #e5a93c; --bad: #f58391; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74em; padding: 1.5em 1.2em 4em; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5em; margin: 0 0 .2em; overflow-wrap: anywhere; } h2 { font-size: 1.15em; margin: 2em 0 .5em; }
h3 { font-size: 1em; margin: 0 0 .4em; } p { margin: .4em 0; } .quiet { color: var(--quiet); }
.big { font-size: 2.1em; font-weight: 650; margin: .5em 0 0; line-height: 1.2; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20em, 100%), 1fr)); gap: 1em;
  align-items: start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8em 1em; min-width: 0;
  overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th { text-align: left; font-weight: 500; color: var(--quiet); } td, th { padding: .16em .8em .16em 0; }
td { vertical-align: top; border-top: 1px solid var(--line); } .reasons td { overflow-wrap: anywhere; }
.reasons td:first-child { min-width: 9em; width: 30%; } .fits table { width: auto; }
td.n, th.n { text-align: right; white-space: nowrap; } td.w { min-width: 3em; width: 25%; padding-right: 0; }
.bar { display: block; height: .75em; margin-top: .38em; background: var(--line); border-radius: 2px; }
.bar i { display: block; height: 100%; background: var(--accent); border-radius: 2px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em 1em; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
pre, code { font: 13px/1.45 ui-monospace, monospace; } pre { background: var(--card); border: 1px solid var(--line);
  padding: .6em .8em; margin: .4em 0; border-radius: 6px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; } summary { cursor: pointer; }
figure { margin: 0; } figure svg { width: 100%; height: auto; max-width: 34em; }
.controls { display: flex; flex-wrap: wrap; gap: .6em; align-items: center; margin: .6em 0; }
.controls input, .controls select { font: inherit; padding: .25em .5em; border: 1px solid var(--line);
  border-radius: 6px; background: var(--card); color: var(--ink); } .controls input { flex: 1 1 14em; }
.row { border-top: 1px solid var(--line); padding: .15em 0; } .row[hidden] { display: none; }
.row > summary, .heads { display: grid; grid-template-columns: minmax(0, 1fr) 8em 9em 3.5em 7em; gap: .8em; }
.row > summary > :first-child { overflow-wrap: anywhere; } .row > summary::marker { content: none; }
.heads { color: var(--quiet); } .n { text-align: right; }
.row > summary > .family { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.solved { color: var(--good); } .unsolved { color: var(--ink); } .undecided { color: var(--warn); }
.not-elaborated { color: var(--warn); } .flaw { color: var(--bad); }
@media (max-width: 46em) { .row > summary, .heads { grid-template-columns: minmax(0, 1fr) 8em; }
  .row > summary > .extra, .heads > .extra { display: none; }
  dl { grid-template-columns: 1fr; } dd { margin: 0 0 .3em; } }
"""

_SCRIPT = """
const rows = [...document.querySelectorAll('.row')].map(row => [row, null]);
const standing = document.getElementById('standing'), words = document.getElementById('words');
const count = document.getElementById('count');
function filter() {
  const wanted = standing.value, text = words.value.toLowerCase().trim();
  let shown = 0;
  for (const pair of rows) {
    const [row, known] = pair;
    let fits = !wanted || row.dataset.standing === wanted || (wanted === 'flaw' && row.dataset.flaw);
    if (fits && text) fits = (pair[1] = known ?? row.textContent.toLowerCase()).includes(text);
    row.hidden = !fits;
    shown += fits;
  }
  count.textContent = shown + ' of ' + rows.length + ' shown';
}
if (standing) { standing.onchange = filter; words.oninput = filter; filter(); }
"""


def document(title: str, body: Iterable[str]) -> str:
    """A self-contained page."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title><style>{_STYLE}</style></head><body>",
            *body,
            f"<script>{_SCRIPT}</script></body></html>",
        ]
    )


def text(foreign: object) -> str:
    """Escapes foreign text for HTML."""
    return in_html(str(foreign), multiline=True)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    """A table whose cells are HTML. `numbers`: columns that are aligned to the right."""

    def classed(tag: str, column: int, content: str) -> str:
        kind = ' class="n"' if column in numbers else ' class="w"' if "class=bar" in content else ""
        return f"<{tag}{kind}>{content}</{tag}>"

    lines = ["".join(classed("th", column, text(head)) for column, head in enumerate(heads))]
    lines += ["".join(classed("td", column, cell) for column, cell in enumerate(row)) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names and values; pairs with an empty value are left out."""
    return "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs if value) + "</dl>"


def bar(share: float) -> str:
    """A share as a bar; empty if the share is unknown."""
    if math.isnan(share):
        return ""
    return f'<span class=bar role=img aria-label="{percent(share)}"><i style="width:{100 * share:.1f}%"></i></span>'


def tally_cells(tally: Tally) -> list[str]:
    """The cells of a table row: solved, of, share, interval, bar."""
    low, high = wilson(tally.solved, tally.statements)
    return [amount(tally.solved), str(tally.statements), percent(tally.rate), interval(low, high), bar(tally.rate)]


def percent(share: float) -> str:
    """`63.1%`; a dash if the share is unknown."""
    return "–" if math.isnan(share) else f"{100 * share:.1f}%"


def interval(low: float, high: float) -> str:
    """`59.8 to 66.0%`; empty if it is unknown."""
    return "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}%"


def amount(number: float) -> str:
    """A number of statements, such as `1,204`; with several passes it may be a fraction, such as `80.25`."""
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.2f}"
