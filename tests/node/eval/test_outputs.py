"""What an evaluation leaves for people: results.json, the page, the summary; and what it shows while it runs."""

import io
import re
from html.parser import HTMLParser
from unittest.mock import Mock

import msgspec
import pytest
from rich.console import Console

from common.lean import Theorem
from node.eval.folder import AttemptRecord, Standing
from node.eval.live import LINE_SECONDS, LiveView
from node.eval.outputs import ResultsFile, results_file, write_outputs
from node.eval.report import report
from node.eval.results import results_of
from tests.node.eval.small import evaluation, plan, random_evaluation, solved, statement, unsolved

HOSTILE = '</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>"\' onclick="x'


class Seen(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.compute
def test_all_files_are_written_and_results_can_be_read_back(tmp_path):
    made = random_evaluation(30, passes=3, path=tmp_path)
    results = write_outputs(made, 3)
    assert {each.name for each in tmp_path.iterdir()} == {"results.json", "report.html", "solved.png", "proofs.lean"}
    found = msgspec.json.decode((tmp_path / "results.json").read_bytes(), type=ResultsFile)
    told = msgspec.to_builtins(results_file(results), str_keys=True)
    assert found == msgspec.convert(told, ResultsFile, strict=False)
    assert found.total.solved == results.total.solved and found.passes == 3
    assert found.standings["not-elaborated"] == results.standings[Standing.NOT_ELABORATED] > 0
    assert found.curves["simulations"].points[-1][1] == pytest.approx(found.total.rate)
    assert sum(each.standing is Standing.SOLVED for each in found.statements) == found.total.any
    assert re.search(rb"NaN|Infinity", (tmp_path / "results.json").read_bytes()) is None


@pytest.mark.compute
def test_the_page_runs_and_fetches_nothing_that_others_wrote():
    hostile = statement(HOSTILE, theorem=Theorem(HOSTILE, HOSTILE, HOSTILE, HOSTILE), family=HOSTILE, flaw=HOSTILE)
    refused = statement("refused", refused=HOSTILE, family=HOSTILE + "2")
    attempt = msgspec.structs.replace(solved(HOSTILE, 3), script=f"  exact {HOSTILE}")
    lost = AttemptRecord(name="lost", number=0, standing=Standing.UNDECIDED, ended=HOSTILE, reason=HOSTILE)
    made = evaluation([hostile, refused, statement("lost")], [attempt, lost], label=HOSTILE, policy=HOSTILE)
    page = report(results_of(made))
    ordinary = report(results_of(evaluation([statement("a")], [solved("a", 3)])))
    seen = Seen(page)
    assert seen.tags.count("script") == Seen(ordinary).tags.count("script") == 1 and "img" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href")]
    assert seen.text.count("alert(1)") >= 8
    assert "<link" not in page and "@import" not in page and "default-src 'none'" in page


def test_the_page_tells_simulations_until_the_first_proof_or_of_the_longest_attempt():
    attempts = [solved("a", 31, 0), solved("a", 17, 1)]
    attempts += [unsolved("b", 0, simulations=43), unsolved("b", 1, simulations=59)]
    made = evaluation([statement("a"), statement("b")], attempts, passes=2)
    numbers = re.findall(r'<span class="extra n">(\d+)</span></summary>', report(results_of(made)))
    assert sorted(numbers) == ["17", "59"]


# --- while it runs ----------------------------------------------------------------------------------------------------
def test_without_a_terminal_a_line_comes_every_ten_seconds_and_at_the_end():
    out, clock = io.StringIO(), Mock(return_value=100.0)
    statements = [statement(f"s{index}") for index in range(4)]
    with LiveView(plan(), statements, [], 4, Console(file=out, width=100, height=40), clock) as view:
        for later, record, printed in (
            (2, solved("s0", 3), 1),  # what there is to do
            (LINE_SECONDS, unsolved("s1"), 2),
            (1, solved("s2", 3), 2),
        ):
            clock.return_value += later
            view.recorded(record)
            assert out.getvalue().count("\n") == printed
    lines = out.getvalue().splitlines()
    assert len(lines) == 3 and lines[0].startswith("0/4 attempts") and "4 to play" in lines[0]
    assert "2/4 attempts, 1 solved, 1 unsolved, rate 50.0% (9.5% to 90.5%)" in lines[1]
    assert "0.17 attempts/s, 12 s so far, 12 s left" in lines[1] and lines[2].startswith("3/4 attempts")
