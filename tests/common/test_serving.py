"""Who may use our HTTP servers: tokens, certificates and their renewal, over real sockets."""

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession, CookieJar, TCPConnector
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from common.config import ConfigError, load
from common.life import node as endpoints, serving
from common.life.logging import Forwarder
from common.life.metrics import Metrics
from common.life.node import Endpoints, NodeContext, address_for_others, live, own_address
from common.life.serving import Access, CannotServe, Certificates, scheme, served
from common.output.command import Exit
from common.settings import LifeSettings, NodeSettings, WebSettings
from tests.authority import Authority
from tests.common.nodes import got
from tests.ui.monitors import mesh
from tests.waiting import answered
from ui.runs import Runs
from ui.server import Monitor
from ui.settings import TOKEN_FILE, UiSettings, page_token

TOKEN = "abcdefgh" * 4


@asynccontextmanager
async def monitor(settings: WebSettings, token: str = "") -> AsyncIterator[str]:
    """The address of a monitor under a name, since cookies of addresses count only in browsers that are told so."""
    page = Monitor(Runs(None, mesh()), access=Access(settings, token, more=", or as printed")).application()
    async with served(page, settings, 0) as runner:
        yield f"{scheme(settings)}://localhost:{runner.addresses[0][1]}"


async def test_a_browser_shows_the_token_once_and_programs_send_it_always() -> None:
    async with monitor(WebSettings(), TOKEN) as url, monitor(WebSettings(), TOKEN[::-1]) as other:
        # 1. Nobody else reads anything, however he asks.
        for path in ("/", "/api/state", "/events", "/static/app.js", "/chart.js", "/nowhere"):
            status, text = await got(url + path)
            assert status == 401 and text == "no token: send it as `Authorization: Bearer TOKEN`, or as printed\n"
        for asked in ({"headers": {"Authorization": "Bearer abc"}}, {"params": {"token": TOKEN + "k"}}):
            assert await got(url, **asked) == (401, text.replace("no token", "the token is wrong"))
        assert (await got(f"{url}/api/state", headers={"Authorization": f"Bearer {TOKEN}"}))[0] == 200
        # 2. The address with the token leads to the one without.
        async with ClientSession(cookie_jar=CookieJar()) as browser:
            async with browser.get(f"{url}/runs?token={TOKEN}&theme=dark") as page:
                assert (page.status, str(page.url)) == (200, f"{url}/runs?theme=dark") and "<html" in await page.text()
                (cookie,) = page.history[0].cookies.values()
                assert page.history[0].headers["Cache-Control"] == "no-store"
            assert cookie["httponly"] and cookie["samesite"] == "Lax" and TOKEN not in cookie.value
            assert (await browser.get(f"{url}/api/state")).status == 200
            # 3. The cookie opens no other server of this host, which gets it, too; nor does another page send it.
            assert (await browser.get(f"{other}/api/state")).status == 401
            assert (await browser.get(f"{url}/api/state", headers={"Origin": "https://evil.example"})).status == 403
            away = await browser.get(f"{url}//evil.example/?token={TOKEN}", allow_redirects=False)
            assert (away.status, away.headers["Location"]) == (302, "/evil.example/"), "it leads nowhere else"
        for value in (TOKEN, cookie.value + "0"):
            assert (await got(url, cookies={cookie.key: value}))[0] == 401
        port = other.rpartition(":")[2]
        assert (await got(other, cookies={f"proofmesh-{port}": cookie.value}))[0] == 401


async def test_nodes_show_strangers_only_whether_they_are_well() -> None:
    health = {"status": "unhealthy", "problems": {"queues": "secret"}, "host": "m1"}
    endpoints = Endpoints(Metrics(), lambda: health, LifeSettings(host="0.0.0.0", token=TOKEN))
    await endpoints.start()
    url = f"http://127.0.0.1:{endpoints.address[1]}"
    assert (await got(f"{url}/metrics"))[0] == 401
    assert await got(f"{url}/healthz") == (503, '{"status":"unhealthy"}')
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert (await got(f"{url}/metrics", headers=known))[0] == 200
    assert "secret" in (await got(f"{url}/healthz", headers=known))[1]
    await endpoints.stop()
    with pytest.raises(CannotServe, match=r"\[node\] host = 0.0.0.0: everybody .* set \[node\] token"):
        await Endpoints(Metrics(), lambda: health, LifeSettings(host="0.0.0.0")).start()
    # `up` does not start such a node again.
    ctx = NodeContext("prover", NodeSettings(host="0.0.0.0"))
    assert await live(ctx, lambda _: asyncio.sleep(0), Forwarder(ctx.role, ctx.id)) == Exit.UNUSABLE


