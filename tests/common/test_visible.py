import ast
import io
import json
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from rich.live import Live
from rich.panel import Panel
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from common.output import visible as escaping
from common.output.terminal import Console, line, lines
from common.output.visible import as_json, escaped_json, in_html, say, say_data, visible, without_credentials
from tests.hostile import HOSTILE, SURROGATE, harmless, harmless_and_whole

ROOT = Path(__file__).parents[2]
some = settings(max_examples=50, deadline=None, derandomize=True, database=None)

SPECIAL = st.sampled_from("\n\r\t\0\x1b\x9b\u202e\u200b\ufe0f\ud800\udcffa⚠∀\\")
ANY = st.text(st.characters(exclude_categories=[]) | SPECIAL)


def seen(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


@some
@given(ANY)
def test_no_control_and_no_direction_is_left_and_every_character_can_be_read_back(text: str) -> None:
    shown = visible(text)
    assert all(map(seen, shown)) and visible(shown) == shown
    if "\\" not in text:
        assert eval("'" + shown.replace("'", "\\'") + "'") == text


@some
@given(ANY)
def test_several_lines_stay_lines_and_all_but_the_first_are_indented(text: str) -> None:
    shown = visible(text, multiline=True)
    first, *more = shown.split("\n")
    assert all(seen(char) or char == "\t" for line in (first, *more) for char in line)
    assert all(not line or line.startswith("    ") for line in more)
    assert visible(shown, multiline=True) == shown


@pytest.mark.parametrize(
    "text",
    ["∀ (x : ℕ), x ∈ 𝓢 → ⟨x, x⟩ ≠ ⊥", "Ünïcödé, عربي, עברית, 日本語, ñ", "é", "⚠️ ❌️", r"s \ t", "x₁' ‹a› «b c»", ""],
)
def test_letters_of_any_script_mathematics_and_accents_are_unchanged(text: str) -> None:
    assert visible(text) == text == visible(text, multiline=True)


def test_escapes_are_those_that_people_know() -> None:
    assert visible("a\n\r\t\0\x1b\x9b\u202e\U000e0041\udcff") == r"a\n\r\t\x00\x1b\x9b\u202e\U000e0041\udcff"
    assert visible("a\u3164b\u00adc\ufe0f") == r"a\u3164b\xadc\ufe0f"
    assert visible("goals:\n  a\n    b", multiline=True) == "goals:\n      a\n        b"
    assert visible("goals:\r\n    a\n      b", multiline=True) == "goals:\n    a\n      b", "it is indented already"
    # A page shows what cannot be seen, and obeys no tag.
    assert in_html('<b>\u202e\n"&') == "&lt;b&gt;\\u202e\\n&quot;&amp;"
    assert in_html("a\n\tb\x1b", multiline=True) == "a\n\tb\\x1b"


@some
@given(ANY)
def test_json_is_exact_data_and_has_nothing_that_cannot_be_seen(text: str) -> None:
    for shown in (as_json({text: [text]}), as_json({text: [text]}, indent=2)):
        assert all(seen(char) or char == "\n" for char in shown)
        assert json.loads(shown) == {text: [text]} or any(0xD800 <= ord(char) < 0xE000 for char in text)
    assert as_json(["⊢ p"]) == '["⊢ p"]'
    assert escaped_json('{\n  "a": 1\n}') == '{\n  "a": 1\n}'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no broker at nats://mesh:PASSWORD@h:4222 (gone)", "no broker at nats://h:4222 (gone)"),
        ("nats://h1:4222,nats://mesh:PASSWORD@h2", "nats://h1:4222,nats://h2"),
        ("tls://PASSWORD@h and http://:PASSWORD@h/v1", "tls://h and http://h/v1"),
        ("nats://mesh:PASS@WORD@h:4222", "nats://h:4222"),
        ("nats://mesh:PASS/WORD?#x@h:4222 refused", "nats://h:4222 refused"),
        ("fatal: https://me:PASSWORD@host.org/a@v1 failed", "fatal: https://host.org/a@v1 failed"),
    ],
)
def test_no_message_shows_the_password_of_a_url(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    Console(width=400).print(Text(f"x {text}", style="bold"))
    assert capsys.readouterr().out == f"{shown}\nx {shown}\n"
    assert without_credentials(ValueError(text).args[0]) == shown


@pytest.mark.parametrize(
    "text",
    [
        "openai:http://localhost:8000/v1#org/model@kimina",
        "openai:http://localhost:8000#model@kimina",
        "http://[::1]:8000/v1#org/model@kimina",
        "https://host.org/a/b.git@v4.20.0",
        "file:///a/b@main git@host.org:a/b.git@main hf:gpt2@main",
        "nats://127.0.0.1:4222, me@home.org",
    ],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert without_credentials(text) == text


def test_data_is_exact_unless_on_a_tty(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    say_data("theorem t :\n  True\x1b")
    assert capsys.readouterr().out == "theorem t :\n  True\x1b\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    say_data("theorem t :\n  True\x1b")
    assert capsys.readouterr().out == "theorem t :\n  True\\x1b\n"


def test_the_page_of_the_monitor_escapes_the_same_characters() -> None:
    script = (ROOT / "ui/static/lib/dom.js").read_text(encoding="utf-8")
    constants = dict(re.findall(r"^const (CONTROLS|UNSEEN) = String\.raw`(.*)`;$", script, re.MULTILINE))
    found = {name: re.sub(r"\\u\{(\w+)\}", lambda code: f"\\U{code[1]:0>8}", text) for name, text in constants.items()}
    assert found == {"CONTROLS": escaping.CONTROLS, "UNSEEN": escaping.UNSEEN}


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript here")
@pytest.mark.process
def test_the_page_of_the_monitor_shows_text_like_this(tmp_path: Path) -> None:
    shutil.copy(ROOT / "ui/static/lib/dom.js", tmp_path / "dom.mjs")
    texts = [HOSTILE, "∀ ⚠️ a\ufe0f \U000e0041", "a\r\n\tb"]
    code = (
        f"import {{ visible }} from './dom.mjs'; const texts = {json.dumps(texts)};"
        "console.log(JSON.stringify([texts.map((text) => visible(text)), visible(texts[2], true)]))"
    )
    (tmp_path / "run.mjs").write_text(code, encoding="utf-8")
    ran = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    shown, lines = json.loads(ran.stdout)
    assert shown == [visible(text) for text in texts] and lines == "a\n\tb"


OWN = re.compile(r"print\((USAGE|__doc__|overview\(|version\(|as_json\(|escaped_json\(|as_document\()")
"""What commands print with `print`: their own texts, and JSON from the functions above."""


def test_commands_print_through_say_and_the_console_that_escapes() -> None:
    """Whoever prints text in another way has to escape it himself, and forgets it."""
    apart = {"common/output/visible.py", "common/output/terminal.py", "node/lean/process/probe.py"}
    wrong = []
    for part in ("broker", "common", "node", "proofmesh", "ui"):
        for file in sorted((ROOT / part).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            if name in apart or "toolchain/pocket" in name:
                continue
            text = file.read_text(encoding="utf-8")
            if "print(" not in text and "rich.console" not in text:
                continue
            for each in ast.walk(ast.parse(text)):
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "print":
                    code = " ".join((ast.get_source_segment(text, each) or "").split())
                    if any(not isinstance(value, ast.Constant) for value in each.args) and not OWN.match(code):
                        wrong.append(f"{name}:{each.lineno}: {code}")
                if isinstance(each, ast.ImportFrom) and each.module == "rich.console":
                    wrong += [f"{name}:{each.lineno}: Console of rich" for item in each.names if item.name == "Console"]
    assert wrong == []


def test_harmless_sees_what_is_not() -> None:
    for text in ("\x1b", "\u202e", HOSTILE):
        with pytest.raises(AssertionError):
            harmless(text)


def printed(value: object) -> str:
    out = io.StringIO()
    Console(file=out, width=400).print(value)
    return out.getvalue()


def test_text_that_is_made_for_it_is_whole_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    for value in (line(SURROGATE), lines(SURROGATE), Tree(line(HOSTILE)), Panel(line(HOSTILE), title=line(HOSTILE))):
        assert harmless_and_whole(printed(value))
    say(f"proofmesh verify: {SURROGATE}")
    assert harmless_and_whole(capsys.readouterr().out)


def test_text_that_nobody_escaped_is_escaped_when_it_is_printed() -> None:
    text = HOSTILE.replace("\n", " ")
    table = Table("a", title=text, caption=text)
    table.add_row(text)
    table.add_row(Text(text))
    for value in (text, Text(text), table, Tree(text), Panel(text)):
        assert harmless(printed(value)) and "[bold]b[/bold]" in printed(value)
    out = io.StringIO()
    console = Console(file=out, width=400)
    with Live(Text(text), console=console, auto_refresh=False):
        pass
    with Progress(TextColumn("{task.description}", markup=False), console=console) as progress:
        progress.add_task(text)
    assert harmless(out.getvalue()) and "[bold]b[/bold]" in out.getvalue()


def test_styles_stay_where_they_were() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="standard")
    console.print(Text.assemble(("a\x1bb", "red"), "\u202ec"))
    assert out.getvalue() == "\x1b[31ma\\x1bb\x1b[0m\\u202ec\n"
