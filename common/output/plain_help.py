"""Makes the `--help` of all commands plain: `[PATH ...]` in place of `[[PATH [PATH ...]]]`, no `(default: )` where the
default is empty, and sentences that are broken where the terminal ends, not where their docstring was. What is said
about a mistyped option shows no password of a URL."""

from __future__ import annotations

import dataclasses
import functools
import re
import shutil
import textwrap
from typing import Any

from common.output.visible import without_credentials

_SEVERAL = re.compile(r"(\[*)(.+?) \[\2 \.\.\.\]+")
"""Tyro's placeholder of several values: `STR [STR ...]` (at least one), `[STR [STR ...]]` (any number)."""


@functools.cache
def install() -> None:
    """Change how tyro words its help. It has no public setting for all fields at once, so functions of its modules are
    wrapped; pyproject.toml names its exact version, and a test looks at the help of every command."""
    from tyro import _arguments as tyro_arguments
    from tyro._backends import _tyro_help_formatting as tyro_formatting

    # 1. The functions as they are, which ours call.
    format_help = tyro_formatting.format_help
    apply_metavar, helptext_of = tyro_arguments._rule_apply_argconf, tyro_arguments.generate_argument_helptext

    # 2. The placeholder of several values.
    def plain_metavar(arg: Any, lowered: Any) -> None:
        apply_metavar(arg, lowered)
        if lowered.metavar and (match := _SEVERAL.fullmatch(lowered.metavar)):
            lowered.metavar = f"[{match[2]} ...]" if match[1] else f"{match[2]} ..."

    # 3. The text of a field: lines joined, and no word about an empty default.
    def plain_helptext(arg: Any, lowered: Any, compact: bool = False) -> Any:
        field = arg.field
        text = field.helptext() if callable(field.helptext) else field.helptext
        changes: dict[str, Any] = {"helptext": joined(text) if text else text}
        if field.argconf.help_behavior_hint is None and _empty(field.default):
            changes["argconf"] = dataclasses.replace(field.argconf, help_behavior_hint="")
        return helptext_of(dataclasses.replace(arg, field=dataclasses.replace(field, **changes)), lowered, compact)

    # 4. A mistyped option may be a URL with a password, which a terminal's log would keep.
    unrecognized = tyro_formatting.unrecognized_args_error

    def without_passwords(
        prog: str, unrecognized_args_and_progs: list[tuple[str, str]], *rest: Any, **more: Any
    ) -> Any:
        found = [(without_credentials(argument), of) for argument, of in unrecognized_args_and_progs]
        return unrecognized(prog, found, *rest, **more)

    # 5. The whole page. The width is asked for each time, because a terminal may have been resized.
    def plain_help(*arguments: Any, **named: Any) -> list[str]:
        width = shutil.get_terminal_size().columns
        return [filled(text, width) for text in format_help(*arguments, **named)]

    # 6. Put ours in their place.
    tyro_formatting.unrecognized_args_error = without_passwords
    tyro_formatting.format_help = plain_help
    tyro_arguments._rule_apply_argconf = plain_metavar
    tyro_arguments.generate_argument_helptext = plain_helptext


def joined(text: str) -> str:
    """A docstring's text with the lines of a paragraph joined. Blank lines, lists and indented lines stay."""
    return re.sub(r"(?<!\n)\n(?![\n\s*-])", " ", text)


def filled(text: str, width: int) -> str:
    """A command's usage and description with lines of at most `width` columns. A line of an example goes on below its
    explanation; tyro's boxes fit already."""
    paragraphs = re.sub(r"\n{3,}", "\n\n", joined(text))
    return "\n".join(_filled(line, width) for line in paragraphs.split("\n"))


def _filled(line: str, width: int) -> str:
    if "\x1b" in line or len(line) <= width or line.startswith(("╭", "│", "╰")):
        return line
    example = re.match(r"(usage: \S+ |\s+\S.*?\s{2,}|\s*- |\s*)", line)
    column = len(example[1]) if example else 0
    if column > width // 2 and line.startswith(" "):  # the explanation has too little room beside the example
        begin, end = line[:column].rstrip(), line[column:]
        return begin + "\n" + textwrap.fill(end, width, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return textwrap.fill(line, width, subsequent_indent=" " * column, break_long_words=False, break_on_hyphens=False)


def _empty(default: object) -> bool:
    return isinstance(default, str | tuple | list | dict) and not default
