"""New weights for running servers: against servers on loopback with vLLM's administration (vLLM itself: LOG.md)."""

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
from tests.node.llm.server import Administration, Server, administered


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


async def test_where_one_server_cannot_pause_nothing_changes() -> None:
    well, ill = Administration(), Administration(refuses="/pause")
    async with served(well, ill) as fleet:
        told = f"nothing was changed, because a server cannot be paused: {ill.url} .500: .*CUDA out of memory"
        with pytest.raises(UpdateFailed, match=told):
            await update_weights(fleet, Path("/models/step-7"), "step-7")
    assert (well.weights, well.paused, ill.weights) == ("old", False, "old")
    with pytest.raises(UpdateFailed, match=r"nothing was changed, .* cannot be paused: .* may still be paused"):
        await update_weights(fleet, Path("/models/new"), "new")  # the servers are gone


async def test_a_server_that_keeps_its_old_weights_is_named_keeps_its_version_and_goes_on() -> None:
    well, ill = Administration(), Administration(refuses="/collective_rpc")
    async with served(well, ill) as fleet:
        with pytest.raises(UpdateFailed, match=f"not updated to step-7: {ill.url}"):
            await update_weights(fleet, Path("/models/step-7"), "step-7")
    assert (well.version, well.paused) == ("step-7", False)
    assert (ill.version, ill.weights, ill.paused) == ("default", "old", False)


async def test_a_server_that_stays_paused_is_named_and_freed_by_another_try() -> None:
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
