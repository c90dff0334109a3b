"""`proofmesh models`: the list, exact prompts on standard output, and a model on a server that is tried."""

import asyncio
import io
import sys

import pytest

from node.llm.command import main
from tests.node.llm.server import Server, running

STATE = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
STATEMENT = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry"
TRY = ["try", "stp", STATEMENT, "--policy"]
PROOF = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  exact ⟨h.2, h.1⟩"


def test_the_list_has_every_family(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "bfs-prover-v2" in out and "ByteDance-Seed/BFS-Prover-V2-*" in out and "stp" in out
    assert "    bytedance-research/BFS-Prover\n" in out and max(map(len, out.splitlines())) <= 80


def test_a_prompt_is_printed_alone_and_to_the_byte_and_what_a_prover_reads_can_be_given(capsysbinary, monkeypatch):
    assert main(["show", "bfs-prover-v2", "--prompt", STATE]) == 0
    captured = capsysbinary.readouterr()
    assert (captured.out, captured.err) == (f"{STATE}:::".encode(), b"")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{STATE}\n"))
    assert main(["show", "reprover", "--prompt", "-"]) == 0
    assert capsysbinary.readouterr().out == STATE.encode()
    arguments = ["--prompt", STATE, "--name", "swap", "--steps", "intro p", "intro q"]
    assert main(["show", "internlm2.5-step-prover", *arguments]) == 0
    assert b"NAME: swap\n\n---\nPROOF_BEFORE: intro p\nintro q\n\n" in capsysbinary.readouterr().out


def test_a_conversation_is_printed_as_the_model_reads_it(capsysbinary):
    assert main(["show", "goedel-prover-v2", "--raw", "--prompt", STATEMENT, "--header", "import Mathlib"]) == 0
    out = capsysbinary.readouterr().out.decode()
    begin = "<|im_start|>user\nComplete the following Lean 4 code:\n\n```lean4\nimport Mathlib\n\ntheorem"
    assert out.startswith(begin)
    assert out.endswith("final formal proof.<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shw"], "unknown command `shw`; use list, show, try, export, import or update"),
        (["show", "stpp"], "no template `stpp`; did you mean `stp`?"),
        (["show", "nowhere/mine.toml"], "nowhere/mine.toml: cannot be read (No such file or directory)"),
        (["show", "stp", "--prompt", STATE], "a statement begins with `theorem NAME`"),
        (["show", "reprover", "--prompt", STATEMENT], "`reprover` reads proof states"),
        (["show", "reprover", "--prompt", "⊢ " + "x" * 3000], "the goals alone make a prompt of 3,004 tokens"),
        (["show", "deepseek-prover-v2", "--raw", "--prompt", STATEMENT], "the chat template of `deepseek-prover-v2`"),
        ([*TRY, "own:net"], "`own:net` is not a language model; write openai:URL#MODEL"),
        ([*TRY, "openai:x", "--temperature", "-1"], "--temperature -1: choose a value between 0"),
        ([*TRY, "openai:http://localhost:1"], "`openai:http://localhost:1` names no"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"proofmesh models: {message}") and captured.err.count("\n") == 1
    assert captured.out == ""


async def tried(server, *arguments):
    """The exit code of `try` on a server; the command has an event loop of its own."""
    return await asyncio.to_thread(main, ["try", *arguments, "--policy", f"openai:{server.url}#prover"])


async def test_a_tried_model_shows_its_answer_and_the_proof(capsys):
    answer = f"### Plan\n\n```lean4\nimport Mathlib\n\n{PROOF}\n```\nDone."
    async with running(Server(texts=lambda payload, chance: answer)) as server:
        assert await tried(server, "goedel-prover-v2", STATEMENT) == 0
    out = capsys.readouterr().out
    assert server.paths == ["/v1/chat/completions"] and server.sent[0]["temperature"] == 1.0
    assert server.sent[0]["messages"][0]["content"].startswith("Complete the following Lean 4 code:")
    assert "### Plan" in out and "\nexact ⟨h.2, h.1⟩\n1 of 1 answers kept\n" in out


async def test_a_tried_model_shows_why_an_answer_is_dropped_and_a_server_without_the_model_is_told(capsys):
    async with running(Server(texts=lambda payload, chance: "I would \x1b[2Jrather not.")) as server:
        assert await tried(server, "goedel-prover-v2", STATEMENT, "--samples", "2", "--max-tokens", "99") == 1
    out = capsys.readouterr().out
    assert "dropped of answer 2 (no code block: prose without a Lean code block)" in out
    assert "0 of 2 answers kept" in out and "\x1b" not in out
    assert server.sent[0]["max_tokens"] == 99
    async with running(Server(model="other")) as server:
        assert await tried(server, "stp", STATEMENT) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("proofmesh models: ") and "other" in captured.err and captured.out == ""


async def test_a_tried_step_prover_shows_the_tactic_and_its_score(capsys):
    async with running(Server(texts=lambda payload, chance: "PROOFSTEP simp")) as server:
        assert await tried(server, "internlm2-step-prover", STATE, "--temperature", "0.5") == 0
    out = capsys.readouterr().out
    assert "PROOFSTEP simp\n" in out and "\nsimp\nlog-probability (mean over tokens): -" in out
    assert server.sent[0]["prompt"].startswith("<|im_start|>user\nDECL theorem_1\nGOAL p q : Prop\n")
    assert (server.sent[0]["temperature"], server.sent[0]["stop"]) == (0.5, ["<|im_end|>"])
