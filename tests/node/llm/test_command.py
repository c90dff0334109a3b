"""`proofmesh models`: the list, exact prompts on standard output, a model on a server that is tried; and new weights
for running servers: against servers on loopback with vLLM's administration (vLLM itself: LOG.md)."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.llm.address import BadModel, parse_address
from node.llm.command import main
from node.llm.updating import (
    Servers,
    UpdateFailed,
    add_adapter,
    is_adapter,
    remove_adapter,
    resume_only,
    update_weights,
)
from tests.node.llm.server import Administration, Server, administered, running

STATE = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
STATEMENT = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry"
TRY = ["try", "stp", STATEMENT, "--policy"]
PROOF = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by\n  exact ⟨h.2, h.1⟩"


def test_the_list_has_every_family_and_a_conversation_is_printed_as_the_model_reads_it(capsysbinary, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert "bfs-prover-v2" in out and "ByteDance-Seed/BFS-Prover-V2-*" in out and "stp" in out
    assert "    bytedance-research/BFS-Prover\n" in out and max(map(len, out.splitlines())) <= 80
    assert main(["show", "goedel-prover-v2", "--raw", "--prompt", STATEMENT, "--header", "import Mathlib"]) == 0
    out = capsysbinary.readouterr().out.decode()
    begin = "<|im_start|>user\nComplete the following Lean 4 code:\n\n```lean4\nimport Mathlib\n\ntheorem"
    assert out.startswith(begin) and out.endswith("final formal proof.<|im_end|>\n<|im_start|>assistant\n")


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


# --- new weights ------------------------------------------------------------------------------------------------------
@asynccontextmanager
async def served(*administrations: Administration) -> AsyncIterator[Servers]:
    async with administered(*((each, Server()) for each in administrations)) as urls:
        yield Servers(parse_address(f"openai:{urls}#prover"), 5.0)


async def test_all_servers_pause_before_one_reloads_and_go_on_with_the_new_weights() -> None:
    servers = Administration(), Administration()
    async with served(*servers) as fleet:
        await update_weights(fleet, Path("/models/step-7"), "step-7", "keep")
    for each in servers:
        assert each.heard == ["/pause?mode=keep", "/collective_rpc", "/update_weight_version", "/resume"]
        assert (each.weights, each.version, each.paused) == ("/models/step-7", "step-7", False)


async def test_a_server_that_fails_is_named_and_keeps_what_it_had_and_another_try_frees_it() -> None:
    well, ill = Administration(), Administration(refuses="/pause")
    async with served(well, ill) as fleet:
        told = f"nothing was changed, because a server cannot be paused: {ill.url} .500: .*CUDA out of memory"
        with pytest.raises(UpdateFailed, match=told):
            await update_weights(fleet, Path("/models/step-7"), "step-7")
    assert (well.weights, well.paused, ill.weights) == ("old", False, "old")
    with pytest.raises(UpdateFailed, match=r"nothing was changed, .* cannot be paused: .* may still be paused"):
        await update_weights(fleet, Path("/models/new"), "new")  # the servers are gone
    well, ill = Administration(), Administration(refuses="/collective_rpc")
    async with served(well, ill) as fleet:
        with pytest.raises(UpdateFailed, match=f"not updated to step-7: {ill.url}"):
            await update_weights(fleet, Path("/models/step-7"), "step-7")
    assert (well.version, well.paused) == ("step-7", False)
    assert (ill.version, ill.weights, ill.paused) == ("default", "old", False)
    stuck = Administration(refuses="/resume")
    async with served(stuck) as fleet:
        with pytest.raises(UpdateFailed, match="may still be paused"):
            await update_weights(fleet, Path("/models/step-7"), "step-7")
        assert stuck.paused
        stuck.refuses = ""
        await resume_only(fleet)
    assert not stuck.paused


async def test_an_adapter_is_loaded_everywhere_or_nowhere_and_pauses_nothing() -> None:
    well, ill = Administration(), Administration(refuses="/v1/load_lora_adapter")
    async with served(well, ill) as fleet:
        told = f"`prover-3` was not loaded on any server, because some failed: {ill.url}"
        with pytest.raises(UpdateFailed, match=told):
            await add_adapter(fleet, Path("/adapters/3"), "prover-3")
        assert well.adapters == {}
        ill.refuses = ""
        await add_adapter(fleet, Path("/adapters/3"), "prover-3")
        assert well.adapters == ill.adapters == {"prover-3": "/adapters/3"}
        await remove_adapter(fleet, "prover-3")
        with pytest.raises(UpdateFailed, match="no such adapter"):
            await remove_adapter(fleet, "prover-3")
    assert "/pause" not in "".join(well.heard)


async def test_a_server_without_the_endpoints_says_how_to_start_it() -> None:
    async with served(Administration()) as fleet:
        lost = Servers(parse_address(f"openai:{fleet.address.urls[0].replace('/v1', '/elsewhere')}#prover"), 5.0)
        with pytest.raises(UpdateFailed, match="VLLM_SERVER_DEV_MODE=1"):
            await update_weights(lost, Path("/models/step-7"), "step-7")


def test_a_folder_without_a_model_or_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=r"neither a model .* nor an adapter"):
        is_adapter(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadModel, match="no weights"):
        is_adapter(tmp_path)
    (tmp_path / "model.safetensors").touch()
    assert not is_adapter(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    assert is_adapter(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["openai:http://127.0.0.1:9", "."], "names no model"),
        (["openai:http://127.0.0.1:9#prover", "nowhere"], "neither a model"),
        (["openai:http://127.0.0.1:9#prover", "--remove"], "--version"),
    ],
)
def test_what_cannot_be_updated_is_said_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["update", *arguments]) == 2
    assert words in capsys.readouterr().err
