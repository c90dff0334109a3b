"""Generates `docs/configuration.md`: every section and key of the TOML files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from common import limits
from common.settings import BusSettings, LeanSettings, LifeSettings, RunSettings
from node.mesh.roles import ROLES, resolve
from scripts.docs import fields

INTRODUCTION = """\
# Configuration

Settings come from three places: defaults, a TOML file (`--config FILE`, or the file of `proofmesh up FILE`), and flags.
The file overrides defaults, and flags override the file. A flag has the name of its key, with hyphens: the key
`tactic_seconds` of [prover] is `proofmesh prover --tactic-seconds 10`. Flags of sections that all roles share begin
with the section's name: `--bus.url`, `--node.log-level`.

- `proofmesh ROLE --help` explains every key of a role. `proofmesh ROLE --config FILE --dry-run` prints the resulting
  configuration, including all defaults.
- An unknown section or key, a value of the wrong type, or a number out of its range is an error with exit code 2. The
  message names the file, the section and the key.
- A key with a dot belongs to a part of its section: write `search.c_base = 1` in `[prover]`, or `c_base = 1` in
  `[prover.search]`.
- Examples are in `scripts/recipes/`.

Environment variables: `PROOFMESH_NATS_USER` and `PROOFMESH_NATS_PASSWORD` (credentials of the broker),
`PROOFMESH_CACHE` (folder of the cache, else `~/.cache/proofmesh`), `PROOFMESH_DATA` (folder with copies of data sets),
`NATS_SERVER` (path of a nats-server), `LEAN_SERVER_API_KEY` (key of `proofmesh serve`), `PROOFMESH_TORCH_INDEX` (index
for the CPU build of torch, at set-up), `PYTHON` (the Python of `./start`), `DEMO_MINUTES` (length of the demo).
"""

SHARED: dict[str, tuple[type, str]] = {
    "run": (RunSettings, "every role and tool."),
    "bus": (BusSettings, "every node, and tools with `--url`."),
    "node": (LifeSettings, "every node."),
    "lean": (LeanSettings, "lean-proxy, and every tool that runs Lean. `[lean_proxy.lean]` wins over it."),
}
"""Sections that several roles read: their class, and their readers."""

TOOLS: dict[str, tuple[str, str]] = {
    "up": ("node.mesh.plan:UpSettings", "`proofmesh up`: how many nodes of each role run."),
    "serve": ("node.serve.service:ServeSettings", "`proofmesh serve`."),
    "prove": ("node.proving.settings:ProvingSettings", "`proofmesh prove`, `fill` and `eval`."),
}

FLAGS_ONLY = {"demo"}
"""Sections that are allowed in a file but not read."""

RECIPES: dict[str, tuple[str, str]] = {
    "recipe": ("node.training.recipe:RecipeSettings", "`proofmesh train recipe FILE`."),
    "pretrain, midtrain, sft": (
        "node.training.settings:StageSettings",
        "`proofmesh train recipe FILE`: one section for each stage; `[all]` has shared settings. Also the flags of "
        "`proofmesh train pretrain`, `midtrain` and `sft`. The section `[rl]` has the keys of `[learner]`.",
    ),
    "stp": (
        "node.stp.settings:StpSettings",
        "`proofmesh stp run FILE`. The sections `[initial]`, `[round]` and `[final]` have the keys of `[sft]`; the "
        "file's other sections are those of the mesh, without `[learner]`.",
    ),
}


def page() -> str:
    """The page as Markdown."""
    parts = [INTRODUCTION, "## Shared sections\n"]
    parts += [_section(name, cls, who) for name, (cls, who) in SHARED.items()]
    parts.append("## Roles\n")
    for name, role in ROLES.items():
        parts.append(_section(role.section, _class(role.settings), f"`proofmesh {name}`: {role.help}."))
    parts.append("## Tools\n")
    parts += [_section(name, _class(target), who) for name, (target, who) in TOOLS.items()]
    parts.append("## Recipes\n")
    parts += [_section(name, _class(target), who) for name, (target, who) in RECIPES.items()]
    parts += ["## Types\n", _types()]
    return "\n".join(parts).rstrip() + "\n"


def sections() -> set[str]:
    """The sections of a mesh's file that the page describes."""
    return {*SHARED, *TOOLS, *(role.section for role in ROLES.values())}


def _class(target: str) -> type:
    settings_class: Any = resolve(target)
    assert isinstance(settings_class, type)
    return settings_class


def _section(name: str, cls: type, who: str) -> str:
    title = ", ".join(f"[{each}]" for each in name.split(", "))
    lines = [f"### {title}\n", f"{fields.doc(cls)}\n", f"Read by {who}\n" if name in SHARED else f"{who}\n"]
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    lines += list(_rows(cls, ""))
    return "\n".join(lines) + "\n"


def _rows(cls: type, outer: str) -> Iterator[str]:
    written = {field.name: field for each in reversed(cls.__mro__) if _ours(each) for field in fields.fields(each)}
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        source = written[field.name]
        value = _default(field)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield f"| `{outer}{field.name}.…` | | | **{fields.cell(source.doc or fields.doc(type(value)))}** |"
            if isinstance(value, LeanSettings):
                continue  # its keys are listed in section [lean]
            yield from _rows(type(value), f"{outer}{field.name}.")
            continue
        meaning = fields.cell(source.doc)
        yield f"| `{outer}{field.name}` | {_type(source.annotation, hints[field.name])} | {_shown(value)} | {meaning} |"


def _type(written: str, hint: Any) -> str:
    """A type as it is written; the names of a set of words show the words."""
    words = f"Literal[{', '.join(map(repr, get_args(hint)))}]" if get_origin(hint) is Literal else written
    return fields.code(words)


def _ours(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__module__ != "builtins"


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return dataclasses.MISSING


def _shown(value: Any) -> str:
    """A default value in TOML's notation."""
    if value is dataclasses.MISSING:
        return "required"
    if value is None:
        return "none"
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, (frozenset, set)):
        value = sorted(value)
    return fields.code(json.dumps(value, ensure_ascii=False, default=str))


def _types() -> str:
    """The table of the types in `common.limits`."""
    lines = ["| type | values |", "|---|---|"]
    for row in fields.module_values(limits):
        hint = getattr(limits, row.name)
        bounds = next((each for each in getattr(hint, "__metadata__", ()) if hasattr(each, "ge")), None)
        if bounds is None:
            continue
        base = hint.__origin__.__name__
        ranges = [
            f"{sign} {limit:g}"
            for sign, limit in (("≥", bounds.ge), (">", bounds.gt), ("≤", bounds.le), ("<", bounds.lt))
            if limit is not None and abs(limit) < limits.LONGEST
        ]
        lines.append(f"| `{row.name}` | {base}{', ' if ranges else ''}{', '.join(ranges)}. {fields.cell(row.doc)} |")
    return "\n".join(lines) + "\n"
