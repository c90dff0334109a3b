"""The sampler over OpenAI-compatible servers: requests, answers, what servers do not know, and how they fail."""

import asyncio
import email.utils
import json
import random
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace

import msgspec
import pytest
from aiohttp import web

from common.life import metrics
from node.llm.address import BadModel
from node.llm.openai import OpenAISampler, open_openai
from node.llm.sampling import ChatMessage, ContextExceeded, Decoding, Outcome, Prompt, SamplerError
from node.llm.servers import (
    LONGEST_REST,
    Completion,
    Fleet,
    Place,
    Supported,
    aligned,
    html_or_garbled,
    output_limit,
    read_completion,
    request_of,
    retry_after,
)
from node.llm.settings import ModelSettings
from tests.node.llm.server import ANSWERS, TACTICS, Payload, Server, in_turn, logprob_of, running, tokens_of

QUICK = ModelSettings(patience=60.0, timeout=30.0, wait=0.01, rest=0.02)
"""No answer of a server that means to answer is too late for it, on however busy a machine."""
PROMPT = Prompt("p q : Prop\n⊢ q ∧ p:::")
CHAT = Prompt(messages=(ChatMessage("system", "You prove."), ChatMessage("user", "⊢ True")))
SHORT = Decoding(max_tokens=4)


def address(*servers: Server, model: str = "prover") -> str:
    return f"openai:{'|'.join(server.url for server in servers)}#{model}"


async def test_all_that_decides_is_sent_and_samples_come_with_their_tokens_also_in_chats() -> None:
    decoding = Decoding(temperature=0.7, top_p=0.9, max_tokens=4, stop=("\n",))
    async with running(Server()) as server, open_openai(address(server), QUICK) as sampler:
        samples = await sampler.sample(PROMPT, 5, 7, decoding)
        again = await sampler.sample(PROMPT, 5, 7, decoding)
        other = await sampler.sample(PROMPT, 5, 8, decoding)
        likeliest = await sampler.sample(PROMPT, 5, 7, replace(decoding, temperature=0.0))
    sent = server.sent[0]
    assert sent["prompt"] == PROMPT.text and sent["model"] == "prover" and server.paths[0] == "/v1/completions"
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"], sent["stop"]) == (0.7, 0.9, 4, ["\n"])
    assert (sent["n"], sent["logprobs"], sent["top_k"], sent["repetition_penalty"]) == (5, 1, -1, 1.0)
    assert 0 <= sent["seed"] < 2**31
    assert len(server.sent) == 4 and samples == again != other
    assert (len(likeliest), server.sent[3]["n"]) == (1, 1), "at temperature 0 one sample stands for all"
    for sample in samples:
        assert sample.text in TACTICS and not sample.cut
        assert sample.logprob(sample.text) == pytest.approx(sum(map(logprob_of, tokens_of(sample.text))))
        assert sample.token_count == len(tokens_of(sample.text))
    async with running(Server()) as server, open_openai(address(server), QUICK) as sampler:
        (sample,) = await sampler.sample(CHAT, 1, 7, SHORT)
    assert server.paths == ["/v1/chat/completions"]
    assert [ChatMessage(**each) for each in server.sent[0]["messages"]] == list(CHAT.messages)
    assert sample.logprob(sample.text) == pytest.approx(sum(map(logprob_of, tokens_of(sample.text))))


@pytest.mark.parametrize("prompt", [PROMPT, CHAT])
async def test_a_server_without_n_and_logprobs_is_asked_as_often_as_needed(prompt: Prompt) -> None:
    plain = Server(knows_n=False, knows_logprobs=False)
    async with running(plain) as server, open_openai(address(server), QUICK) as sampler:
        first = await sampler.sample(prompt, 6, 7, SHORT)
        again = await sampler.sample(prompt, 6, 7, SHORT)
        await sampler.sample(prompt, 1, 7, SHORT)
    assert len(server.sent) == 13 and "n" not in server.sent[-1]
    assert len({payload["seed"] for payload in server.sent[:6]}) == 6
    assert first == again and len({sample.text for sample in first}) > 1
    assert all(sample.logprob(sample.text) is None and sample.token_count > 0 for sample in first)


