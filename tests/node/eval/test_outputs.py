"""What an evaluation leaves for people: results.json, the page, the summary."""

import io
import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console

from common.lean import Theorem
from node.eval.folder import AttemptRecord, FolderError, Standing
from node.eval.outputs import ResultsFile, results_file, summary_lines, write_outputs
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


def test_all_files_are_written_and_results_can_be_read_back(tmp_path):
    made = random_evaluation(60, passes=3, path=tmp_path)
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


def test_a_folder_that_is_gone_is_said_to_be(tmp_path):
    with pytest.raises(FolderError, match=r"gone: cannot be written: No such file"):
        write_outputs(evaluation([statement("a")], [solved("a", 3)], tmp_path / "gone"), 1)


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


def shown(results) -> str:
    console = Console(file=io.StringIO(), width=110)
    console.print(summary_lines(results))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_summary_names_what_is_solved_and_what_does_not_count():
    statements = [statement("a"), statement("b", family="[red]other"), statement("c", refused="unknown identifier")]
    summary = shown(results_of(evaluation(statements, [solved("a", 3), unsolved("b")])))
    assert "solved 1 of 2 statements, 50.0% (95% interval 9.5 to 90.5%)" in summary
    assert "neither solved nor unsolved: 1 not elaborated by this Lean" in summary
    assert "[red]other" in summary and "ended by: simulations 1" in summary
    assert re.search(r"^8 +simulations +1 +50\.0%", summary, re.MULTILINE)
    assert re.search(r"^AUC of values off proofs +1\.00 \(1 solved, 1 not\)", summary, re.MULTILINE)
    assert re.search(r"^simp +3 +1 +1", summary, re.MULTILINE)
