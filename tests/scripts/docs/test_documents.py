"""What our documents name exists, and the client of docs/protocol.md runs against a real mesh."""

import ast
import asyncio
import contextlib
import functools
import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest

from common import config
from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from common.protocol import attempts, subjects
from node.command.cli import COMMANDS, main
from scripts.docs import configuration
from scripts.docs.__main__ import COMMAND, PAGES, path_of, stale
from tests.scripts.docs.reading import ROOT, Document, documents

DOCUMENTS = [each for each in documents() if each.name != "LOG.md"]
"""The log describes commands of its time, which may not exist any more."""

WITH_SUBCOMMANDS = ("bank", "bench", "broker", "eval", "models", "replay", "stp", "tokenizer", "train")

PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*|\.\.\.|<.*|\[.*|COMMAND")

FOREIGN_COMMANDS = "docs/migrating.md"
"""Names commands of other programs beside ours: their `python -m` are not our modules."""

MADE_LATER = ("data/pocket/build", "docs/site")
"""Paths that exist after a build only."""


@functools.cache
def recipes() -> dict[str, str]:
    """Recipes of the Justfile, with the last line of each."""
    text = (ROOT / "Justfile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z][\w-]*)(?: \*\w+)?:.*\n((?:    .*\n)+)", text, flags=re.MULTILINE))


@functools.cache
def help_of(*words: str) -> str:
    """The output of `proofmesh WORDS --help`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return output.getvalue()


def flags_of(text: str) -> set[str]:
    return {flag.replace("_", "-") for flag in re.findall(r"(?<![\w-])--[a-z][\w.-]*|(?<![\w-])-[a-z]\b", text)}


def as_command(words: list[str]) -> list[str] | None:
    """A command line as `proofmesh`'s arguments, where a recipe of the Justfile passes its own on; else None."""
    if words[0] == "proofmesh":
        return words[1:]
    passed = re.search(r"\{\{ proofmesh \}\} ([\w-]+)(?: --patience None)? \"\$@\"", recipes()[words[1]])
    return [passed[1], *words[2:]] if passed else None


def wrong_with(words: list[str]) -> str:
    """The problem of a command line; empty: none."""
    if words[0] == "python":
        module = words[2] if words[1:2] == ["-m"] and len(words) > 2 else ""
        ours = module.startswith(("scripts.", "node.", "common.", "ui."))
        return f"no module {module}" if ours and importlib.util.find_spec(module) is None else ""
    if words[0] != "proofmesh":
        options = [word for word in words[1:] if word.startswith("-")]
        if len(words) == 1 or PLACEHOLDER.fullmatch(words[1]) or words[1] in options:
            return ""
        if words[1] not in recipes():
            return f"no recipe {words[1]} in the Justfile"
    arguments = as_command(words)
    if not arguments or PLACEHOLDER.match(arguments[0]) or arguments[0] in ("--help", "-h"):
        return ""
    command, *rest = arguments
    if command not in COMMANDS:
        return f"proofmesh has no command {command}"
    path = [command]
    if command in WITH_SUBCOMMANDS and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        if rest[0] not in re.split(r"[^\w-]+", help_of(command)):
            return f"proofmesh {command} has no {rest[0]}"
        path.append(rest[0])
    known: set[str] | None = None
    for word in rest:
        flag = word.partition("=")[0].replace("_", "-")
        if not re.fullmatch(r"--[a-z][\w.-]*|-[a-z]", flag) or flag == "--help":
            continue
        known = flags_of(help_of(*path)) if known is None else known
        if flag not in known:
            return f"`proofmesh {' '.join(path)}` has no flag {flag}"
    return ""


def broken_links(document: Document) -> list[str]:
    """Links to files or headings that do not exist."""
    broken = []
    for target in document.links():
        if re.match(r"[a-z]+:", target):
            continue  # another site
        file, _, anchor = target.partition("#")
        path = (document.path.parent / file).resolve() if file else document.path
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in Document(path).anchors()):
            broken.append(target)
    return broken