async def test_a_server_that_takes_the_likeliest_whatever_the_temperature_is_told_once() -> None:
    notes: list[str] = []
    greedy = Server(knows_n=False, texts=lambda payload, chance: "simp")
    async with running(greedy) as server, open_openai(address(server), QUICK, note=notes.append) as sampler:
        for seed in range(12):
            await sampler.sample(PROMPT, 3, seed, SHORT)
    assert len([note for note in notes if '"do_sample": true' in note]) == 1


@pytest.mark.parametrize("field", ["n", "logprobs", "seed", "stop", "top_k", "repetition_penalty"])
async def test_what_a_server_refuses_is_left_out_from_then_on(field: str) -> None:
    strict = Server(refuses=(field,))
    decoding = Decoding(max_tokens=4, stop=("\n",))
    async with running(strict) as server, open_openai(address(server), QUICK) as sampler:
        first, second = await asyncio.gather(*(sampler.sample(PROMPT, 3, seed, decoding) for seed in (1, 2)))
        refused = len([payload for payload in server.sent if field in payload])
        third = await sampler.sample(PROMPT, 3, 3, decoding)
    assert [len(samples) for samples in (first, second, third)] == [3, 3, 3]
    assert refused == len([payload for payload in server.sent if field in payload]) <= 2
    assert sampler.usage.requests[Outcome.ADAPTED] >= 1 and sampler.usage.samples == 9
    assert set(sampler.usage.requests) <= {Outcome.ADAPTED, Outcome.ANSWERED, Outcome.REFUSED}


async def test_what_is_cut_is_marked_and_stop_texts_are_taken_off() -> None:
    long = Server(texts=lambda payload, chance: "rw [a] at b c d e")
    async with running(long) as server, open_openai(address(server), QUICK) as sampler:
        (cut,) = await sampler.sample(PROMPT, 1, 7, Decoding(max_tokens=3))
        (stopped,) = await sampler.sample(PROMPT, 1, 7, Decoding(max_tokens=5, stop=(" at",)))
    assert (cut.text, cut.cut) == ("rw [a] at", True) and (stopped.text, stopped.cut) == ("rw [a]", False)
    assert stopped.logprob(stopped.text) == pytest.approx(logprob_of("rw") + logprob_of(" [a]"))


FAULTS = {
    "limited": Outcome.LIMITED, "unavailable": Outcome.UNAVAILABLE, "broken": Outcome.UNAVAILABLE,
    "reset": Outcome.UNREACHABLE, "cut_off": Outcome.UNREACHABLE, "hang": Outcome.TIMEOUT, "drip": Outcome.TIMEOUT,
    "html": Outcome.GARBLED, "cut": Outcome.GARBLED, "empty": Outcome.EMPTY, "aborted": Outcome.EMPTY,
    "changed": Outcome.CHANGED, "gone": Outcome.CHANGED,
}  # fmt: skip


@pytest.mark.parametrize("fault", ["hang", "drip", "limited"])  # the others: with hundreds of requests, below
async def test_what_fails_is_asked_again(fault: str) -> None:
    failing = Server(fault=in_turn(["", fault, fault]))
    settings = replace(QUICK, timeout=1.0) if FAULTS[fault] is Outcome.TIMEOUT else QUICK
    async with running(failing) as server, open_openai(address(server), settings) as sampler:
        await sampler.sample(PROMPT, 1, 6, SHORT)
        samples = await sampler.sample(PROMPT, 2, 7, SHORT)
        assert not sampler.trouble
    assert len(samples) == 2 and server.did == {"answered": 2, fault: 2}
    assert server.sent[1] == server.sent[2] == server.sent[3]
    assert sampler.usage.requests == {Outcome.ANSWERED: 2, FAULTS[fault]: 2}


@pytest.mark.parametrize("fault", ["reset", "drip"])
async def test_what_goes_on_failing_is_an_error_after_the_patience(fault: str) -> None:
    settings = ModelSettings(patience=1.0, timeout=0.4, wait=0.01, rest=0.02)
    failing = Server(fault=lambda number: fault if number else "")
    async with running(failing) as server, open_openai(address(server), settings) as sampler:
        await sampler.sample(PROMPT, 1, 6, Decoding(max_tokens=1))
        with pytest.raises(SamplerError, match=r"prover: no answer within 1(?:\.0)? s: .*127\.0\.0\.1"):
            await sampler.sample(PROMPT, 1, 7, Decoding(max_tokens=1))
        assert "127.0.0.1" in sampler.trouble


