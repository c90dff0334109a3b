"""What commands print of names, messages and paths that a hostile file, model or node has written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from common.output.command import Exit
from common.protocol.messages import LeanProxyFacts, ModelFacts, NetworkFacts, NodeInfo, Protection, ProverFacts
from common.settings import NodeSettings, Sampling
from node.agent import report as agent_report
from node.command import cli, status, trace
from node.command.proofs import inspect
from node.command.proofs.fill_report import FillReport
from node.command.proofs.prove import Report as ProveReport
from node.command.proofs.verdicts import Report as VerifyReport
from node.command.up import Status, table
from node.eval.report import report
from node.eval.results import results_of
from node.lean.check.files.report import DeclarationVerdict, FileReport, LocalItem
from node.lean.trace.records import TracedFile, TracedTheorem
from node.proving.answers import FAILED, PROVED, Answer
from node.proving.explain import ExplainedSearch, ExplainedState, Explanation, FailedTactic, TakenTactic, page
from node.proving.fill import FilledFile, GapResult, GapState
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
    report.add_file(
        FileReport(
            SURROGATE,
            declarations=[
                DeclarationVerdict(HOSTILE, "theorem", 1, "", (HOSTILE,), (item,)),
                DeclarationVerdict(HOSTILE, "theorem", 2, f"Lean says\n{HOSTILE}"),
            ],
            runs_code=[item],
            lean_version="4.0",
        )
    )
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


def test_prove_reports_in_lines_and_prints_the_proof_as_it_is(printed: Printed) -> None:
    report = ProveReport(json=False, many=True)
    report.note(f"searching for a proof of {HOSTILE}")
    report.add(Answer(SURROGATE, FAILED, reason=HOSTILE, by=HOSTILE))
    assert harmless_and_whole(printed())
    report.add(Answer("t", PROVED, lean="theorem «a\x1b» : True := by\n  trivial"))
    assert "theorem «a\x1b» : True := by\n  trivial\n" in printed()


def gap_result(state: GapState) -> GapResult:
    gap: Any = SimpleNamespace(line=1, column=0, name=HOSTILE, tactic=True, goal=HOSTILE, conclusion=HOSTILE)
    return GapResult(gap, state, HOSTILE, (HOSTILE,), HOSTILE, rests=HOSTILE)


@pytest.mark.parametrize("form", ["lines", "table"])
def test_fill_reports_in_lines(printed: Printed, form: Any) -> None:
    report = FillReport(form=form)
    with report:
        report.opened(SURROGATE, 2)
        for state in (GapState.LEFT, GapState.FILLED):
            report.ended(gap_result(state))
        report.unreadable(SURROGATE, HOSTILE)
        report.nothing(SURROGATE)
        gaps: Any = SimpleNamespace(errors=[], messages=[])
        done = FilledFile(gaps, [gap_result(GapState.LEFT), gap_result(GapState.FILLED)])
        report.add(SURROGATE, done, "", False, HOSTILE, 1.0)
    report.finish()
    assert harmless_and_whole(printed())


def test_the_diff_of_fill_is_exact_in_a_pipe_and_shown_on_a_terminal(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    diff = "--- a\n+++ b\n-a\x1b[2J\r\n+[bold]b[/bold]\u202e\n"
    FillReport()._print_diff(diff)
    assert capfdbinary.readouterr().out == diff.encode()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    FillReport()._print_diff(diff)
    shown = capfdbinary.readouterr().out.decode()
    assert "-a\\x1b[2J" in shown and "+[bold]b[/bold]\\u202e" in shown


SEARCH = ExplainedSearch(
    HOSTILE,
    3,
    2,
    1,
    (
        ExplainedState(
            *(0, f"⊢ {HOSTILE}", 0, 3, -1.0, 1, None),
            best=0,
            tactics=(TakenTactic(HOSTILE, 0.5, 2, -1.0, (1,)),),
            failed=(FailedTactic(HOSTILE, HOSTILE, HOSTILE),),
        ),
        ExplainedState(
            1, f"⊢ {HOSTILE}", 1, 1, -1.0, 1, 0, tactic=HOSTILE, tactics=(TakenTactic(HOSTILE, 1, 1, 0, ()),)
        ),
    ),
)
EXPLANATION = Explanation(HOSTILE, "proved", HOSTILE, HOSTILE, HOSTILE, 1.0, (SEARCH,))


@pytest.mark.parametrize("arguments", [(), ("0",), ("1",)])
def test_inspect_shows_a_search(tmp_path: Path, printed: Printed, arguments: tuple[str, ...]) -> None:
    file = tmp_path / "search.json"
    file.write_bytes(msgspec.json.encode(EXPLANATION))
    assert inspect.main([str(file), *arguments]) == Exit.DONE
    shown = printed()
    assert harmless_and_whole(below_others(shown))


def test_pages_show_what_a_browser_would_obey() -> None:
    text = below_others(page(EXPLANATION))
    assert harmless_and_whole(text) and "<script" not in text
    evaluated = small.evaluation([small.statement(HOSTILE)], [small.solved(HOSTILE, 3)], label=HOSTILE)
    assert harmless_and_whole(below_others(report(results_of(evaluated))))


def test_trace_prints_one_line_for_each_error(printed: Printed) -> None:
    work: Any = SimpleNamespace(name=SURROGATE)
    with trace.TraceProgress(2) as progress:
        progress.add(work, TracedFile(SURROGATE, error=HOSTILE), False)
        theorem = TracedTheorem(HOSTILE, "theorem", HOSTILE, (1, 0), (1, 0), error=HOSTILE)
        progress.add(work, TracedFile(SURROGATE, theorems=(theorem,)), False)
    assert harmless_and_whole(printed())


def test_status_shows_nodes_and_facts(printed: Printed) -> None:
    lean = LeanProxyFacts(
        version=HOSTILE,
        name=HOSTILE,
        project=HOSTILE,
        options=(HOSTILE,),
        header=HOSTILE,
        protections=(Protection(HOSTILE, True, HOSTILE), Protection(HOSTILE, False, HOSTILE)),
    )
    sampling = Sampling(stop=(HOSTILE,))
    prover = ProverFacts(policy=HOSTILE, leaves=1, sampling=sampling, templates={HOSTILE: HOSTILE})
    model = ModelFacts(model=HOSTILE, template=HOSTILE, digest=HOSTILE, trouble=HOSTILE)
    info = NodeInfo(HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE, 0.0, HOSTILE, {HOSTILE: 1}, state=HOSTILE)
    kinds = (lean, prover, model, NetworkFacts(weights=HOSTILE))
    status._show(NodeSettings(run=HOSTILE), [msgspec.structs.replace(info, facts=facts) for facts in kinds])
    status._show(NodeSettings(run=HOSTILE), [])
    assert harmless_and_whole(printed())


def test_up_shows_events_and_children(printed: Printed) -> None:
    Status(HOSTILE, live=False).event(HOSTILE)
    assert harmless_and_whole(printed())
    child: Any = SimpleNamespace(
        spec=SimpleNamespace(name=HOSTILE), state=HOSTILE, pid=None, note=HOSTILE, restarts=1, uptime=lambda: 1.0
    )
    from common.output.terminal import Console

    Console(width=2000).print(table(HOSTILE, [child], {}, [HOSTILE]))
    assert harmless_and_whole(printed())


def agents_report() -> agent_report.Report:
    rows = [(SURROGATE, HOSTILE)]
    diff = f"--- a\n+++ b\n+{HOSTILE}\n ````\n```````````\n"
    table = agent_report.Table(("where", "reason"), "Every gap", (HOSTILE,)).fill(rows)
    return agent_report.Report([table], [(HOSTILE, diff)], [HOSTILE])


def test_the_agents_reports_are_plain_text(tmp_path: Path) -> None:
    markdown, html = agent_report.write(agents_report(), tmp_path)
    text = markdown.read_text(encoding="utf-8")
    assert harmless_and_whole(below_others(text))
    assert not re.search(r"(?<!\\)\[link=", text[: text.index("## Diffs")])
    fence = "`" * 12
    assert text.count(fence) == 2 and text.rstrip().endswith(fence)
    assert harmless_and_whole(below_others(html.read_text(encoding="utf-8")))


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
