"""Shows text from outside safely: names, file names, statements, messages, reasons. Nothing in it can control a
terminal, hide, turn the direction of writing, or pass for a line of ours. No message shows the password of a URL.

`visible` escapes, and everything else here uses it. `say` prints a message. `say_data` prints what a program reads from
a pipe, or a person on a terminal. `as_json` writes JSON. `common.output.terminal.Console` escapes what rich prints.
"""

from __future__ import annotations

import html
import json
import re
import sys
from typing import Any, TextIO

INDENT = "    "
"""Begins the second and later lines of a text in a message."""

CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff"
"""Control characters, line separators, and surrogates, which stand for bytes of a file name that are not UTF-8."""

UNSEEN = (
    # Format characters (Cf): directions, zero widths, soft hyphens, tags and the like.
    r"\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
    # Letters, marks and symbols without ink.
    r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d"
)
"""Characters that nobody sees, or that change how others look."""

_UNSAFE = re.compile(f"[{CONTROLS}{UNSEEN}]|" + r"(?<![\u2190-\u2bff\U0001f000-\U0001faff])[\ufe0e\ufe0f]")
"""Text and picture selectors count only behind no symbol: Lean itself writes `❌` with one."""

_CREDENTIALS = re.compile(
    r"(?<=://)(?:[^/?#\s]*@"
    # A password with `/`, `?` or `#` makes no valid URL; messages about such a URL show it all the same.
    r"|[^/\s:@\[]*:(?!\d+[/?#,|\s])[^\s@]*@)"
)
"""User and password, or token, of a URL. In `http://HOST:8000/v1#MODEL@TEMPLATE` there are none."""

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, *, multiline: bool = False, indent: str = INDENT) -> str:
    r"""The text with every character that is not to be seen as an escape: `\n`, `\x1b`, `\u202e`.

    `multiline` keeps line breaks and tabs. Then every line but the first begins with `indent`, so that none of them
    looks like a line of ours. Showing a text twice changes nothing more.
    """
    if not multiline:
        return _UNSAFE.sub(_escaped, text)
    lines = [_UNSAFE.sub(lambda match: "\t" if match[0] == "\t" else _escaped(match), line) for line in _lines(text)]
    if all(line.startswith(indent) for line in lines[1:] if line):
        return "\n".join(lines)
    return "\n".join([lines[0], *(indent + line if line else "" for line in lines[1:])])


def without_credentials(text: str) -> str:
    """The text without user, password and token of the URLs in it."""
    return _CREDENTIALS.sub("", text) if "://" in text else text


def in_html(text: str, *, multiline: bool = False) -> str:
    """The text for an HTML page, also inside a quoted attribute. `multiline` keeps line breaks and tabs, for <pre>."""
    return html.escape(visible(text, multiline=multiline, indent=""), quote=True)


def as_json(document: object, **options: Any) -> str:
    """A document as JSON: exact data, with the escapes of JSON for every character that is not to be seen."""
    return escaped_json(json.dumps(document, ensure_ascii=False, **options))


def escaped_json(text: str) -> str:
    """JSON text with such characters escaped. They occur inside its strings only; white space between them stays."""
    return _UNSAFE.sub(_json_escaped, text)


def say(
    *values: object,
    sep: str = " ",
    end: str = "\n",
    file: TextIO | None = None,
    flush: bool = False,
    indent: str = INDENT,
) -> None:
    """Print a message, like `print`, without passwords of URLs. It may have several lines; see `visible`."""
    text = visible(without_credentials(sep.join(map(str, values))), multiline=True, indent=indent)
    print(text, end=end, file=file, flush=flush)


def say_data(text: str, *, end: str = "\n", flush: bool = False) -> None:
    """Print data to standard output: exactly, or visibly if a person reads it on a terminal."""
    print(visible(text, multiline=True, indent="") if sys.stdout.isatty() else text, end=end, flush=flush)


def encodable(text: str) -> str:
    """The text with lone surrogates escaped, because UTF-8 has none."""
    return text.encode(errors="backslashreplace").decode()


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0x20:
        return match[0]  # JSON has no raw control characters but the white space between its values
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
