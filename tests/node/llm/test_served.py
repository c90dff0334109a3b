"""Models of a mesh and of servers: how they are named, and prompts and samples on the wire."""

import pytest

from common.protocol.messages import SampleReply, SampleRequest, decode, encode
from common.protocol.subjects import samples
from node.llm.address import BadModel, ServerAddress, parse_address, parse_hub_address
from node.llm.models import (
    MOST_TOKENS,
    decoding_of,
    mesh_name,
    parse_served,
    prompt_of,
    reply_of,
    request_of,
    samples_a_request,
    samples_of,
    served_name,
    template_of_name,
)
from node.llm.sampling import ChatMessage, Decoding, Prompt, Sample, Token


def test_a_model_is_the_same_on_all_servers_and_with_all_templates() -> None:
    here = parse_address("openai:http://a/v1|http://b/v1#org/model@bfs-prover-v1")
    there = parse_address("openai:http://c/v1#org/model")
    named = parse_served("openai:org/model@reprover")
    assert {served_name(each) for each in (here, there, named)} == {"openai:org/model"}
    assert mesh_name(here) == "openai:org/model@bfs-prover-v1" and mesh_name(there) == "openai:org/model"
    assert parse_served(mesh_name(here)).template == "bfs-prover-v1"
    local = parse_hub_address("hf:folder/model+adapter@stp")
    assert served_name(local) == "hf:folder/model+adapter" and parse_served(mesh_name(local)) == local
    assert template_of_name(local).name == "stp"
    assert samples(served_name(here)) == samples(served_name(named)) != samples(served_name(local))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("openai:http://a/v1#m", "of a mesh choose it; write `openai:m`"),
        ("openai:", "names no model"),
        ("openai:m@", "names no model"),
        ("own:m", "is not a language model"),
        ("hf:@t", "is not a model address"),
    ],
)
def test_names_that_a_mesh_has_not(text: str, says: str) -> None:
    with pytest.raises(BadModel, match=says):
        parse_served(text)


def test_requests_and_samples_travel_whole_with_half_a_character_and_the_longest_proofs() -> None:
    prompt = Prompt(messages=(ChatMessage("system", "Prove."), ChatMessage("user", "p ∧ q")))
    drawing = Decoding(0.7, 0.9, 2048, ("```", "\n\n"))
    request = decode(encode(request_of("id", "openai:m", prompt, 3, 2**62, drawing)), SampleRequest)
    assert prompt_of(request) == prompt and decoding_of(request) == drawing
    assert (request.count, request.seed, request.model) == (3, 2**62, "openai:m")
    given = [
        Sample("exact ⟨h.2, h.1⟩", False, (Token("exact", -0.1), Token(" ⟨h.2,", -1e-9), Token(" h.1⟩", -2.5)), 3),
        Sample("cut", True, (), 7),
        Sample("", False, (Token("", -0.5),), 1),
    ]
    assert samples_of(decode(encode(reply_of(given)), SampleReply)) == given
    stopped = Sample("simp", False, (Token("simp", -0.1), Token("\n\nmore", -0.2)), 2)
    (back,) = samples_of(reply_of([stopped]))
    assert back.logprob("simp") == -0.1 and back.logprob("simp and more") == stopped.logprob("simp and more")
    prompt, sample = Prompt("\ud83d?"), Sample("a\ud83d", False, (Token("a", -1.0), Token("\ud83d", -2.0)), 2)
    assert decode(encode(request_of("id", "m", prompt, 1, 0, Decoding())), SampleRequest).text == "??"
    (back,) = samples_of(decode(encode(reply_of([sample])), SampleReply))
    assert back.text == "a?" and back.logprob("a?") == -3.0
    tokens = tuple(Token("∀ x,", -0.5) for _ in range(4 * MOST_TOKENS))
    sample = Sample("∀ x," * len(tokens), True, tokens, len(tokens))
    assert samples_a_request(4 * MOST_TOKENS) == 1 and samples_a_request(256) > 32
    (back,) = samples_of(decode(encode(reply_of([sample])), SampleReply))
    assert back.text == sample.text and back.token_count == len(tokens)
    assert back.logprob(back.text) == sample.logprob(sample.text)


# --- addresses of models on servers -----------------------------------------------------------------------------------
SECRET = ("http://user:sk-1@host:x/v1", "ftp://sk-1@host/v1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("openai:http://a:8000/v1#m", ServerAddress(("http://a:8000/v1",), "m")),
        ("http://a:8000#org/m", ServerAddress(("http://a:8000/v1",), "org/m")),
        (
            "openai:http://a/v1/|https://b/x/v1#org/m@bfs",
            ServerAddress(("http://a/v1", "https://b/x/v1"), "org/m", "bfs"),
        ),
        ("openai:http://[::1]:80/v1#m@1@my/own.toml", ServerAddress(("http://[::1]:80/v1",), "m@1", "my/own.toml")),
    ],
)
def test_addresses_are_read_and_written(text: str, found: ServerAddress) -> None:
    assert parse_address(text) == found and parse_address(str(found)) == found
    assert found.identity.startswith(f"openai:{found.model}") and "http" not in found.identity


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("openai:http://a/v1", "names no model; write openai:URL#MODEL"),
        *((f"openai:http://{text}", "names no model") for text in ("a/v1#", "a/v1#@bfs", "user:sk-1@host/v1")),
        ("openai:http://a/v1#m@", "names no template after `@`"),
        ("openai:#m", "`` is not a server address; write http://localhost:8000/v1"),
        ("openai:localhost:8000#m", "`localhost:8000` is not a server address"),
        *((f"openai:{text}#m", "is not a server address") for text in ("http://a:port/v1", "ftp://a/v1", *SECRET)),
        ("openai:http://a/v1|http://a#m", "names a server twice"),
        ("openai:http://a/v1?key=x#m", "has a query"),
        ("openai:http://user:sk-1@a/v1#m", r"`a`: the address contains a key; set \$OPENAI_API_KEY"),
        ("openai:http://host/v1?key=sk-1#M", "has a query"),
        ("openai:http://a/v1|http://sk-1@b/v1#M@", "names no template"),
    ],
)
def test_addresses_that_are_none_are_refused_and_told_without_their_keys(text: str, says: str) -> None:
    with pytest.raises(BadModel, match=says) as refused:
        parse_address(text)
    assert "sk-1" not in str(refused.value)