async def test_retry_after_is_obeyed_but_not_beyond_the_patience() -> None:
    times: list[float] = []

    async def limited(request: web.Request, payload: Payload) -> web.StreamResponse:
        times.append(asyncio.get_running_loop().time())
        return web.json_response({}, status=429, headers={"Retry-After": "1" if len(times) == 1 else "3600"})

    server = Server(fault=lambda number: "limited")
    server.limited = limited  # type: ignore[attr-defined]
    settings = ModelSettings(patience=1.5, wait=0.01)
    async with running(server), open_openai(address(server), settings) as sampler:
        with pytest.raises(SamplerError, match="no answer within"):
            await sampler.sample(PROMPT, 1, 7, SHORT)
    assert len(times) == 2 and times[1] - times[0] >= 1.0


async def test_a_prompt_that_is_too_long_or_no_text_is_told_apart_and_not_repeated() -> None:
    async with running(Server(context=10)) as server, open_openai(address(server), QUICK) as sampler:
        with pytest.raises(ContextExceeded, match="maximum context length is 10"):
            await sampler.sample(PROMPT, 4, 7, SHORT)
        assert len(server.sent) == 1 and not sampler.trouble
        with pytest.raises(SamplerError, match="the prompt is not valid text"):
            await sampler.sample(Prompt("\ud800"), 2, 7, SHORT)
        assert len(await sampler.sample(Prompt("⊢ True"), 4, 7, SHORT)) == 4 and not sampler.trouble


async def test_requests_go_to_the_server_with_the_least_to_do_and_a_dead_one_is_left_out() -> None:
    async with AsyncExitStack() as stack:
        alive = await stack.enter_async_context(running(Server()))
        dying = await stack.enter_async_context(running(Server(fault=lambda number: "reset" if number >= 20 else "")))
        sampler = await stack.enter_async_context(open_openai(address(alive, dying), QUICK))
        for begin in range(0, 60, 10):
            tasks = [sampler.sample(PROMPT, 2, seed, SHORT) for seed in range(begin, begin + 10)]
            assert [len(samples) for samples in await asyncio.gather(*tasks)] == [2] * 10
        assert not sampler.trouble
    assert dying.did["answered"] == 20 and alive.did["answered"] == 40
    assert sampler.usage.requests == {Outcome.ANSWERED: 60, Outcome.UNREACHABLE: dying.did["reset"]}
    assert dying.did["reset"] < 30  # of 40 that it would have had a part of


async def test_a_search_that_ends_takes_its_request_with_it() -> None:
    hanging = Server(fault=in_turn(["hang"]))
    settings = ModelSettings(timeout=60.0)
    async with running(hanging) as server, open_openai(address(server), settings) as sampler:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await sampler.sample(PROMPT, 1, 7, SHORT)
        assert len(await sampler.sample(PROMPT, 1, 7, SHORT)) == 1
    assert sampler.usage.requests == {Outcome.LEFT: 1, Outcome.ANSWERED: 1} and not sampler.trouble


