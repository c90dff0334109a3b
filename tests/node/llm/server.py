"""A server on loopback that answers like the OpenAI-compatible servers of others, and fails like them."""

import asyncio
import json
import platform
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

platform.platform()
"""The client tells servers the platform. Python asks `uname` for it once: here, because unit tests start no program."""

TACTICS = ("simp", "omega", "exact ⟨h.2, h.1⟩", "constructor")

Payload = dict[str, Any]


@dataclass
class Server:
    """What the server has, knows and does."""

    model: str = "prover"
    base: str = ""
    """The model that `model` is an adapter of, which servers list beside it; empty: it is none."""
    knows_n: bool = True
    knows_logprobs: bool = True
    refuses: tuple[str, ...] = ()
    """Fields of a request that it answers with 400."""
    key: str = ""
    """That it wants."""
    lists: int = 200
    """Status of the answer to who wants the list of its models."""
    context: int = 10_000
    """Characters that a prompt may have."""
    texts: Callable[[Payload, random.Random], str] = lambda payload, chance: chance.choice(TACTICS)
    """What it samples."""
    fault: Callable[[int], str] = lambda number: ""
    """By number of the request: how it fails; empty: it does not. By the names of methods, and in ANSWERS."""
    url: str = ""
    sent: list[Payload] = field(default_factory=list)
    """Every request for samples, in order."""
    paths: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    """What it did: `answered`, or the fault's name."""
    samples: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    at_work: int = 0
    most_at_work: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """Lets go what hangs."""

    async def models(self, request: web.Request) -> web.StreamResponse:
        if (refusal := self._key(request)) is not None:
            return refusal
        if self.lists != 200:
            return web.json_response({"detail": "no list"}, status=self.lists)
        models = [{"id": name, "object": "model"} for name in (self.model, self.base) if name]
        return web.json_response({"object": "list", "data": models})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        if (refusal := self._key(request)) is not None:
            return refusal
        payload = json.loads(await request.read())
        number = len(self.sent)
        self.sent.append(payload)
        self.paths.append(request.path)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            fault = self.fault(number)
            self.did[fault or "answered"] += 1
            if slow := getattr(self, fault, None):
                failed: web.StreamResponse = await slow(request, payload)
                return failed
            return ANSWERS[fault](payload) if fault else self._answer(request, payload)
        finally:
            self.at_work -= 1

    async def reset(self, request: web.Request, payload: Payload) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def hang(self, request: web.Request, payload: Payload) -> web.StreamResponse:
        await self.release.wait()
        return web.Response()

    async def drip(self, request: web.Request, payload: Payload) -> web.StreamResponse:
        """Sends a byte now and then, so that no time limit between two bytes ever passes."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while not self.release.is_set():
            await response.write(b" ")
            await asyncio.wait([asyncio.ensure_future(self.release.wait())], timeout=0.02)
        return response

    async def cut_off(self, request: web.Request, payload: Payload) -> web.StreamResponse:
        """Ends the connection before all that was announced is sent."""
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        return await self.reset(request, payload)

    def _key(self, request: web.Request) -> web.Response | None:
        if not self.key or request.headers.get("Authorization") == f"Bearer {self.key}":
            return None
        return web.json_response({"error": "Unauthorized"}, status=401)

    def _answer(self, request: web.Request, payload: Payload) -> web.Response:
        failure = (0, "")
        if payload["model"] != self.model:
            failure = 404, f"The model `{payload['model']}` does not exist."
        if refused := [name for name in self.refuses if name in payload]:
            failure = 400, f"Unrecognized argument: '{refused[0]}'"
        chat = request.path.endswith("chat/completions")
        prompt = "".join(each["content"] for each in payload["messages"]) if chat else payload["prompt"]
        if len(prompt) > self.context:
            failure = 400, f"This model's maximum context length is {self.context} tokens."
        if failure[0]:
            self.did["answered"] -= 1
            return refusal(*failure)
        count = payload.get("n", 1) if self.knows_n else 1
        chance = random.Random(payload.get("seed"))
        texts = [self.texts(payload, chance) for _ in range(count)]
        choices = [self._choice(text, index, payload, chat) for index, text in enumerate(texts)]
        tokens = sum(len(tokens_of(text)) for text in texts)
        usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": tokens}
        self.samples += count
        self.tokens_in += usage["prompt_tokens"]
        self.tokens_out += tokens
        return web.json_response({"model": self.model, "choices": choices, "usage": usage})

    def _choice(self, text: str, index: int, payload: Payload, chat: bool) -> Payload:
        parts = tokens_of(text)
        cut = len(parts) > payload["max_tokens"]
        parts = parts[: payload["max_tokens"]]
        text = "".join(parts)
        logprobs: Payload | None = None
        if self.knows_logprobs and payload.get("logprobs"):
            values = [logprob_of(part) for part in parts]
            if chat:
                pairs = zip(parts, values, strict=True)
                logprobs = {"content": [{"token": part, "logprob": value} for part, value in pairs]}
            else:
                logprobs = {"tokens": parts, "token_logprobs": values}
        body = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        return {"index": index, "finish_reason": "length" if cut else "stop", "logprobs": logprobs, **body}


def refusal(status: int, message: str, **more: Any) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status, **more)


def choice(model: str, **said: str) -> web.Response:
    return web.json_response({"model": model, "choices": [{"index": 0, **said}]})


ANSWERS: dict[str, Callable[[Payload], web.Response]] = {
    "limited": lambda payload: refusal(429, "slow down", headers={"Retry-After": "0.01"}),
    "unavailable": lambda payload: refusal(503, "loading"),
    "gone": lambda payload: refusal(404, f"The model `{payload['model']}` does not exist."),
    "broken": lambda payload: web.Response(status=500, text="Internal Server Error"),
    "html": lambda payload: web.Response(text="<!DOCTYPE html><html>Bad gateway</html>", content_type="text/html"),
    "cut": lambda payload: web.Response(body=b'{"choices": [{"text": "si', content_type="application/json"),
    "empty": lambda payload: web.json_response({"model": payload["model"], "choices": [], "usage": None}),
    "aborted": lambda payload: choice(payload["model"], text="si", finish_reason="abort"),
    "changed": lambda payload: choice("another", text="simp", finish_reason="stop"),
}
"""Faults that are answered at once."""


def tokens_of(text: str) -> list[str]:
    """Words, each with the space before it."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])]


