"""`proofmesh repl` with pocket Lean: recorded exchanges of our own, what is inside a command, pickled states, and what
a session has to survive."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from common.life.process import kill_group, spawn_child
from node.lean.adapters.repl.protocol import UNKNOWN_ENVIRONMENT, write
from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain

pytestmark = [pytest.mark.lean, pytest.mark.asyncio(loop_scope="module")]

CODE = """theorem swap (p q : Prop) : p ∧ q → q ∧ p := by
  rintro ⟨hp, hq⟩
  have h : p := by
    exact hp
  constructor
  · exact hq
  · exact h
theorem zero (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [← Nat.add_assoc,
      ih]
theorem both (a b : Nat) (h : a = b) : b = a ∧ a + 0 = b :=
  ⟨by rw [h], by constructor <;> skip; exact h⟩"""

OPEN, COMPLETED = "Incomplete: open goals remain", "Completed"
METAVARIABLES = "Incomplete: contains metavariable(s)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lean():
    lean = Elaborator(LeanToolchain.pocket(), ReplOptions(), 60)
    yield lean
    await lean.stop()


@pytest.fixture
def session(lean):
    return ReplSession(lean)


async def ask(session: ReplSession, **request):
    return json.loads(write(await session.answer(json.dumps(request))))


async def test_every_tactic_is_told_and_runs_again_from_the_state_before_it(session):
    answer = await ask(session, cmd=CODE.replace("constructor <;> skip; ", ""), allTactics=True)
    told = {(item["pos"]["line"], item["tactic"]): item for item in answer["tactics"]}
    assert [tactic for _, tactic in told] == [
        *("rintro ⟨hp, hq⟩", "have h : p := by exact hp", "exact hp", "constructor", "exact hq", "exact h"),
        *(told_induction := [tactic for line, tactic in told if line == 9]),
        *("rfl", "rw [← Nat.add_assoc, ih]", "rw [h]", "exact h"),
    ]
    assert len(told_induction) == 1
    after = {}
    for (line, tactic), item in told.items():
        answer = await ask(session, tactic=tactic, proofState=item["proofState"])
        after[line, tactic] = (len(answer["goals"]), answer["proofStatus"])
    assert after.pop((2, "rintro ⟨hp, hq⟩")) == after.pop((3, "have h : p := by exact hp")) == (1, OPEN)
    assert after.pop((5, "constructor")) == (2, OPEN)
    # Inside a part of the proof: the rest of it is not done.
    assert after.pop((4, "exact hp")) == after.pop((6, "exact hq")) == (0, METAVARIABLES)
    assert set(after.values()) == {(0, COMPLETED)}
    used = {tactic: set(item["usedConstants"]) for (_, tactic), item in told.items()}
    assert used["constructor"] == {"And.intro"} and used["exact hq"] == set()
    assert {"Nat.add_assoc", "Eq.mpr", "Nat"} <= used["rw [← Nat.add_assoc, ih]"]


async def test_info_trees_are_filtered_as_asked_for_and_the_environment_is_the_same(session):
    def names(nodes):
        return [name for node in nodes for name in ((node["node"] or {}).get("name"), *names(node["children"]))]

    code = "namespace X\ntheorem t (p : Prop) (h : p) : p ∧ p := by\n  (constructor <;> exact h)\nend X\ndef f := 1"
    kinds = ("full", "tactics", "original", "substantive")
    answers = {kind: await ask(session, cmd=code, infotree=kind) for kind in kinds}
    assert [answer["env"] for answer in answers.values()] == [0, 1, 2, 3]
    assert all("messages" not in answer for answer in answers.values())
    full = answers["full"]["infotree"]
    commands = [(node["kind"], node["node"]["stx"]["kind"].rpartition(".")[2]) for node in full]
    assert commands == [("CommandInfo", kind) for kind in ("namespace", "declaration", "end", "declaration", "eoi")]
    assert full[1]["node"]["stx"]["range"]["start"] == {"line": 2, "column": 0}
    assert full[1]["node"]["stx"]["argKinds"][1] == "Lean.Parser.Command.theorem"
    short = [name and name.rpartition(".")[2] for name in names(answers["substantive"]["infotree"])]
    assert "constructor" in short and short.count("exact") == 2
    assert not {"tacticSeq", "paren", "byTactic", None} & {*short}
    tactics = {name and name.rpartition(".")[2] for name in names(answers["tactics"]["infotree"])}
    assert {"tacticSeq", "paren", "byTactic"} <= tactics
    original = answers["original"]["infotree"]
    assert original and not any(node["node"]["stx"]["range"]["synthetic"] for node in original)
    assert (await ask(session, cmd="#check X.t", env=3))["messages"][0]["severity"] == "info"
    assert "infotree" not in await ask(session, cmd=code, infotree="nothing of these")


async def test_pickled_states_live_on_in_another_session(session, tmp_path):
    path = str(tmp_path / "state")
    await ask(session, cmd="namespace X\ndef Y := 37\nend X\nopen X")
    await ask(session, cmd="example (h : Y = 1) : Y = 1 ∧ 37 = Y := by sorry", env=0)
    split = await ask(session, tactic="constructor", proofState=0)
    pickled = await ask(session, pickleTo=path, proofState=split["proofState"])
    assert pickled == {**split, "proofState": 2}
    assert await ask(session, pickleTo=str(tmp_path / "environment"), env=0) == {"env": 0}
    other = ReplSession(session._lean)
    assert await ask(other, unpickleProofStateFrom=path) == {**split, "proofState": 0}
    assert (await ask(other, tactic="exact h", proofState=0))["goals"] == ["case right\nh : Y = 1\n⊢ 37 = Y"]
    assert await ask(other, unpickleEnvFrom=str(tmp_path / "environment")) == {"env": 0}
    assert await ask(other, cmd="example : Y = 37 := rfl", env=0) == {"env": 1}
    assert await ask(other, unpickleProofStateFrom=path, env=0) == {**split, "proofState": 2}


async def test_files_that_cannot_be_written_or_read_are_told_and_the_session_goes_on(session, tmp_path):
    (tmp_path / "foreign").write_bytes(b"olean\x00")
    await ask(session, cmd="def f := 1")
    answers = [
        await ask(session, pickleTo=str(tmp_path / "no" / "folder"), env=0),
        await ask(session, unpickleEnvFrom=str(tmp_path / "foreign")),
        await ask(session, unpickleProofStateFrom=str(tmp_path)),
        await ask(session, pickleTo=str(tmp_path / "new"), env=9),
        await ask(session, pickleTo=str(tmp_path / "new"), proofState=9),
        await ask(session, pickleTo=str(tmp_path / "new")),
        await ask(session, path=str(tmp_path / "absent.lean")),
    ]
    first_words = ["Lean", str(tmp_path / "foreign"), str(tmp_path), "Unknown", "Unknown", "Could", "Lean"]
    assert [answer["message"].split(" ")[0] for answer in answers] == first_words
    assert not (tmp_path / "new").exists()
    assert await ask(session, cmd="#check f", env=0) != {"message": UNKNOWN_ENVIRONMENT}


RECORDINGS = json.loads(Path(__file__).with_name("recordings.json").read_text(encoding="utf-8"))
"""Exchanges with this REPL that were read and found right; in the form of the community's recordings."""


async def test_our_recordings_are_answered_as_recorded(session):
    for recording in RECORDINGS:
        session = ReplSession(session._lean)
        for exchange in recording["exchanges"]:
            answer = await ask(session, **exchange["request"])
            assert answer == exchange["response"], (recording["name"], exchange["request"])


async def test_states_outlive_the_lean_process_and_a_loop_costs_itself_only(session):
    opened = await ask(session, cmd="theorem t (p : Prop) (h : p) : p ∧ p := by sorry")
    assert opened["sorries"][0]["goal"] == "p : Prop\nh : p\n⊢ p ∧ p"
    split = await ask(session, tactic="constructor", proofState=0)
    session._lean.seconds = 1
    stuck = await ask(session, tactic="repeat (have := trivial)", proofState=split["proofState"])
    assert stuck["message"].startswith("Lean error:\ntimeout: ")
    session._lean.seconds = 60
    session._lean._process.child.kill_now() if session._lean._process else None
    both = await ask(session, tactic="all_goals exact h", proofState=split["proofState"])
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
    keys = ["env messages sorries", "proofState goals proofStatus", "message", "message"]
    assert [" ".join(answer) for answer in answers] == keys
    assert answers[3]["message"] == "Unknown proof state." and process.returncode == 0