@pytest.mark.compute
async def test_hundreds_of_requests_to_servers_that_fail_in_every_way_lose_nothing() -> None:
    chance = random.Random(5)
    often = [fault for fault, outcome in FAULTS.items() if outcome is not Outcome.TIMEOUT]  # which would take long

    before = counted()
    settings = replace(QUICK, patience=120.0, price_in=2.0, price_out=10.0)
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(running(Server(fault=in_turn([""])))) for _ in range(2)]
        sampler = await stack.enter_async_context(open_openai(address(*servers), settings))
        for server in servers:
            await sampler.sample(PROMPT, 1, 1, SHORT)  # each has told its model, before it can be another one
            server.fault = lambda number: chance.choice(often) if chance.random() < 0.3 else ""
        at_work = asyncio.Semaphore(16)

        async def one(number: int) -> int:
            async with at_work:
                return len(await sampler.sample(CHAT if number % 2 else PROMPT, 3, number, Decoding(max_tokens=1)))

        given = await asyncio.gather(*map(one, range(150)))
        cost = sampler.usage.cost
    assert given == [3] * 150
    did = sum((server.did for server in servers), Counter[str]())
    asked = Counter[Outcome]()
    for what, count in did.items():
        asked[FAULTS.get(what, Outcome.ANSWERED)] += count
    assert sampler.usage.requests == asked
    assert asked[Outcome.ANSWERED] == 152 and set(asked) == {Outcome.ANSWERED, *FAULTS.values()} - {Outcome.TIMEOUT}
    # What a server with another model has sampled is paid for, and not used.
    assert sampler.usage.samples == 150 * 3 + 2 + did["changed"] == sum(s.samples for s in servers) + did["changed"]
    tokens = (sum(s.tokens_in for s in servers), sum(s.tokens_out for s in servers))
    assert (sampler.usage.tokens_in, sampler.usage.tokens_out) == tokens
    assert cost == pytest.approx((2 * tokens[0] + 10 * tokens[1]) / 1e6)
    assert counted() - before == Counter({outcome.value: count for outcome, count in asked.items()})
    assert f"{asked.total()} requests" in str(sampler.usage)


def counted() -> Counter[str]:
    """Requests on the page of metrics, by what became of them."""
    found = Counter[str]()
    for metric in metrics.METRICS.registry.collect():
        for sample in metric.samples:
            if sample.name == "proofmesh_llm_requests_total" and sample.labels["model"] == "prover":
                found[sample.labels["outcome"]] += int(sample.value)
    return found


async def test_a_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Server(key="secret")) as server:
        with pytest.raises(BadModel, match=r"requires a key: set \$PROOFMESH_OPENAI_KEY or \$OPENAI_API_KEY"):
            await opened(address(server))
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        with pytest.raises(BadModel, match=r"rejects the key in \$OPENAI_API_KEY"):
            await opened(address(server))
        monkeypatch.setenv("PROOFMESH_OPENAI_KEY", "secret")
        async with open_openai(address(server), QUICK) as sampler:
            assert len(await sampler.sample(PROMPT, 2, 1, SHORT)) == 2


async def opened(text: str) -> OpenAISampler:
    async with open_openai(text, QUICK) as sampler:
        return sampler


async def test_what_is_wrong_with_a_server_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Server()) as server:
        with pytest.raises(BadModel, match="does not have the model `gpt`; choose one of `prover`"):
            await opened(address(server, model="gpt"))
    for status in (404, 500):
        async with running(Server(lists=status)) as server:
            with pytest.raises(BadModel, match="does not have the model `gpt` "):
                await opened(address(server, model="gpt"))
            await opened(address(server))
    monkeypatch.setattr("node.llm.openai.PATIENCE", 0.0)
    server = Server()

    async def page(request: web.Request) -> web.StreamResponse:
        return ANSWERS["html"]({})

    server.models = page  # type: ignore[method-assign]
    async with running(server):
        with pytest.raises(BadModel, match=r"answers with a web page, not with JSON; .* ends with /v1"):
            await opened(address(server))
    with pytest.raises(SamplerError, match=r"127\.0\.0\.1:\d+/v1 cannot be reached: "):
        await opened(address(server))
    notes: list[str] = []
    async with running(Server()) as other, open_openai(address(server, other), QUICK, note=notes.append) as sampler:
        assert len(await sampler.sample(PROMPT, 2, 1, SHORT)) == 2
    assert len(notes) == 1 and "going on without it" in notes[0]


# --- what servers answer, in the forms that they are known to write ---------------------------------------------------
@pytest.mark.parametrize(
    ("tokens", "text", "pieces"),
    [
        (["exact", " ", "bytes:\\xe2", "bytes:\\x9f\\xa8", "h", ".1", "</s>"], "exact ⟨h.1", None),
        (["�", "", "�", " q"], "∧ q", ["", "", "∧", " q"]),
        ([" exact", " h"], "exact h", ["exact", " h"]),  # a server that takes white space off
        (["simp"], "simp [h]", ["simp [h]"]),
        (["a", "b", "<|im_end|>"], "ab", ["a", "b", ""]),
        ([], "", []),
    ],
)
def test_tokens_make_up_their_text(tokens: list[str], text: str, pieces: list[str] | None) -> None:
    found = aligned(tokens, text)
    assert "".join(found) == text and len(found) == len(tokens)
    assert pieces is None or found == pieces


