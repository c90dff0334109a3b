"""Exchanges recorded from the community's REPL, sent to ours. Other people's data: not in the repository."""

import json
from pathlib import Path

import pytest

from node.lean.adapters.repl import protocol
from node.lean.adapters.repl.elaborator import Elaborator, ReplOptions
from node.lean.adapters.repl.session import ReplSession
from node.lean.toolchain.lean_toolchain import LeanToolchain

FOLDER = Path(__file__).parents[6] / "shared" / "data" / "repl-transcripts"

pytestmark = [
    pytest.mark.lean,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings in ../shared/data/repl-transcripts"),
]

EXACT = [
    "app_type_mismatch",
    "assumption_proof",
    "def_eval",
    "dup_msg",
    "invalid_tactic",
    "no_goal_sorry_2",
    "proof_branching2",
    "unknown_environment",
]
"""Recordings whose commands pocket Lean can elaborate: every answer is the same, to the last field."""

SHAPE = {
    "proof_step": "Int",
    "readme": "Int",
    "by_cases": "Int",
    "have_by_sorry": "Int",
    "sorry_hypotheses": "Int",
    "tactic_sorry": "pocket Lean compiles no `sorry` in a definition, and says so",
    "term_sorry": "the same",
    "unknown_tactic": "the same",
    "synthesize_placeholder": "the same",
    "unfinished_tactic_block": "the same",
    "self_proof_exact_check": "the kernel's words about a theorem that proves itself",
    "no_goal_sorry": "the name `set`, which is one of the library's",
    "variables": "a linter that the library brings",
}
"""Recordings that need the whole library, and for what: the answers have the same shape."""

REFUSED = [
    "all_tactics-20250622",
    "file",
    "file2",
    "infotree",
    "infotree_theorem",
    "root_goals",
    "pickle_environment",
    "pickle_environment_with_imports",
    "pickle_open_2",
    "pickle_open_scoped",
    "pickle_proof_state_1",
    "pickle_proof_state_2",
]
"""Recordings with requests that are refused, by name."""

OTHERS = {"import_lean", "self_proof_check"}
"""Lean's own library is not there, and `exact?` needs it."""


@pytest.fixture
async def lean():
    lean = Elaborator(LeanToolchain.pocket(), ReplOptions(), 60)
    yield lean
    await lean.stop()


def exchanges(name: str) -> list[tuple[dict, dict]]:
    recording = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return [(exchange["request"], exchange["response"]) for exchange in recording["exchanges"]]


async def ask(session: ReplSession, request: dict) -> dict:
    return json.loads(protocol.write(await session.answer(json.dumps(request))))


def test_every_recording_has_its_place():
    named = {*EXACT, *SHAPE, *REFUSED, *OTHERS}
    assert named == {file.stem for file in FOLDER.glob("*.json")}


async def test_what_pocket_lean_can_elaborate_is_answered_exactly_as_recorded(lean):
    for name in EXACT:
        session = ReplSession(lean)
        for request, response in exchanges(name):
            assert await ask(session, request) == response, (name, request)


async def test_what_needs_the_library_is_answered_in_the_recorded_shape(lean):
    for name in SHAPE:
        session = ReplSession(lean)
        for request, response in exchanges(name):
            answer = await ask(session, request)
            assert set(answer) <= {"env", "proofState", "proofStatus", "goals", "messages", "sorries", "message"}
            if "message" in answer:  # it builds on what an answer before it did not have
                assert answer["message"].startswith(protocol.LEAN_ERROR)
                continue
            assert ("env" in answer) == ("env" in response) and ("goals" in answer) == ("goals" in response)
            assert answer.get("env") == response.get("env")
            for theirs in response.get("messages", [])[:1]:
                if ours := answer.get("messages"):
                    assert set(ours[0]) == set(theirs)
            for theirs, ours in zip(response.get("sorries", []), answer.get("sorries", []), strict=False):
                assert set(theirs) == set(ours) and theirs.get("pos") == ours.get("pos")


async def test_what_is_not_served_is_refused_by_name(lean):
    for name in REFUSED:
        session = ReplSession(lean)
        answers = [(request, await ask(session, request)) for request, _ in exchanges(name)]
        refused = [
            (request, answer["message"])
            for request, answer in answers
            if {"pickleTo", "unpickleEnvFrom", "unpickleProofStateFrom", "allTactics", "rootGoals", "infotree"}
            & set(request)
        ]
        assert refused
        assert all(message.startswith("proofmesh repl does not serve") for _, message in refused)
