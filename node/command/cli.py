"""The entry point `proofmesh COMMAND`: finds the command, imports its module and runs it. `--help` imports no heavy
packages."""

from __future__ import annotations

import io
import os
import select
import sys
import traceback
from collections.abc import Sequence

from common.output.visible import say, say_data, visible
from node.command.commands import COMMANDS, TOOLS
from node.mesh.roles import ROLES, Command, MissingPart, Role, resolve

USAGE_ERROR = 2
"""Exit code for errors that the user can fix: arguments, configuration, names."""


READER_GONE = 141
"""Exit code when the reader of the output has ended, as in `proofmesh verify FILES | head -1`: 128 + SIGPIPE, as of
other programs in shells."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    if argv is None:
        _never_choke()
    try:
        try:
            return _dispatch(list(sys.argv[1:] if argv is None else argv))
        finally:
            sys.stdout.flush()  # also when the parser of options ends the program after `--help`
    except BrokenPipeError:
        if not _reader_is_gone():
            raise
        # What is still buffered goes nowhere, or Python would complain about it at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return READER_GONE


def _dispatch(arguments: list[str]) -> int:
    """Run the command that the arguments name; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else USAGE_ERROR
    if arguments[0] == "--version":
        print(version())
        return 0
    name, command_arguments = arguments[0], arguments[1:]
    command = COMMANDS.get(name) or COMMANDS.get(name.replace("_", "-"))
    if command is None:
        return _refuse(f"no command `{name}`{_meant(name)}")
    # The parser of options shows what it does not know as it is, and `*.lean` gives it names of files.
    for each in command_arguments:
        option = each.partition("=")[0]
        if each.startswith("-") and visible(option) != option:
            return _refuse(f"{name}: no option {visible(option)}; a file of this name is ./{visible(option)}")
    try:
        return _run(command, command_arguments)
    except MissingPart as error:
        return _refuse(f"{name}: {error}")
    except KeyboardInterrupt:
        say(f"proofmesh {name}: interrupted", file=sys.stderr)
        return 130  # 128 + SIGINT, as in shells


def overview() -> str:
    """The text of `proofmesh --help`."""
    lines = ["proofmesh COMMAND [OPTIONS]    (each command has --help)", ""]
    for title, table in (("Use it", TOOLS), ("Run one node", ROLES)):
        lines.append(f"{title}:")
        lines += [f"  {name:<17}{command.help}" for name, command in table.items()]
        lines.append("")
    lines.append(
        "Nodes take --config mesh.toml, --dry-run (print the resolved configuration), and flags (override the file)."
    )
    return "\n".join(lines)


def version() -> str:
    """Name and version of the installed package."""
    import importlib.metadata

    try:
        return f"proofmesh {importlib.metadata.version('proofmesh')}"
    except importlib.metadata.PackageNotFoundError:
        return "proofmesh (not installed: run from a checkout)"


def _run(command: Command, arguments: list[str]) -> int:
    from common.output import plain_help

    plain_help.install()
    if isinstance(command, Role):
        return _run_role(command, arguments)
    entry = resolve(command.entry)
    from common.config import ConfigError

    try:
        return int(entry(arguments) or 0)
    except ConfigError as error:
        return _refuse(str(error))


def _run_role(role: Role, arguments: list[str]) -> int:
    from common import config
    from common.protocol.subjects import BadRunName, check_run_name

    settings = resolve(role.settings)
    try:
        resolved = config.resolve(settings, role.section, arguments)  # type: ignore[arg-type]
        check_run_name(resolved.node.run)
    except (config.ConfigError, BadRunName) as error:
        return _refuse(str(error))
    if resolved.dry_run:
        say_data(config.dump({"node": resolved.node, role.section: resolved.settings}), end="")
        return 0
    return int(resolve(role.entry)(resolved.settings, resolved.node))


def _never_choke() -> None:
    """Escape what the output's encoding does not have, and what a traceback says."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.excepthook = lambda kind, error, trace: say(
        "".join(traceback.format_exception(kind, error, trace)), end="", file=sys.stderr, indent="  "
    )


def _reader_is_gone() -> bool:
    """Whether the output is a pipe that nobody reads any more: other pipes and connections break, too."""
    pipes = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            pipes.register(stream.fileno(), 0)
        except (OSError, ValueError):  # a stream that is closed, or is no file
            continue
    return any(event & select.POLLERR for _, event in pipes.poll(0))


def _refuse(message: str) -> int:
    say(f"proofmesh: {message}", file=sys.stderr)
    return USAGE_ERROR


def _meant(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(COMMANDS), n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join(COMMANDS)}"


if __name__ == "__main__":
    sys.exit(main())
