"""LeanCopilot's API over real HTTP: a network, a list of tactics and an encoder, and whatever else may be sent."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from common.life.serving import served
from node.serve import suggestions
from node.serve.service import ServeSettings, make_application
from tests.node.serve.conftest import Waiting

STATE = "case h\np q : Prop\nh : p ∧ q\n⊢ q ∧ p\n\n⊢ True"


@pytest.mark.compute
async def test_editors_get_tactics_and_vectors_and_only_from_models_that_are_configured(
    run_folder: Path, tmp_path: Path
) -> None:
    from node.retrieval.encoder import fresh_encoder, save_encoder
    from node.retrieval.train_command import Shape

    encoder = tmp_path / "encoder"
    save_encoder(fresh_encoder(Shape(kind="static", width=8), [STATE], 64), encoder)
    settings = ServeSettings(api_key="secret")
    generators = (f"demo=own:{run_folder}", "list=tactics")
    async with (
        suggestions.opened(generators, (f"states={encoder}",), print) as models,
        served(make_application(settings, Waiting(queue=0), models).application(), settings, 0) as runner,
        aiohttp.ClientSession() as http,
    ):

        async def post(path: str, key: str = "secret", **body: Any) -> tuple[int, Any]:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/{path}"
            async with http.post(url, json=body, headers={"Authorization": f"Bearer {key}"}) as response:
                return response.status, await response.json()

        # 1. Answers as LeanCopilot reads them.
        for name in ("demo", "list"):
            status, answer = await post("generate", name=name, input=STATE, prefix="")
            scores = [each["score"] for each in answer["outputs"]]
            assert status == 200 and scores == sorted(scores, reverse=True) and all(0 < each <= 1 for each in scores)
            assert all(each.keys() == {"output", "score"} for each in answer["outputs"])
        _, answer = await post("generate", name="list", input="n : Nat\n⊢ n = n", prefix=" r")
        assert "rfl" in [each["output"] for each in answer["outputs"]]
        assert all(each["output"].startswith("r") for each in answer["outputs"])
        status, answer = await post("encode", name="states", input=STATE)
        assert status == 200 and sum(each * each for each in answer["outputs"]) == pytest.approx(1)
        # 2. What is no request of the API, or asks for something else of this machine.
        for path, expected, words, body in (
            ("generate", 404, "there are demo, list", {"name": f"own:{run_folder}", "input": STATE}),
            ("encode", 404, "there are states", {"name": "demo", "input": STATE}),
            ("generate", 422, "the state is empty", {"name": "demo", "input": " \n"}),
            ("generate", 422, "⊢ CONCLUSION", {"name": "demo", "input": "\x1b[31m\u202e"}),
            ("generate", 422, "missing required field", {"name": "demo"}),
            ("generate", 422, "length <=", {"name": "demo", "input": "⊢ p" * 2**18}),
            ("generate", 401, "Invalid API key", {"name": "demo", "input": STATE, "key": "wrong"}),
        ):
            status, answer = await post(path, **body)
            assert status == expected and words in str(answer), (body, answer)