def logprob_of(token: str) -> float:
    """Some number that belongs to the token."""
    return -len(token) / 8


@asynccontextmanager
async def running(server: Server, port: int = 0) -> AsyncIterator[Server]:
    """The server, for as long as the block lasts. `port`: of a server that starts again."""
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_post("/v1/completions", server.complete)
    app.router.add_post("/v1/chat/completions", server.complete)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        server.release.set()
        await runner.cleanup()


@contextmanager
def in_a_thread(server: Server) -> Iterator[Server]:
    """The server on a loop of its own, for commands that run theirs in the test's thread."""
    started, ended = threading.Event(), threading.Event()

    async def run() -> None:
        async with running(server):
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert started.wait(30)
        yield server
    finally:
        ended.set()
        thread.join()


def in_turn(faults: Sequence[str]) -> Callable[[int], str]:
    """A server that fails in these ways, one request after the other, and answers from then on."""
    return lambda number: faults[number] if number < len(faults) else ""


@dataclass
class Administration:
    """What vLLM's endpoints for training do, as far as an update sees it."""

    refuses: str = ""
    """The path that it answers with 500."""
    url: str = ""
    weights: str = "old"
    version: str = "default"
    paused: bool = False
    adapters: dict[str, str] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.heard.append(request.path_qs)
        if request.path == self.refuses:
            return web.json_response({"error": "CUDA out of memory"}, status=500)
        if request.path in ("/pause", "/resume"):
            self.paused = request.path == "/pause"
            return web.json_response({})
        body = await request.json()
        if request.path == "/collective_rpc":
            assert self.paused and body["method"] == "reload_weights"
            self.weights = body["kwargs"]["weights_path"]
        elif request.path == "/update_weight_version":
            self.version = body["new_version"]
        elif request.path == "/v1/load_lora_adapter":
            self.adapters[body["lora_name"]] = body["lora_path"]
        elif self.adapters.pop(body["lora_name"], None) is None:
            return web.json_response({"error": {"message": "no such adapter"}}, status=404)
        return web.json_response({})


@asynccontextmanager
async def administered(*servers: tuple[Administration, Server]) -> AsyncIterator[str]:
    """Servers that sample and are administered at one address each, as vLLM's are; joined by `|`."""
    runners = []
    try:
        for administration, server in servers:
            app = web.Application()
            for path in ("pause", "resume", "collective_rpc", "update_weight_version"):
                app.router.add_post(f"/{path}", administration.answer)
            for path in ("load_lora_adapter", "unload_lora_adapter"):
                app.router.add_post(f"/v1/{path}", administration.answer)
            app.router.add_get("/v1/models", server.models)
            app.router.add_post("/v1/completions", server.complete)
            runners.append(web.AppRunner(app, shutdown_timeout=0.1))
            await runners[-1].setup()
            await web.TCPSite(runners[-1], "127.0.0.1", 0).start()
            administration.url = f"http://127.0.0.1:{runners[-1].addresses[0][1]}"
        yield "|".join(administration.url for administration, _ in servers)
    finally:
        for runner in runners:
            await runner.cleanup()
