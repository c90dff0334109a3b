"""Renders a search as one HTML page, without scripts or external resources. All texts are escaped."""

from __future__ import annotations

from collections.abc import Iterator

from common.output.visible import in_html
from node.proving.explain import ExplainedSearch, ExplainedState, Explanation, TakenTactic, best_line

SHOWN_MESSAGE = 600
"""Most characters of a message on the page. The JSON file has the whole message."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #1c1c1c; }
pre, code, td.tactic { font-family: ui-monospace, monospace; font-size: 13px; }
pre { background: #f5f5f3; padding: .6em .8em; overflow-x: auto; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top; padding: .15em .6em; }
tr { border-top: 1px solid #e3e3e0; } td.number, th.number { text-align: right; white-space: nowrap; }
.solved { color: #17692c; } .dead { color: #8a8a86; } .kind { color: #a33; white-space: nowrap; }
section { border-top: 2px solid #d8d8d4; margin-top: 1.5em; } summary { cursor: pointer; } a { color: #1f55a5; }
.outline div { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
:target { background: #fff6d6; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #e6e6e6; } pre { background: #262626; }
  a { color: #8ab4f8; } .solved { color: #7fd18f; } tr { border-color: #3a3a3a; } :target { background: #3d3720; } }
"""


def page(explanation: Explanation) -> str:
    """The whole page."""
    title = in_html(f"{explanation.name}: {explanation.outcome}")
    by = f", by {explanation.by}" if explanation.by else ""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>{in_html(explanation.reason)} ({explanation.seconds:.1f} s{in_html(by)})</p>",
    ]
    if explanation.lean:
        parts.append(f"<pre>{in_html(explanation.lean, multiline=True)}</pre>")
    if not explanation.searches:
        parts.append("<p>No search was needed, or none began.</p>")
    for number, search in enumerate(explanation.searches):
        parts += _search(search, number, len(explanation.searches))
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _search(search: ExplainedSearch, number: int, searches: int) -> Iterator[str]:
    heading = f"Search {number + 1} of {searches}" if searches > 1 else "Search"
    yield f"<h2>{heading}</h2><pre>{in_html(search.theorem, multiline=True)}</pre>"
    yield (
        f"<p>{search.simulations} simulations, {len(search.states)} states, {search.tactics_tried} tactics tried, "
        f"of which {search.tactics_failed} failed.</p>"
    )
    yield "<h3>Best line</h3><table><tr><th>state</th><th>tactic</th><th>leaves</th></tr>"
    for state, taken in best_line(search):
        yield (
            f"<tr><td>{_link(number, state.id)}</td><td class=tactic>{in_html(taken.tactic)}</td>"
            f"<td>{_children(number, taken)}</td></tr>"
        )
    yield "</table><h3>States</h3><div class=outline>"
    yield from _outline(search, number)
    yield "</div>"
    for state in search.states:
        if state.tactics or state.failed:
            yield from _state(state, number)


def _outline(search: ExplainedSearch, number: int) -> Iterator[str]:
    """One line for each state, below the state from which it was first reached."""
    below: dict[int | None, list[ExplainedState]] = {}
    for state in search.states:
        below.setdefault(state.parent, []).append(state)
    todo = list(reversed(below.get(None, [])))
    while todo:
        state = todo.pop()
        todo += sorted(below.get(state.id, []), key=lambda each: each.visits)
        tactic = f"<code>{in_html(state.tactic)}</code> → " if state.tactic else ""
        goal = in_html(state.state.rsplit("⊢", 1)[-1].strip()[:120])
        yield (
            f'<div class="{_class(state)}" style="margin-left:{min(state.depth, 40) * 1.2:.1f}em">'
            f"{tactic}{_link(number, state.id)} <code>⊢ {goal}</code> {_numbers(state)}</div>"
        )


def _state(state: ExplainedState, number: int) -> Iterator[str]:
    yield f'<section id="s{number}-{state.id}"><h4 class="{_class(state)}">State {state.id} {_numbers(state)}</h4>'
    if state.parent is not None:
        yield f"<p>from {_link(number, state.parent)} by <code>{in_html(state.tactic)}</code></p>"
    yield f"<pre>{in_html(state.state, multiline=True)}</pre>"
    if state.tactics:
        yield (
            "<table><tr><th>tactic</th><th class=number>prior</th><th class=number>visits</th>"
            "<th class=number>value</th><th>leaves</th></tr>"
        )
        for index, taken in enumerate(state.tactics):
            value = "" if taken.value is None else f"{taken.value:.2f}"
            mark = "solved" if index == state.best else "dead" if taken.dead else ""
            yield (
                f'<tr class="{mark}"><td class=tactic>{in_html(taken.tactic)}</td><td class=number>{taken.prior:.3f}'
                f"</td><td class=number>{taken.visits}</td><td class=number>{value}</td>"
                f"<td>{_children(number, taken)}</td></tr>"
            )
        yield "</table>"
    if state.failed:
        yield f"<details><summary>{len(state.failed)} tactics that led nowhere</summary><table>"
        for failed in state.failed:
            cut = failed.message[:SHOWN_MESSAGE] + (" …" if len(failed.message) > SHOWN_MESSAGE else "")
            yield (
                f"<tr><td class=tactic>{in_html(failed.tactic)}</td><td class=kind>{in_html(failed.kind)}</td>"
                f"<td><pre>{in_html(cut, multiline=True)}</pre></td></tr>"
            )
        yield "</table></details>"
    yield "</section>"


def _numbers(state: ExplainedState) -> str:
    proof = f", proof of depth {state.steps}" if state.steps is not None else ", dead end" if state.dead else ""
    return f"({state.visits} visits, value {state.value:.2f}{proof})" if state.visits else "(not visited)"


def _class(state: ExplainedState) -> str:
    return "solved" if state.steps is not None else "dead" if state.dead else "open"


def _children(number: int, taken: TakenTactic) -> str:
    return ", ".join(_link(number, child) for child in taken.children) or "nothing: it closes the goal"


def _link(number: int, state: int) -> str:
    return f'<a href="#s{number}-{state}">{state}</a>'
