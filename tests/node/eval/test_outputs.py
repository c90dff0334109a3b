"""What an evaluation leaves for people: results.json, the page, the summary."""

import re
from html.parser import HTMLParser

import msgspec
import pytest

from common.lean import Theorem
from node.eval.folder import AttemptRecord, Standing
from node.eval.outputs import ResultsFile, results_file, write_outputs
from node.eval.report import report
from node.eval.results import results_of
from tests.node.eval.small import evaluation, random_evaluation, solved, statement, unsolved

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
    assert found == msgspec.convert(
        msgspec.to_builtins(results_file(results), str_keys=True), ResultsFile, strict=False
    )
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
    assert Seen(page).tags.count("script") == Seen(ordinary).tags.count("script") == 1
    assert "img" not in Seen(page).tags
    assert not [name for name, _ in Seen(page).attributes if name.startswith("on") or name in ("src", "href")]
    assert Seen(page).text.count("alert(1)") >= 8
    assert "<link" not in page and "@import" not in page and "default-src 'none'" in page


def test_the_page_tells_simulations_until_the_first_proof_or_of_the_longest_attempt():
    attempts = [solved("a", 31, 0), solved("a", 17, 1)]
    attempts += [unsolved("b", 0, simulations=43), unsolved("b", 1, simulations=59)]
    made = evaluation([statement("a"), statement("b")], attempts, passes=2)
    numbers = re.findall(r'<span class="extra n">(\d+)</span></summary>', report(results_of(made)))
    assert sorted(numbers) == ["17", "59"]