def test_samples_are_read_as_far_as_servers_tell_of_them() -> None:
    def read(*choices: dict[str, object], **more: object) -> Completion:
        told = {"choices": [{"finish_reason": "stop", **each} for each in choices], **more}
        return read_completion(json.dumps(told).encode(), ())

    # Tokens of several samples are told together.
    usage = {"prompt_tokens": 7, "completion_tokens": 8}
    found = read({"text": "simp"}, {"text": "omega"}, {"text": "rfl"}, usage=usage)
    assert [sample.token_count for sample in found.samples] == [3, 3, 2]
    assert (found.tokens_in, found.tokens_out) == (7, 8)
    # Log-probabilities that are not all told are none.
    for values, expected in (([None, -1.0], None), ([-1.0], -1.0)):
        logprobs = {"tokens": ["a", "b"], "token_logprobs": values}
        assert read({"text": "ab", "logprobs": logprobs}).samples[0].logprob("ab") == expected
    # A chat without content is an empty text.
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    found = read({"message": message, "finish_reason": "length"})
    assert (found.samples[0].text, found.samples[0].cut) == ("", True)
    # What was aborted is left out.
    found = read({"text": "simp"}, {"text": "si", "finish_reason": "abort"})
    assert [sample.text for sample in found.samples] == ["simp"] and found.choices == 2


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b'"simp"', b'{"choices": {}}', b'{"error": 1}', b'{"choices": [{"te', b"\xff"]
)
def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
        read_completion(answer, ())


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ('{"error": {"message": "n must be 1 when using greedy sampling"}}', "n"),
        ("Only one completion choice is allowed", "n"),
        ("n_cmpl must be 1", "n"),
        ("{'type': 'extra_forbidden', 'loc': ('body', 'top_k')}", "neutral"),
        ("Unrecognized request argument supplied: min_p", "neutral"),
        ("logprobs is not supported with this model", "logprobs"),
        ("`seed` is not supported", "seed"),
        ("Unsupported parameter: 'stop'", "stop"),
        ("the prompt must not be empty", ""),
        ("temperature must be positive", ""),
    ],
)
def test_a_refusal_tells_what_a_server_does_not_know(message: str, left_out: str) -> None:
    known = Supported()
    assert known.forget(message, several=True) == left_out
    assert known == Supported(**({left_out: False} if left_out else {}))
    assert known.forget(message, several=True) == ""  # it is left out once
    if left_out == "n":
        assert Supported().forget(message, several=False) == "", "one sample is never refused for being several"


def test_a_server_says_how_long_to_wait_in_seconds_or_with_a_date() -> None:
    assert retry_after({"retry-after": "2.5"}) == 2.5
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert 90 < (retry_after({"retry-after": date}) or 0) <= 100
    assert retry_after({"retry-after": email.utils.formatdate(0, usegmt=True)}) == 0.0
    for headers in ({}, *({"retry-after": other} for other in ("soon", "", "nan", "inf"))):
        assert retry_after(headers) is None


def test_a_web_page_is_called_one() -> None:
    page, other = b" <!DOCTYPE html>\n<html>", b'{"x": '
    assert "a web page" in html_or_garbled(page, "http://a/v1", "cut").text
    assert html_or_garbled(other, "http://a/v1", "cut").text == "http://a/v1: the response cannot be read: cut"


