"""Addresses of models on servers: what is understood, and what is refused with which words."""

import pytest

from node.llm.address import BadModel, ServerAddress, parse_address


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
    assert parse_address(text) == found
    assert parse_address(str(found)) == found
    assert found.identity.startswith(f"openai:{found.model}") and "http" not in found.identity


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("openai:http://a/v1", "names no model; write openai:URL#MODEL"),
        ("openai:http://a/v1#", "names no model"),
        ("openai:http://a/v1#@bfs", "names no model"),
        ("openai:http://a/v1#m@", "names no template after `@`"),
        ("openai:#m", "`` is not a server address; write http://localhost:8000/v1"),
        ("openai:localhost:8000#m", "`localhost:8000` is not a server address"),
        ("openai:http://a:port/v1#m", "is not a server address"),
        ("openai:ftp://a/v1#m", "is not a server address"),
        ("openai:http://a/v1|http://a#m", "names a server twice"),
        ("openai:http://a/v1?key=x#m", "has a query"),
        ("openai:http://user:sk-1@a/v1#m", r"`a`: the address contains a key; set \$OPENAI_API_KEY"),
        ("openai:http://user:sk-1@host/v1", "names no model"),
        ("openai:http://user:sk-1@host:x/v1#M", "is not a server address"),
        ("openai:ftp://sk-1@host/v1#M", "is not a server address"),
        ("openai:http://host/v1?key=sk-1#M", "has a query"),
        ("openai:http://a/v1|http://sk-1@b/v1#M@", "names no template"),
    ],
)
def test_addresses_that_are_none_are_refused_and_told_without_their_keys(text: str, says: str) -> None:
    with pytest.raises(BadModel, match=says) as refused:
        parse_address(text)
    assert "sk-1" not in str(refused.value)
