"""`proofmesh suggest`: tactics and values of any policy, at the shell."""

import asyncio
import json
from pathlib import Path

import pytest

from common.bus import Bus
from common.output.command import Exit
from common.protocol.messages import SampledTactic, TacticReply
from node.command.cli import main
from tests.background import RunOnBroker
from tests.commands import Run
from tests.node.prover.nodes import answer_tactics

STATE = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"


def test_states_from_standard_input_get_tactics_and_values(called: Run, run_folder: Path) -> None:
    states = f"\n{STATE}\n\n\nhostile\x1b[31m\n\n⊢ \u202eTrue\n"
    for given in (["-"], []):
        answer = called(main, "suggest", *given, "--run", run_folder, "--samples", 4, "--json", stdin=states)
        rows = [json.loads(line) for line in answer.out.splitlines()]
        assert [row["state"].strip() for row in rows] == [STATE, "⊢ \u202eTrue"] and "\u202e" not in answer.out
        assert all(row["value"] < 0 and len(row["tactics"]) <= 4 for row in rows)
        chances = [each["log_probability"] for row in rows[:1] for each in row["tactics"]]
        assert chances == sorted(chances, reverse=True)
        assert answer.code == Exit.UNUSABLE and "state 2: the state has a goal without a line" in answer.err


def test_a_list_has_no_learned_value_and_policies_that_take_turns_are_all_asked(called: Run, run_folder: Path) -> None:
    listed = called(main, "suggest", STATE, "--policy", "tactics", "--samples", 3)
    assert listed.code == Exit.DONE and "no learned value; 8 tactics of tactics" in listed.out and "rfl" in listed.out
    both = called(main, "suggest", STATE, "--policy", f"own:{run_folder},tactics", "--json")
    assert "tactics" in {each["source"] for each in json.loads(both.out)["tactics"]}


@pytest.mark.broker
async def test_the_network_of_a_mesh_is_asked(called: Run, bus: Bus, mesh_run: RunOnBroker) -> None:
    tactics = (SampledTactic("intro h", -1.0), SampledTactic("simp", -2.0))
    await answer_tactics(bus, [TacticReply(tactics=tactics, value=-3.0, weights=7)])
    asked = ("suggest", STATE, "--url", mesh_run.bus.url, "--run", mesh_run.name, "--json")
    told = json.loads((await asyncio.to_thread(called, main, *asked)).out)
    assert [each["tactic"] for each in told["tactics"]] == ["intro h", "simp"]
    assert (told["policy"], told["value"]) == ("inference", -3.0)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["⊢ p", "--run", "nowhere"], "nowhere: there is no such checkpoint"),
        (["⊢ p", "--run", "."], "there is no checkpoint in ."),
        (["⊢ p"], "no network in runs/demo: name a policy"),
        (["⊢ p", "--policy", "nonsense"], "there is no policy `nonsense`"),
        (["⊢ p", "--policy", "proofs:x.jsonl"], "writes whole proofs"),
        (["⊢ p", "--policy", "tactics", "--run", "."], "use one of them"),
        (["", "--policy", "tactics"], "the state is empty"),
        (["\x1b[31m", "--policy", "tactics"], "a goal without a line"),
        (["p", "q", "--policy", "tactics"], "quote a state that has spaces"),
        (["-", "--policy", "tactics"], "no state on standard input"),
        (["⊢ p", "--policy", "own:x", "--url", "nats://127.0.0.1:1"], "a mesh cannot use `own:PATH`"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    called: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = called(main, "suggest", *argv)
    assert answer.code == Exit.UNUSABLE and message in answer.err and answer.err.count("\n") == 1
