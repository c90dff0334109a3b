"""`proofmesh repl` with pocket Lean: recorded exchanges of our own, and what a session has to survive."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from common.life.process import kill_group, spawn_child
from node.lean.adapters.repl.protocol import write
from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain

pytestmark = pytest.mark.lean

RECORDINGS = json.loads(Path(__file__).with_name("recordings.json").read_text(encoding="utf-8"))
"""Exchanges with this REPL that were read and found right; in the form of the community's recordings."""


@pytest.fixture
async def session():
    lean = Elaborator(LeanToolchain.pocket(), ReplOptions(), 60)
    yield ReplSession(lean)
    await lean.stop()


async def ask(session: ReplSession, **request):
    names = {"proof_state": "proofState"}
    text = json.dumps({names.get(key, key): value for key, value in request.items()})
    return json.loads(write(await session.answer(text)))


async def test_our_recordings_are_answered_as_recorded(session):
    for recording in RECORDINGS:
        session = ReplSession(session._lean)
        for exchange in recording["exchanges"]:
            answer = json.loads(write(await session.answer(json.dumps(exchange["request"]))))
            assert answer == exchange["response"], (recording["name"], exchange["request"])


async def test_states_outlive_the_lean_process_and_a_loop_costs_itself_only(session):
    opened = await ask(session, cmd="theorem t (p : Prop) (h : p) : p ∧ p := by sorry")
    assert opened["sorries"][0]["goal"] == "p : Prop\nh : p\n⊢ p ∧ p"
    split = await ask(session, tactic="constructor", proof_state=0)
    session._lean.seconds = 1
    stuck = await ask(session, tactic="repeat (have := trivial)", proof_state=split["proofState"])
    assert stuck["message"].startswith("Lean error:\ntimeout: ")
    session._lean.seconds = 60
    session._lean._process.child.kill_now() if session._lean._process else None
    both = await ask(session, tactic="all_goals exact h", proof_state=split["proofState"])
    assert both["goals"] == [] and both["proofStatus"] == "Completed"


async def test_requests_and_answers_cross_a_pipe_as_the_repl_writes_them():
    pipe = asyncio.subprocess.PIPE
    process = await spawn_child([sys.executable, "-m", "node.command.cli", "repl"], stdin=pipe, stdout=pipe)
    sent = (  # the last without a blank line behind it
        '# a comment\n\n\n{"cmd":\n "theorem t : 1 = 1 := by sorry"}\n\n-- another\n\n'
        '{"tactic": "rfl", "proofState": 0}\n\nno json\n\n{"tactic": "rfl", "proofState": 7}'
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(sent.encode()), 120)
    finally:
        await kill_group(process, grace=0)
    answers = [json.loads(block) for block in output.decode().split("\n\n") if block.strip()]
    assert [list(answer) for answer in answers] == [
        ["env", "messages", "sorries"],
        ["proofState", "goals", "proofStatus"],
        ["message"],
        ["message"],
    ]
    assert answers[3]["message"] == "Unknown proof state." and process.returncode == 0
