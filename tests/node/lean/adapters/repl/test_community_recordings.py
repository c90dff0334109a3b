"""Exchanges recorded from the community's REPL, sent to ours. Other people's data: not in the repository."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.lean.adapters.repl.protocol import write
from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain

FOLDER = Path(__file__).parents[6] / "shared" / "data" / "repl-transcripts"

pytestmark = [
    pytest.mark.lean,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings in ../shared/data/repl-transcripts"),
]

EXACT = [
    "all_tactics-20250622",
    "app_type_mismatch",
    "assumption_proof",
    "def_eval",
    "dup_msg",
    "file",
    "file2",
    "infotree_theorem",
    "invalid_tactic",
    "no_goal_sorry_2",
    "pickle_environment",
    "pickle_open_2",
    "proof_branching2",
    "self_proof_check",
    "synthesize_placeholder",
    "tactic_sorry",
    "term_sorry",
    "unfinished_tactic_block",
    "unknown_environment",
    "unknown_tactic",
]
"""Recordings whose commands pocket Lean can elaborate: every answer is the same, to the last field. The constants that
a tactic uses are compared without their order: the original's is that of Lean's hashes."""

WITHOUT_IMPORT = ["pickle_environment_with_imports", "pickle_proof_state_1", "pickle_proof_state_2"]
"""Recordings that begin with `import Lean`, of which they use nothing: the same with `import Init` in its place."""

NEEDS = {
    "proof_step": "#check Int.natAbs",
    "readme": "#check (-37 : Int)",
    "by_cases": "#check fun x : Int => x < 0",
    "have_by_sorry": "#check (1 : Int)",
    "sorry_hypotheses": "#check (1 : Int)",
}
"""Recordings about something that a library may lack, by a command that shows it. Where it is there: as `EXACT`."""


def _without_messages(response: dict) -> dict:
    return {key: value for key, value in response.items() if key != "messages"}


def _status_begins(response: dict) -> dict:
    return {**response, "proofStatus": response.get("proofStatus", "").partition("(kernel)")[0].partition("fail to")[0]}


def _without_parts(response: dict) -> dict:
    trees = [tree["node"] for tree in response["infotree"]]
    return {"env": response["env"], "infotree": [(tree["name"], tree["stx"]["pp"]) for tree in trees]}


DIFFERENT: dict[str, tuple[str, Callable[[dict], dict]]] = {
    "self_proof_exact_check": ("the theorem is checked as a whole: other words of Lean for it", _status_begins),
    "variables": ("the original reports a linter's warning of an earlier command at a wrong place", _without_messages),
    "root_goals": ("`exact?` finds another lemma in another library", _without_messages),
    "infotree": ("Lean 4.35 warns of `constructor`, which has a configuration there; `Int`", _without_parts),
}
"""Recordings answered differently, with the reason, and what is the same all the same."""

OTHERS = {
    "import_lean": "Lean's own library is not there",
    "pickle_open_scoped": "a notation of Lean's own library",
    "no_goal_sorry": "the name `set`, which is one of the library's",
}

FILES = {
    "file.lean": "def f : Nat := 37\n\ndef g := 2\n\ntheorem h : f + g = 39 := by exact rfl\n",
    "file2.lean": "def a : Nat := 37\ndef b : Nat := 37\n\ntheorem h1 : a = b := rfl\n\n"
    "theorem h (x y z : Nat) : x + y + (z + a) = x + (z + b + y) := by\n  rw [Nat.add_assoc, Nat.add_comm y, h1]\n",
}
"""What the recorded requests read."""


@pytest.fixture
async def lean(tmp_path, monkeypatch):
    """An elaborator, and a folder of its own with the files that the recordings name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test").mkdir()
    for name, text in FILES.items():
        (tmp_path / "test" / name).write_text(text, encoding="utf-8")
    lean = Elaborator(LeanToolchain.pocket(), ReplOptions(), 60)
    yield lean
    await lean.stop()


def exchanges(name: str) -> list[tuple[dict, dict]]:
    recording = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return [(exchange["request"], exchange["response"]) for exchange in recording["exchanges"]]


async def ask(session: ReplSession, request: dict) -> dict:
    return json.loads(write(await session.answer(json.dumps(request))))


def unordered(response: Any) -> Any:
    """A response with the constants of its tactics sorted."""
    for tactic in response.get("tactics", []):
        tactic["usedConstants"].sort()
    return response


def test_every_recording_has_its_place():
    places = [*EXACT, *WITHOUT_IMPORT, *NEEDS, *DIFFERENT, *OTHERS]
    assert sorted(places) == sorted(file.stem for file in FOLDER.glob("*.json"))


async def test_what_pocket_lean_can_elaborate_is_answered_exactly_as_recorded(lean):
    opened = ReplSession(lean)  # the file that `pickle_open_2` reads was written by another recording
    await ask(opened, {"cmd": "namespace X\ndef Y := 37\nend X\n\nopen X"})
    await ask(opened, {"pickleTo": "test/e.olean", "env": 0})
    for name in EXACT:
        session = ReplSession(lean)
        for request, response in exchanges(name):
            assert unordered(await ask(session, request)) == unordered(response), (name, request)


async def test_pickled_states_are_told_as_recorded_in_this_session_and_in_the_next(lean):
    for name in WITHOUT_IMPORT:
        session = ReplSession(lean)
        for request, response in exchanges(name):
            text = json.dumps(request).replace("import Lean", "import Init")
            assert await ask(session, json.loads(text)) == response, (name, request)


@pytest.mark.parametrize("name", NEEDS)
async def test_what_needs_more_of_a_library_is_answered_exactly_where_it_is_there(lean, name):
    shown = await ask(ReplSession(lean), {"cmd": NEEDS[name]})
    if any(message["severity"] == "error" for message in shown["messages"]):
        pytest.skip(f"pocket Lean does not have {NEEDS[name]!r}")
    session = ReplSession(lean)
    for request, response in exchanges(name):
        assert await ask(session, request) == response, request


@pytest.mark.parametrize("name", DIFFERENT)
async def test_what_is_answered_differently_differs_only_where_it_must(lean, name):
    same = DIFFERENT[name][1]
    session = ReplSession(lean)
    for request, response in exchanges(name):
        answer = await ask(session, request)
        assert same(answer) == same(response), request


async def test_what_the_library_lacks_is_an_error_of_lean(lean):
    for name in OTHERS:
        session = ReplSession(lean)
        answers = [await ask(session, request) for request, _ in exchanges(name)]
        told = [message["severity"] for answer in answers for message in answer.get("messages", [])]
        assert "error" in told, (name, answers)
