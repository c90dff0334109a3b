"""What a search did, as it is written, read again and shown."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from common.output.command import Exit
from common.output.visible import visible
from node.command.proofs.inspect import main
from node.lean.opened import OpenedLean
from node.proving.answers import Answer, answer
from node.proving.explain import (
    BadExplanation,
    ExplainedSearch,
    ExplainedState,
    Explanation,
    FailedTactic,
    SearchRecorder,
    TakenTactic,
    best_line,
    page,
    read,
)
from node.proving.prover import Budget
from node.proving.statements import statement_target
from tests.node.proving.local import pocket_prover

NASTY = "<script>alert('&')</script> \x1b[31m"

SEARCH = ExplainedSearch(
    theorem=f"theorem t : {NASTY}",
    simulations=3,
    tactics_tried=4,
    tactics_failed=1,
    states=(
        ExplainedState(
            0, f"h : {NASTY}\n⊢ a", 0, 3, -2.0, 1, None, steps=2, best=1,
            tactics=(TakenTactic("cases h", 0.7, 2, -3.0, (1, 2)), TakenTactic("simp", 0.3, 1, -2.0, (2,), 2)),
            failed=(FailedTactic(NASTY, "error", NASTY), FailedTactic("skip", "useless", "changes nothing")),
        ),
        ExplainedState(1, "⊢ b", 1, 1, -4.0, 1, 0, "cases h"),
        ExplainedState(2, "⊢ c", 1, 1, -1.0, 1, 0, "cases h", steps=1, best=0, tactics=(
            TakenTactic("rfl", 1.0, 1, -1.0, (), 1),
        )),
    ),
)  # fmt: skip
EXPLANATION = Explanation("t", "proved", "accepted", f"theorem t : {NASTY} := by\n  simp", "search", 0.5, (SEARCH,))


class Reader(HTMLParser):
    """Collects tags, links, anchors and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        found = dict(attributes)
        self.links |= {found.get("href") or found.get("src") or ""} - {""}
        self.anchors |= {f"#{found['id']}"} if found.get("id") else set()

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_everything_and_fetches_nothing():
    reader = Reader()
    reader.feed(page(EXPLANATION))
    assert "script" not in reader.tags and "link" not in reader.tags and "img" not in reader.tags
    assert {link[0] for link in reader.links} == {"#"}
    assert reader.anchors >= {"#s0-0", "#s0-2"}
    for text in (visible(NASTY), "changes nothing", "cases h", "0.700", "proof of depth 2", "accepted"):
        assert text in reader.text


def test_the_best_line_follows_the_proof_or_else_the_visits():
    assert [(state.id, taken.tactic) for state, taken in best_line(SEARCH)] == [(0, "simp"), (2, "rfl")]
    unsolved = msgspec.structs.replace(SEARCH.states[0], best=None)
    states = (unsolved, *SEARCH.states[1:])
    line = best_line(msgspec.structs.replace(SEARCH, states=states))
    assert [taken.tactic for _, taken in line] == ["cases h"]


def test_inspect_shows_the_tree_and_a_states_tactics(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "search.json"
    file.write_bytes(msgspec.json.encode(EXPLANATION))
    assert main([str(file)]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "3 simulations, 3 states" in shown and "best line" in shown and "[2] ⊢ c" in shown
    assert "\x1b" not in shown
    assert main([str(file), "0"]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "<script>" in shown and "useless" in shown and "0.700" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.json"], "none.json: cannot be read: No such file"),
        (["other.json"], "other.json: not what `prove --explain` writes"),
        (["search.json", "7"], "no state 7; there are 0 to 2"),
        (["search.json", "--search", "1"], "no search 1; it has 1"),
    ],
)
def test_inspect_tells_what_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
):
    (tmp_path / "search.json").write_bytes(msgspec.json.encode(EXPLANATION))
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    assert main([str(tmp_path / arguments[0]), *arguments[1:]]) == Exit.UNUSABLE
    assert told in capsys.readouterr().err


async def test_a_real_search_is_kept_with_leans_messages(opened_lean: OpenedLean, tmp_path: Path):
    recorder = SearchRecorder()
    target = statement_target("theorem t (f : Nat → Nat) (n m : Nat) : f (n + m) = f m + n")
    async with pocket_prover(opened_lean, recorder.watch) as prover:
        found = await answer(prover, target, Budget(seconds=60, simulations=6))
    json_file, html_file = recorder.write(tmp_path / "kept.json", found)
    assert (json_file.name, html_file.name) == ("kept.json", "kept.html")
    (search,) = read(json_file).searches
    assert search.simulations == 6 and sum(state.expansions for state in search.states) == 6
    root = search.states[0]
    assert root.visits == 6 and root.state.endswith("⊢ f (n + m) = f m + n")
    assert abs(sum(each.prior for each in root.tactics) - 1) < 1e-6
    assert any(each.kind == "error" and "failed" in each.message for each in root.failed)
    assert all(search.states[child].depth > 0 for each in root.tactics for child in each.children)
    assert "f (n + m) = f m + n" in html_file.read_text(encoding="utf-8")


def test_what_was_proved_without_a_search_says_so(tmp_path: Path):
    json_file, html_file = SearchRecorder().write(
        tmp_path, Answer("t", "proved", lean="theorem t : True := by\n  simp")
    )
    assert json.loads(json_file.read_bytes())["searches"] == []
    assert "No search was needed" in html_file.read_text(encoding="utf-8")
    with pytest.raises(BadExplanation):
        read(html_file)
