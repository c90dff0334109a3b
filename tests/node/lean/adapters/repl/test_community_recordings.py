"""Exchanges recorded from the community's REPL, sent to ours. Other people's data: not in the repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from node.lean.adapters.repl.protocol import write
from node.lean.adapters.repl.session import ReplSession
from node.lean.gaps.finder import Elaborator, ReplOptions
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.tables import cells

FOLDER = Path(__file__).parents[6] / "shared" / "data" / "repl-transcripts"

pytestmark = [
    pytest.mark.lean,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings in ../shared/data/repl-transcripts"),
]

EXACT = cells("""
all_tactics-20250622 ¦ app_type_mismatch ¦ assumption_proof ¦ def_eval ¦ dup_msg ¦ file ¦ file2 ¦ infotree_theorem
invalid_tactic ¦ no_goal_sorry_2 ¦ pickle_environment ¦ pickle_open_2 ¦ proof_branching2 ¦ self_proof_check ¦ term_sorry
synthesize_placeholder ¦ tactic_sorry ¦ unfinished_tactic_block ¦ unknown_environment ¦ unknown_tactic
""")
"""Recordings whose commands pocket Lean can elaborate: every answer is the same, to the last field. The constants that
a tactic uses are compared without their order: the original's is that of Lean's hashes."""

WITHOUT_IMPORT = ["pickle_environment_with_imports", "pickle_proof_state_1", "pickle_proof_state_2"]
"""Recordings that begin with `import Lean`, of which they use nothing: the same with `import Init` in its place."""


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