def missing_modules(document: Document) -> list[str]:
    """`node.lean.text` is a module; the last word may also be a name in one."""

    def there(path: Path) -> bool:
        return path.is_dir() or path.with_suffix(".py").is_file()

    paths = {name: ROOT / name.replace(".", "/") for name in document.modules()}
    return [name for name, path in paths.items() if not there(path) and not there(path.parent)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_what_documents_name_exists_and_their_command_lines_parse(document: Document) -> None:
    assert broken_links(document) == []
    files = [name for name in document.files() if not name.startswith(MADE_LATER)]
    assert [name for name in files if not any(ROOT.glob(name))] == []
    tests = {name for code in document.code() for name in re.findall(r"(?:[\w/]+/)?test_\w+\.py", code)}
    assert [name for name in tests if not any(ROOT.glob(f"tests/**/{name.removeprefix('tests/')}"))] == []
    assert missing_modules(document) == []
    commands = [words for words in document.commands() if document.name != FOREIGN_COMMANDS or words[0] != "python"]
    assert {" ".join(words): text for words in commands if (text := wrong_with(words))} == {}


def test_wrong_command_lines_are_found() -> None:
    assert wrong_with(["proofmesh", "proof"]) == "proofmesh has no command proof"
    assert wrong_with(["./start", "prov"]) == "no recipe prov in the Justfile"
    assert wrong_with(["./start", "prove", "--simulation", "3"]) == "`proofmesh prove` has no flag --simulation"
    assert wrong_with(["proofmesh", "bank", "imports"]) == "proofmesh bank has no imports"
    assert wrong_with(["proofmesh", "prove", "--seconds", "3", "theorem t : True"]) == ""


@pytest.mark.parametrize("page", PAGES)
def test_generated_pages_are_up_to_date(page: str) -> None:
    assert not stale(page), f"docs/{page}.md is not what the code says now; run `{COMMAND}` and commit the page"


def test_every_subject_has_a_channel() -> None:
    upper = {name: value for name, value in vars(subjects).items() if name.isupper() and isinstance(value, str)}
    constants = {value for name, value in upper.items() if name not in vars(attempts)}  # those are names of clients
    functions = {subjects.todo("<purpose>", client) for client in ("<durable client>", "<owner>.<client>")}
    functions |= {subjects.result(to) for to in ("<durable client>", "<owner>.<client>.<attempt>.<piece>")}
    functions |= {subjects.samples_at_work("<node>"), subjects.samples("m").rpartition(".")[0] + ".<model>"}
    others = {subjects.EVERY_NODE, subjects.NO_CHANNEL, subjects.OWNER, subjects.ASKED}
    assert (constants - others) | functions <= {channel.name for channel in subjects.CHANNELS}


def test_every_section_of_a_mesh_file_is_described() -> None:
    assert set(config.SECTIONS) - configuration.sections() <= configuration.FLAGS_ONLY


def blocks(language: str) -> list[str]:
    page = path_of("protocol").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_the_example_needs_three_packages_and_nothing_of_ours() -> None:
    (example,) = blocks("python")
    nodes = list(ast.walk(ast.parse(example)))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    packages = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    assert packages == {"cryptography", "msgpack", "nats"}


@pytest.mark.usefixtures("lean_proxy")
async def test_the_example_of_a_client_gets_verdicts_from_a_mesh(broker: BusSettings, bus: Bus, tmp_path: Path) -> None:
    (example,), (said,) = blocks("python"), blocks("text")
    program = tmp_path / "client.py"
    program.write_text(example, encoding="utf-8")
    (verifier,) = (await bus.verifiers()).keys
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    client = await spawn_child([sys.executable, "-I", str(program), broker.url, bus.run, verifier], **pipes)
    try:
        output, _ = await asyncio.wait_for(client.communicate(), 120)
    finally:
        await kill_group(client, grace=1)
    assert (client.returncode, output.decode()) == (0, said)
