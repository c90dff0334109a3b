"""What servers answer, in the forms that they are known to write, and what their refusals and failures mean."""

import email.utils
import json
import time

import msgspec
import pytest

from node.llm.sampling import Decoding, Prompt
from node.llm.servers import Supported, aligned, html_or_garbled, output_limit, read_completion, request_of, retry_after


def body(**fields: object) -> bytes:
    return json.dumps({"choices": [], **fields}).encode()


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


def test_tokens_of_several_samples_are_told_together() -> None:
    choices = [{"text": text, "finish_reason": "stop"} for text in ("simp", "omega", "rfl")]
    read = read_completion(body(choices=choices, usage={"prompt_tokens": 7, "completion_tokens": 8}), ())
    assert [sample.token_count for sample in read.samples] == [3, 3, 2] and (read.tokens_in, read.tokens_out) == (7, 8)


def test_log_probabilities_that_are_not_all_told_are_none() -> None:
    for values in ([None, -1.0], [-1.0]):
        logprobs = {"tokens": ["a", "b"], "token_logprobs": values}
        read = read_completion(body(choices=[{"text": "ab", "finish_reason": "stop", "logprobs": logprobs}]), ())
        expected = None if None in values else -1.0
        assert read.samples[0].logprob("ab") == expected


def test_a_chat_without_content_is_an_empty_text() -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    read = read_completion(body(choices=[{"message": message, "finish_reason": "length"}]), ())
    assert (read.samples[0].text, read.samples[0].cut) == ("", True)


def test_aborted_samples_are_none_and_the_others_stay() -> None:
    choices = [{"text": "simp", "finish_reason": "stop"}, {"text": "si", "finish_reason": "abort"}]
    read = read_completion(body(choices=choices), ())
    assert [sample.text for sample in read.samples] == ["simp"] and read.choices == 2


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
    for other in ("soon", "", "nan", "inf"):
        assert retry_after({"retry-after": other}) is None
    assert retry_after({}) is None


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