def test_the_monitor_makes_a_token_where_it_needs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, node = UiSettings(runs=str(tmp_path / "runs")), LifeSettings()
    assert page_token(settings, node) == ""
    settings.host = "0.0.0.0"
    made = page_token(settings, node)
    assert len(made) == 32 and page_token(settings, node) == made, "the same after a restart"
    assert (tmp_path / "runs" / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert page_token(replace(settings, client_ca="ca.pem"), node) == ""
    monkeypatch.setenv("PROOFMESH_TOKEN", "of the environment")
    for own, shared, counts in (("", "", "of the environment"), ("", "node's", "node's"), ("own", "node's", "own")):
        assert page_token(replace(settings, token=own), LifeSettings(token=shared)) == counts


def trusting(authority: Authority, own: tuple[str, str] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        context.load_cert_chain(*own)
    return context


async def seen(url: str, context: ssl.SSLContext) -> int | str:
    try:
        async with ClientSession(connector=TCPConnector(ssl=context)) as http, http.get(url) as response:
            return response.status
    except ClientError as error:
        return str(error)


async def test_certificates_of_both_sides_and_their_renewal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.02)
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    certificate, key = ours.issue("server")
    anybody = tmp_path / "clients.pem"
    anybody.write_bytes(ours.file.read_bytes())
    settings = WebSettings("0.0.0.0", certificate=certificate, certificate_key=key, client_ca=str(anybody))
    async with monitor(settings) as url:
        assert url.startswith("https://")
        friend, stranger = ours.issue("friend"), theirs.issue("stranger")
        # 1. Only clients with a certificate of the authority, under any name; plain HTTP is not answered.
        assert await seen(url, trusting(ours, friend)) == 200
        assert 200 not in [await seen(url, trusting(ours, own)) for own in (stranger, None)]
        with pytest.raises(ClientError):
            await got(url.replace("https", "http"))
        # 2. Renewed files count for the next connection; those that do not fit leave the old ones.
        ours.issue("server", days=-1)
        friends, strangers = (functools.partial(seen, url, trusting(ours, own)) for own in (friend, stranger))
        await answered(friends, lambda said: "certificate has expired" in str(said))
        Path(certificate).write_text("half a certificate")
        await asyncio.sleep(0.1)
        assert "certificate has expired" in str(await friends())
        ours.issue("server")
        await answered(friends, lambda said: said == 200)
        # 3. So does another authority of the clients.
        anybody.write_bytes(theirs.file.read_bytes())
        await answered(strangers, lambda said: said == 200)
        assert await friends() != 200


async def test_under_tls_the_cookie_is_for_tls_alone(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    settings = WebSettings(certificate=authority.issue("server")[0], certificate_key=authority.issue("server")[1])
    async with monitor(settings, TOKEN) as url, ClientSession(connector=TCPConnector(ssl=trusting(authority))) as http:
        page = await http.get(f"{url}/?token={TOKEN}")
        assert page.status == 200 and page.history[0].cookies.popitem()[1]["secure"]


def test_files_that_cannot_be_used_are_said(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    certificate, key = authority.issue("server")
    _, other = authority.issue("other")
    text, locked = tmp_path / "text", tmp_path / "locked.key"
    text.write_text("hello")
    secret = ec.generate_private_key(ec.SECP256R1())
    locked.write_bytes(secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")))
    for files, says in (
        ((certificate, "none.key"), r"\[ui\] certificate_key: none.key cannot be read \(No such file or directory\)"),
        ((str(tmp_path), key), r"\[ui\] certificate: .* cannot be read \(Is a directory\)"),
        ((certificate, other), r"\[ui\] certificate_key: .*other.key is not the key of .*server.pem"),
        ((str(text), key), r"\[ui\] certificate: .*text with the key in .* cannot be used \(.*\): both are PEM"),
        ((certificate, str(locked)), "the key has no password"),
        ((certificate, key, str(text)), r"\[ui\] client_ca: .*text is no certificate as PEM"),
    ):
        with pytest.raises(CannotServe, match=says) as error:
            Certificates(UiSettings(**dict(zip(("certificate", "certificate_key", "client_ca"), files, strict=False))))
        assert error.value.exit_code == 2
    file = tmp_path / "mesh.toml"
    file.write_text('[ui]\nclient_ca = "ca.pem"\n')
    with pytest.raises(ConfigError, match=r"\[ui\] client_ca: set `certificate`, too"):
        load(UiSettings, file, "ui")


async def test_an_address_of_ipv6_is_in_brackets() -> None:
    served = Endpoints(Metrics(), dict, LifeSettings(host="::1"))
    await served.start()
    host, port = served.address[:2]
    assert (host, await served.metrics_url("127.0.0.1")) == ("::1", f"http://[::1]:{port}/metrics")
    await served.stop()


async def test_all_addresses_are_told_as_the_one_towards_the_broker_or_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1. A broker on this machine, or none that there is a way to.
    for bound, broker, own in (("0.0.0.0", "127.0.0.1", "127.0.0.1"), ("::", "::1", "::1")):
        assert await own_address(broker, socket.AF_INET6 if ":" in bound else socket.AF_INET) == own
        assert await address_for_others(bound, broker) == socket.gethostname()
    assert await own_address("::1", socket.AF_INET) == ""
    ways = {socket.AF_INET: "", socket.AF_INET6: ""}
    asked = []

    async def way(host: str, family: socket.AddressFamily) -> str:
        asked.append((host, family))
        return ways[family]

    monkeypatch.setattr(endpoints, "own_address", way)
    assert await address_for_others("0.0.0.0", "broker.example") == socket.gethostname()
    assert await address_for_others("127.0.0.1", "broker.example") == "127.0.0.1", "a chosen address stays"
    # 2. A broker elsewhere.
    ways = {socket.AF_INET: "192.0.2.7", socket.AF_INET6: "2001:db8::7"}
    asked.clear()
    served = Endpoints(Metrics(), dict, LifeSettings())
    for bound, shown in (("0.0.0.0", "http://192.0.2.7:9101/metrics"), ("::", "http://[2001:db8::7]:9101/metrics")):
        served.address = (bound, 9101)
        assert await served.metrics_url("broker.example") == shown
    assert asked == [("broker.example", socket.AF_INET), ("broker.example", socket.AF_INET6)]