def test_a_server_that_does_not_take_minus_one_for_all_tokens_is_sent_zero() -> None:
    known = Supported()
    refusal = "1 validation error: {'loc': ('body', 'top_k'), 'msg': 'Input should be greater than or equal to 0'}"
    assert known.forget(refusal, several=True) == "top_k=-1"
    sent = request_of("prover", Prompt("x"), 1, 0, Decoding(), known)
    assert sent["extra_body"] == {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert known.forget(refusal, several=True) == "neutral"  # then it is left out


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        # vLLM 0.32, and before; OpenAI.
        ("max_tokens=1024 cannot be greater than max_model_len=512. Please request fewer output tokens.", 512),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (104 in the "
            "messages, 4096 in the completion). Please reduce the length of the messages or completion.",
            3992,
        ),
        ("max_tokens is too large: 5000. This model supports at most 4096 completion tokens", 4096),
        # No room behind the prompt: it is the prompt that is too long.
        (
            "This model's maximum context length is 512 tokens. However, you requested 600 (510 in the prompt, 90 ...)",
            0,
        ),
        ("This model's maximum context length is 512 tokens. However, your prompt contains at least 513 tokens", 0),
    ],
)
def test_a_refusal_tells_how_long_samples_may_be(message: str, limit: int) -> None:
    known = Supported()
    assert output_limit(message) == limit
    if limit:
        assert known.forget(message, several=True) == f"max_tokens above {limit}"
        assert request_of("prover", Prompt("x"), 1, 0, Decoding(max_tokens=10_000), known)["max_tokens"] == limit


# --- which server is asked next: the circuit breaker and the balance, without servers or clocks -----------------------
def picked(fleet: Fleet, now: float) -> Place:
    place = fleet.pick(now)
    assert place is not None
    return place


def fails(fleet: Fleet, place: Place, now: float) -> bool:
    """A request that was picked before ends with a failure."""
    rests = fleet.failed(place, now, f"{place.url} is down")
    fleet.ended(place)
    return rests


def test_the_least_busy_server_is_asked_in_turn_and_one_that_failed_last_after_those_that_are_well() -> None:
    fleet = Fleet(["a", "b", "c"], failures=3, rest=4.0)
    turns = [picked(fleet, 0.0) for _ in range(6)]
    assert [place.url for place in turns] == ["a", "b", "c"] * 2
    for _ in range(2):
        fleet.ended(turns[1])
    assert [picked(fleet, 0.0).url for _ in range(2)] == ["b", "b"]
    fleet = Fleet(["a", "b"], failures=3, rest=4.0)
    assert not fails(fleet, picked(fleet, 0.0), 0.0)
    assert [picked(fleet, 0.0).url for _ in range(3)] == ["b", "b", "b"]
    assert fleet.has_healthy_server(0.0) and fleet.problem == "" and fleet.words == "a is down"


def test_after_failures_in_a_row_a_server_rests_ever_longer_and_one_request_finds_out_whether_it_is_well() -> None:
    fleet = Fleet(["a"], failures=3, rest=4.0)
    now, rests = 0.0, []
    for _ in range(2):
        assert not fails(fleet, picked(fleet, now), now)
    for _ in range(6):
        assert fails(fleet, picked(fleet, now), now)
        assert fleet.pick(now + 0.9 * fleet.wait(now)) is None
        rests.append(fleet.wait(now))
        now += fleet.wait(now)
    assert rests == [4.0, 8.0, 16.0, 32.0, LONGEST_REST, LONGEST_REST] and fleet.problem == "a is down"
    fleet = Fleet(["a"], failures=3, rest=4.0)
    for _ in range(3):
        fails(fleet, picked(fleet, 0.0), 0.0)
    fleet.ended(picked(fleet, 4.0))  # it is given up, and leaves room for another
    trial = picked(fleet, 4.0)
    assert fleet.pick(4.0) is None
    fleet.succeeded(trial)
    fleet.ended(trial)
    assert [picked(fleet, 4.0).url for _ in range(2)] == ["a", "a"] and fleet.problem == ""


def test_a_server_that_asks_to_wait_is_left_alone_so_long_and_has_not_failed() -> None:
    fleet = Fleet(["a", "b"], failures=3, rest=4.0)
    place = picked(fleet, 0.0)
    fleet.asked_to_wait(place, 0.0, 7.0, "a is busy")
    fleet.ended(place)
    assert [picked(fleet, 6.9).url for _ in range(2)] == ["b", "b"] and place.failures == 0
    assert picked(fleet, 7.0).url == "a"
    assert fleet.wait(0.0) == pytest.approx(0.0)
