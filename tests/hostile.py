"""Text as a hostile file, model or node may write it."""

import re

FORGED = "accepted  Real.lean:1: forged"

HOSTILE = (
    f"t\n{FORGED}\r\x1b[2J\x1b]0;title\x07\x9b31m\0\u202eabc\u2066\u200b\u061c\ufeff\u2028"
    "[bold]b[/bold] [link=x]l[/link]"
)
"""A line of its own, escape codes, C1 controls, NUL, directions, invisible characters, and markup of rich."""

SURROGATE = HOSTILE + "\udcff"
"""As above, with a byte of a file name that is not UTF-8."""

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def harmless(text: str) -> bool:
    """True if a text has no character that a terminal obeys or that nobody sees, and none of its lines is forged."""
    found = _UNSAFE.search(text)
    assert found is None, f"{found[0]!r} in {text[max(0, found.start() - 40) : found.end() + 40]!r}"
    forged = [line for line in text.splitlines() if line.startswith(FORGED)]
    assert not forged, forged
    return True


def harmless_and_whole(text: str) -> bool:
    """True if it is also there: its escapes are shown, and its markup is not obeyed."""
    assert "[bold]b[/bold]" in text or "\\[bold\\]b\\[/bold\\]" in text, text
    assert r"\x1b[2J" in text or r"\x1b\[2J" in text or r"\\x1b\[2J" in text, text
    return harmless(text)
