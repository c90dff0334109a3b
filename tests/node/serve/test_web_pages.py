"""Attacks of web pages and of greedy clients on the service and on the monitor, over real HTTP."""

import asyncio
import json
import tracemalloc
from pathlib import Path

import aiohttp
import msgspec
import pytest

from common.life.metrics import METRICS
from common.life.node import Endpoints
from common.life.serving import Access
from common.settings import LifeSettings, WebSettings
from node.lean.snippets.snippet import Snippet
from node.rewards.asking import Unavailable, Where, open_desk
from node.serve.application import BadBody, CheckBody, VerifyBody, decode
from tests.authority import Authority
from tests.node.serve.conftest import opened, service_without_lean as service
from tests.ui.monitors import mesh
from tests.waiting import eventually
from ui.runs import Runs
from ui.server import Monitor

BODY = json.dumps({"snippets": [{"id": "a", "code": "theorem t : 1 = 1 := rfl"}]})
JSON = {"Content-Type": "application/json"}
FORM = "application/x-www-form-urlencoded"


async def sent(url: str, headers: dict[str, str], body: str | None = BODY) -> tuple[int, str]:
    """Status and text of a request; `body` None gets, without a body."""
    async with (
        aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as http,
        http.request("GET" if body is None else "POST", url, data=body, headers=headers) as response,
    ):
        return response.status, await response.text()


@pytest.mark.parametrize(
    ("headers", "status", "says"),
    [
        *(({"Host": host}, 403, "evil.example") for host in ("evil.example", "localhost.evil.example")),
        ({"Host": "evil.example:8000"}, 403, "hosts"),
        ({"Host": "203.0.113.7:8000"}, 403, "203.0.113.7"),
        ({"Host": "["}, 403, "Host"),
        *(({"Origin": f"{name}evil.example"}, 403, "evil.example") for name in ("https://", "http://localhost.")),
        ({"Origin": "null"}, 403, "null"),
        ({"Origin": "http://evil.example", "Host": "evil.example"}, 403, "evil.example"),
        *(({"Content-Type": kind}, 415, JSON["Content-Type"]) for kind in ("text/plain", FORM, "")),
        ({}, 200, ""),
        *(({"Host": host}, 200, "") for host in ("localhost:9999", "[::1]:8000", "LOCALHOST.", "lean.example")),
        ({"Origin": "http://localhost:3000"}, 200, ""),
        ({"Content-Type": "application/json; charset=utf-8"}, 200, ""),
    ],
)
async def test_only_programs_and_own_pages_run_lean(headers: dict[str, str], status: int, says: str) -> None:
    async with service(hosts=("lean.example",)) as (lean, url):
        answered, text = await sent(f"{url}/api/check", JSON | headers)
    assert answered == status and says in text
    assert len(lean.seen) == (status == 200), "a refused request must not reach Lean"


async def test_with_a_key_any_name_is_accepted_or_on_all_addresses_any_address_but_no_foreign_page() -> None:
    async with service(api_key="k") as (_, url):
        key = {"Authorization": "Bearer k"}
        assert (await sent(f"{url}/api/check", JSON | key | {"Host": "lean.example"}))[0] == 200
        assert (await sent(f"{url}/api/check", JSON | {"Host": "lean.example"}))[0] == 401
        assert (await sent(f"{url}/api/check", JSON | key | {"Origin": "https://evil.example"}))[0] == 403
    monitor = Monitor(Runs(None, mesh()), access=Access(WebSettings("0.0.0.0")))
    async with opened(monitor.application(), WebSettings("0.0.0.0")) as url:
        assert (await sent(url, {"Host": "192.0.2.4:5050"}, None))[0] == 200
        assert (await sent(url, {"Host": "192.0.2.4:5050", "Origin": "http://192.0.2.4:5050"}, None))[0] == 200
        assert (await sent(url, {"Host": "192.0.2.4:5050", "Origin": "http://192.0.2.9"}, None))[0] == 403
        assert (await sent(url, {"Host": "evil.example"}, None))[0] == 403


