"""What commands print of names, messages and paths that a hostile file, model or node has written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.protocol.messages import LeanProxyFacts, ModelFacts, NetworkFacts, NodeInfo, Protection, ProverFacts
from common.records.searches import FailedTactic, SearchState, SearchTree, TakenTactic
from common.settings import NodeSettings, Sampling
from node.command import cli, status
from node.command.proofs.fill_report import FillReport
from node.command.proofs.verdicts import Report as VerifyReport
from node.eval.report import report
from node.eval.results import results_of
from node.lean.check.files.report import DeclarationVerdict, FileReport, LocalItem
from node.proving.explain import Explanation, page
from tests.hostile import HOSTILE, SURROGATE, harmless, harmless_and_whole
from tests.node.eval import small


def below_others(text: str) -> str:
    """The text, where goals, statements and diffs keep their lines, so that one of them may begin with anything."""
    return text.replace("\naccepted  Real", "\n| accepted  Real")


Printed = Callable[[], str]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """What was printed since the last call, to both streams."""
    monkeypatch.setenv("COLUMNS", "2000")

    def read() -> str:
        both = capsys.readouterr()
        return both.out + both.err

    return read


def verdicts(form: Any) -> VerifyReport:
    report = VerifyReport(form=form)
    item = LocalItem("def", HOSTILE, 1)
    accepted = DeclarationVerdict(HOSTILE, "theorem", 1, "", (HOSTILE,), (item,))
    refused = DeclarationVerdict(HOSTILE, "theorem", 2, f"Lean says\n{HOSTILE}")
    report.add_file(FileReport(SURROGATE, declarations=[accepted, refused], runs_code=[item], lean_version="4.0"))
    report.add_file(FileReport(SURROGATE, HOSTILE))
    report.add_comparison(SURROGATE, [], {HOSTILE: HOSTILE}, "4.0", "")
    return report


@pytest.mark.parametrize("form", ["lines", "table"])
def test_verify_prints_one_line_for_each_verdict(printed: Printed, form: str) -> None:
    verdicts(form).finish()
    shown = printed()
    assert harmless_and_whole(shown)
    if form == "lines":
        own = [line.split(" ")[0] for line in shown.splitlines() if not line.startswith(" ")]
        assert sorted(own) == ["accepted", "note", "note", "proofmesh", "rejected"]


def test_diffs_are_exact_in_pipes(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    diff = "--- a\n+++ b\n-a\x1b[2J\r\n+[bold]b[/bold]\u202e\n"
    FillReport()._print_diff(diff)
    assert capfdbinary.readouterr().out == diff.encode()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    FillReport()._print_diff(diff)
    shown = capfdbinary.readouterr().out.decode()
    assert "-a\\x1b[2J" in shown and "+[bold]b[/bold]\\u202e" in shown


TAKEN = (TakenTactic(HOSTILE, 0.5, 2, -1.0, (1,)),)
FAILED = (FailedTactic(HOSTILE, HOSTILE, HOSTILE),)
STATES = (
    SearchState(0, f"⊢ {HOSTILE}", 0, 3, -1.0, 1, None, best=0, tactics=TAKEN, failed=FAILED),
    SearchState(1, f"⊢ {HOSTILE}", 1, 1, -1.0, 1, 0, tactic=HOSTILE, tactics=(TakenTactic(HOSTILE, 1, 1, 0, ()),)),
)
SEARCH = SearchTree(HOSTILE, 3, 2, 1, STATES)
EXPLANATION = Explanation(HOSTILE, "proved", HOSTILE, HOSTILE, HOSTILE, 1.0, (SEARCH,))


def test_pages_show_what_a_browser_would_obey() -> None:
    text = below_others(page(EXPLANATION))
    assert harmless_and_whole(text) and "<script" not in text
    evaluated = small.evaluation([small.statement(HOSTILE)], [small.solved(HOSTILE, 3)], label=HOSTILE)
    assert harmless_and_whole(below_others(report(results_of(evaluated))))


def test_status_shows_nodes_and_facts(printed: Printed) -> None:
    protections = tuple(Protection(HOSTILE, on, HOSTILE) for on in (True, False))
    texts = dict.fromkeys(("version", "name", "project", "header"), HOSTILE)
    lean = LeanProxyFacts(**texts, options=(HOSTILE,), protections=protections)
    sampling = Sampling(stop=(HOSTILE,))
    prover = ProverFacts(policy=HOSTILE, leaves=1, sampling=sampling, templates={HOSTILE: HOSTILE})
    model = ModelFacts(model=HOSTILE, template=HOSTILE, digest=HOSTILE, trouble=HOSTILE)
    info = NodeInfo(HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE, 0.0, HOSTILE, {HOSTILE: 1}, state=HOSTILE)
    kinds = (lean, prover, model, NetworkFacts(weights=HOSTILE))
    status._show(NodeSettings(run=HOSTILE), [msgspec.structs.replace(info, facts=facts) for facts in kinds])
    status._show(NodeSettings(run=HOSTILE), [])
    assert harmless_and_whole(printed())


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        ["verify", "--against", HOSTILE, "x.lean"],
        ["verify", f"--{HOSTILE}.lean"],
        ["prove", "--from", f"{HOSTILE}"],
        ["inspect", HOSTILE.replace("\0", "")],
        ["fill", SURROGATE.replace("\0", "")],
        ["trace", HOSTILE.replace("\0", "")],
        ["agent", "status", HOSTILE.replace("\0", "")],
        ["bank", "stats", HOSTILE.replace("\0", "")],
        ["eval", "--bench", f"bank:{HOSTILE}".replace("\0", "")],
    ],
)
def test_errors_of_the_command_line_are_lines_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = cli.main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code != 0
    assert harmless(printed())
