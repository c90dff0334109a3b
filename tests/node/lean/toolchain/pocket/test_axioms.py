"""No declaration of the library rests on more than the three standard axioms."""

import re
from collections.abc import Callable
from typing import Any

from node.lean.toolchain.pocket import build

STANDARD = {"propext", "Quot.sound", "Classical.choice"}
DECLARATION = re.compile(
    r"^(?:@\[[^\]]*\]\s*)*(?P<modifiers>(?:protected |private |noncomputable |scoped )*)"
    r"(?:theorem|def|abbrev|instance|axiom|class inductive|inductive|structure|class) (?P<name>[^\s(){}\[\]:]+)"
)


def declared_names() -> list[str]:
    """Full names of what a line of the library's sources begins to declare (not the instances without a name)."""
    names: list[str] = []
    for file in build.module_files(build.SOURCES).values():
        if file.stem in ("Syntax", "Unexpanders"):  # generated: parsers and printers, no theorems
            continue
        namespaces: list[str] = []
        for line in file.read_text().splitlines():
            if opened := re.match(r"namespace (\S+)", line):
                namespaces.append(opened[1])
            elif closed := re.match(r"end (\S+)", line):
                if namespaces and namespaces[-1] == closed[1]:
                    namespaces.pop()
            elif declared := DECLARATION.match(line):
                name = declared["name"].removesuffix(".")
                names.append(name.removeprefix("_root_.") if "_root_." in name else ".".join([*namespaces, name]))
    return names


def test_every_declaration_rests_on_the_three_standard_axioms(elaborate: Callable[[str], list[Any]]) -> None:
    names = [name for name in declared_names() if not name.startswith("lc") and name != "sorryAx"]
    messages = elaborate("\n".join(f"#print axioms {name}" for name in names))
    assert [message.text for message in messages if message.severity == "error"] == []
    used: set[str] = set()
    for message in messages:
        if listed := re.search(r"depends on axioms: \[(.*)\]", message.text, flags=re.DOTALL):
            used |= {name.strip() for name in listed[1].split(",")}
    assert len(messages) == len(names) > 1000
    assert used == STANDARD


def test_the_library_declares_no_other_axiom() -> None:
    text = "\n".join(file.read_text() for file in build.module_files(build.SOURCES).values())
    axioms = re.findall(r"^(unsafe )?axiom (\S+)", text, flags=re.MULTILINE)
    assert {name for unsafe, name in axioms if not unsafe} == {"propext", "Quot.sound", "Classical.choice", "sorryAx"}
    assert "sorry" not in re.sub(r"sorryAx|lean_sorry|/--.*?-/", "", text, flags=re.DOTALL)