async def test_a_reward_reaches_a_service_over_tls_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    shown = dict(zip(("certificate", "certificate_key"), ours.issue("server"), strict=True))
    past = dict(zip(("certificate", "certificate_key"), ours.issue("past", days=-1), strict=True))
    friend = ours.issue("friend")

    async def why(url: str, ca: Authority, own: tuple[str, str] = ("", "")) -> str:
        for name, file in zip(("CA", "CERTIFICATE", "CERTIFICATE_KEY"), (str(ca.file), *own), strict=True):
            monkeypatch.setenv(f"PROOFMESH_{name}", file)
        desk = await open_desk(Where(url, patience=0.05))
        try:
            await desk.check(Snippet("theorem t : 1 = 1 := rfl", 9))
        except Unavailable as error:
            return str(error)
        finally:
            await desk.stop()
        return ""

    async with service(**shown, client_ca=str(ours.file)) as (_, url), service(**past) as (_, old):
        assert await why(url, ours, friend) == ""
        assert "its certificate does not count (self-signed" in await why(url, theirs, friend)
        assert "(certificate has expired); compare PROOFMESH_CA and the name in the address" in await why(old, ours)
        for wrong in (url, url.replace("https", "http")):
            assert "does it encrypt (https://), or ask for a certificate" in await why(wrong, ours)


@pytest.mark.parametrize("path", ["/", "/api/state", "/events", "/static/app.js", "/nowhere"])
async def test_a_page_from_elsewhere_does_not_read_the_monitor(path: str) -> None:
    monitor = Monitor(Runs(None, mesh()))
    async with opened(monitor.application(), WebSettings()) as url:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            status, text = await sent(url + path, headers, None)
            assert status == 403 and "evil.example" in text


@pytest.mark.parametrize(("token", "any_name"), [("", 403), ("t", 200)])
@pytest.mark.parametrize("page", ["metrics", "healthz"])
async def test_a_page_from_elsewhere_does_not_read_a_node(token: str, any_name: int, page: str) -> None:
    endpoints = Endpoints(METRICS, lambda: {"status": "ok"}, LifeSettings(token=token))
    await endpoints.start()
    url = f"http://127.0.0.1:{endpoints.address[1]}/{page}"
    asked = ({}, {"Host": "localhost:9100"}, {"Origin": "https://evil.example"}, {"Host": "trainer-3.example:9100"})
    key = {"Authorization": f"Bearer {token}"}
    assert [(await sent(url, headers | key, None))[0] for headers in asked] == [200, 200, 403, any_name]
    await endpoints.stop()


async def test_a_request_with_too_many_snippets_is_refused_and_fills_no_memory() -> None:
    many = json.dumps({"snippets": [{"id": str(n), "code": "theorem t : True := x"} for n in range(60_000)]}).encode()
    async with service() as (lean, url), aiohttp.ClientSession() as http:
        async with http.post(f"{url}/api/check", data=many, headers=JSON) as response:
            assert response.status == 413
            assert "more than 512 snippets: send them in several requests" in await response.text()
        assert not lean.seen
    tracemalloc.start()
    with pytest.raises(BadBody):
        decode(many, CheckBody, 512)
    assert tracemalloc.get_traced_memory()[1] < len(many) + 1_000_000  # the text as UTF-8, and 512 snippets
    tracemalloc.stop()
    codes = json.dumps({"codes": [{"custom_id": n, "code": ""} for n in range(3)]}).encode()
    assert len(decode(codes, VerifyBody, 3).codes) == 3
    with pytest.raises(BadBody, match="more than 2 snippets"):
        decode(codes, VerifyBody, 2)


async def test_one_client_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async with service(queue=20, max_snippets=10) as (lean, url):
        lean.open.clear()
        body = msgspec.json.encode({"snippets": [{"id": str(n), "code": ""} for n in range(10)]}).decode()
        first = [asyncio.create_task(sent(f"{url}/api/check", JSON, body)) for _ in range(2)]
        await eventually(lambda: lean.waiting == 20)
        status, text = await sent(f"{url}/api/check", JSON)
        assert status == 429 and "retry" in text
        other = asyncio.create_task(_from("127.0.0.2", f"{url}/api/check"))  # another client
        await eventually(lambda: lean.waiting == 21)
        lean.open.set()
        assert await other == 200 and [status for status, _ in await asyncio.gather(*first)] == [200, 200]
        assert (await sent(f"{url}/api/check", JSON))[0] == 200, "its share is free again"


async def _from(address: str, url: str) -> int:
    connector = aiohttp.TCPConnector(local_addr=(address, 0))
    async with aiohttp.ClientSession(connector=connector) as http, http.post(url, data=BODY, headers=JSON) as response:
        return response.status
