"""The protocol's texts, without any process."""

import pytest

from node.lean.adapters.repl.protocol import BadRequest, read_request


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Could not parse JSON"),
        ("[" * 100_000, "Could not parse JSON"),
        ("[]", "Could not parse as a valid JSON command"),
        ("{}", "Could not parse as a valid JSON command"),
        ('{"cmd": 1}', "Could not parse as a valid JSON command"),
        ('{"tactic": "rfl"}', "`tactic` needs `proofState`"),
    ],
)
def test_what_is_no_request_is_told_as_the_repl_tells_it(text, says):
    with pytest.raises(BadRequest, match=says):
        read_request(text)
