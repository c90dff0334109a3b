"""Reads a configuration: defaults of a dataclass, then a TOML file, then flags. Errors name the file, section and key.

A file has the sections [run], [bus], [node] and one for each role, so one file configures a whole mesh. Flags of a role
have no prefix (`--searches 8`). Flags that all roles share are `--run`, `--bus.url`, `--node.log-level` and so on.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from common.limits import Timeout
from common.output.visible import without_credentials
from common.settings import BusSettings, LeanSettings, LifeSettings, NodeSettings, RunSettings

T = TypeVar("T")

SECTIONS = (
    *("run", "bus", "node", "lean", "up", "demo", "serve", "prove"),
    *("broker", "learner", "inference", "prover", "lean_proxy", "ui"),
)
"""The sections that a file may have."""


TAKEN_OUT: dict[str, tuple[Any, ...]] = {
    "trainer.unlikelihood": (0.0,),
    "trainer.off_proof_share": (0.0,),
    "trainer.unsolved_steps": (16,),
    "replay.inner_proofs": (8, 0),
    "search.negate_below": (0.0,),
    "search.negation_share": (0.125,),
    "search.negation_simulations": (8,),
    "search.merging": ("text", "names-and-order"),
    "progress": ("",),
    "guidance": ({"use": "value", "share": 1.0, "exponent": 1.0},),
    "data.rename_hypotheses": (False,),
    "data.canonical_names": (True,),
    "data.state_after": (False,),
    "after_weight": (0.1,),
    "model.prefix_lm": (False,),
    "sampling.distinct": (False,),
}
"""Keys of earlier versions, in their sections. A run wrote its whole configuration, so the files of earlier runs have
them. They are passed over with these values: their defaults, and what says what is done without them."""


def taken_out(section: str) -> dict[str, tuple[Any, ...]]:
    """The keys that a section had in earlier versions, with the values that are passed over."""
    return {name.removeprefix(f"{section}."): off for name, off in TAKEN_OUT.items() if name.startswith(f"{section}.")}


class ConfigError(ValueError):
    """A mistake in a configuration file. The message says where, and suggests the closest valid name."""


@dataclass
class Resolved(Generic[T]):
    """A role's configuration, merged from defaults, file and flags."""

    settings: T
    node: NodeSettings
    dry_run: bool


def resolve(cls: type[T], section: str, argv: Sequence[str], *, prog: str | None = None) -> Resolved[T]:
    """A role's configuration from a command line with `--config FILE`, `--dry-run` and flags.

    Raises ConfigError. Invalid flags print an error and exit with code 2; `--help` exits with 0.
    """
    import tyro

    file = config_file(argv)
    settings, node = load(cls, file, section), load_node(file)
    arg = tyro.conf.arg
    # The file's values are the defaults of the flags, so that flags override the file.
    options = dataclasses.make_dataclass(
        "Options",
        [
            ("settings", typing.Annotated[cls, arg(name="")]),
            ("run", typing.Annotated[str, arg(help="Name of the run: lower-case letters, digits and hyphens.")]),
            ("config", typing.Annotated[Path | None, arg(help="A TOML file; flags win over it.")]),
            ("dry_run", typing.Annotated[bool, arg(help="Print the configuration that would run, and end.")]),
            ("bus", BusSettings),
            ("node", LifeSettings),
        ],
    )
    default = options(settings, node.run, file, False, node.bus, _life_of(node))
    flags: Any = tyro.cli(
        options,
        args=list(argv),
        default=default,
        prog=prog or f"proofmesh {section.replace('_', '-')}",
        description=cls.__doc__ or "",
    )
    check_flags(flags.settings)
    check_flags(flags.node, "node.")
    life = {field.name: getattr(flags.node, field.name) for field in dataclasses.fields(LifeSettings)}
    return Resolved(flags.settings, NodeSettings(run=flags.run, bus=flags.bus, **life), flags.dry_run)


def config_file(argv: Sequence[str]) -> Path | None:
    """The file that `--config` names. It is read before all other flags, because it sets their defaults."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path)
    flags, _ = parser.parse_known_args(argv)
    return flags.config if isinstance(flags.config, Path) else None


def load(cls: type[T], file: Path | None, section: str, flags: Sequence[str] | None = None) -> T:
    """One section as its dataclass: defaults, then the file, then flags. Raises ConfigError."""
    content = read(file)
    table = dict(content.get(section, {}))
    if "dir" in content.get("run", {}) and "directory" in _fields(cls):
        table.setdefault("directory", content["run"]["dir"])
    if "lean" in content and _fields(cls).get("lean") is LeanSettings and isinstance(table.get("lean", {}), dict):
        load_lean(file)  # errors name the section [lean], not the role's
        table["lean"] = content["lean"] | table.get("lean", {})
    settings = convert(cls, table, _where(file, section))
    if not flags:
        return settings
    import tyro

    settings = tyro.cli(cls, args=list(flags), default=settings, prog=f"proofmesh {section.replace('_', '-')}")
    check_flags(settings)
    return settings


def check_flags(settings: Any, prefix: str = "") -> None:
    """Check values from flags as `convert` checks values from files. Raises ConfigError."""
    try:
        _validated(type(settings), msgspec.to_builtins(settings, enc_hook=str))
    except _InvalidValue as error:
        raise ConfigError(f"--{prefix.replace('_', '-')}{error.args[0].replace('_', '-')}{error.args[1]}") from error


def load_node(file: Path | None) -> NodeSettings:
    """The sections that every role reads: [run], [bus] and [node]. Raises ConfigError."""
    content = read(file)
    run = convert(RunSettings, content.get("run", {}), _where(file, "run"))
    bus = convert(BusSettings, content.get("bus", {}), _where(file, "bus"))
    node = convert(LifeSettings, content.get("node", {}), _where(file, "node"))
    return NodeSettings(run=run.name, bus=bus, **dataclasses.asdict(node))


@dataclass
class BrokerOptions:
    """Options of a command that is about a running broker."""

    config: Path | None = None
    """The mesh's configuration file, or the directory of its run, such as `runs/demo`: its run and its broker."""

    url: str = ""
    """Address of the broker; empty takes the file's, or the local one."""

    wait: Timeout = 3.0
    """Seconds to wait for the broker."""

    def mesh(self) -> NodeSettings:
        """The file's run, and the broker. A file that names no address may be that of the broker's machine. Raises
        ConfigError."""
        node = load_node(self.config)
        port = read(self.config).get("broker", {}).get("port", 0)
        own = f"nats://127.0.0.1:{port}" if port and node.bus.url == BusSettings.url else node.bus.url
        return dataclasses.replace(node, bus=dataclasses.replace(node.bus, url=self.url or own))


@dataclass
class MeshOptions(BrokerOptions):
    """Options of a command that is about a running mesh."""

    run: str = ""
    """Name of the run; empty takes the file's, or `demo`."""

    def mesh(self) -> NodeSettings:
        """The run, and its broker. Raises ConfigError."""
        node = super().mesh()
        return dataclasses.replace(node, run=self.run or node.run)


def load_lean(file: Path | None) -> LeanSettings:
    """Section [lean], for tools that run Lean. Raises ConfigError."""
    return convert(LeanSettings, read(file).get("lean", {}), _where(file, "lean"))


def read(file: Path | None) -> dict[str, Any]:
    """A file's tables by section; an empty dict without a file. The directory of a run stands for what its learner was
    started with, which has the broker's address.

    Raises ConfigError if the file does not exist, is not TOML or has an unknown section.
    """
    if file is None:
        return {}
    content = read_toml(file / "config.toml" if file.is_dir() else file)
    for section, table in content.items():
        if section not in SECTIONS:
            raise ConfigError(f"{file}: [{section}]: unknown section{_meant(section, SECTIONS)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {section}: expected a section [{section}], got a value")
    return content


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises ConfigError if it does not exist or is not TOML."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: is not TOML: {error}") from error


def convert(cls: type[T], table: Mapping[str, Any], where: str) -> T:
    """A table as a dataclass. Raises ConfigError for an unknown key, a wrong type or an invalid value; its message
    begins with `where`."""
    _check_keys(cls, table, where)
    try:
        return _validated(cls, table)
    except _InvalidValue as error:
        raise ConfigError(f"{where} {error.args[0]}{error.args[1]}") from error


class _InvalidValue(ValueError):
    """Arguments: the key and the problem. The key is empty if the problem concerns the whole table."""


def _validated(cls: type[T], table: Mapping[str, Any]) -> T:
    """A table as a dataclass. Checks types, limits (`common.limits`), and the `check` methods of its parts."""
    try:
        settings = msgspec.convert(table, cls, strict=True, dec_hook=_decode)
    except msgspec.ValidationError as error:
        key, text = _in_words(str(error))
        limits = _limits(cls, key, table)
        raise _InvalidValue(key, limits or (f": {text}" if key else text)) from error
    _check_parts(settings)
    return settings


def _limits(cls: Any, key: str, table: Any) -> str:
    """` = VALUE: must be RANGE` for the dotted key of a number outside its limits, else an empty string."""
    kind: Any = cls
    for name in key.split("."):
        if not dataclasses.is_dataclass(kind) or not isinstance(table, Mapping) or name not in table:
            return ""
        kind, table = typing.get_type_hints(kind, include_extras=True)[name], table[name]
    alternatives = (kind, *typing.get_args(kind))
    limits = [each for part in alternatives for each in getattr(part, "__metadata__", ()) if isinstance(each, Meta)]
    if not limits or isinstance(table, bool) or not isinstance(table, (int, float)):
        return ""
    return f" = {table}: must be {_range(limits[0])}" + (", or be left out" if type(None) in alternatives else "")


def _range(limits: Meta) -> str:
    least = f"more than {limits.gt:g}" if limits.gt is not None else f"at least {limits.ge:g}"
    return f"{least} and at most {limits.le:g}" if limits.le is not None else least


def _check_parts(settings: Any, outer: str = "") -> None:
    """Call the `check` method of every part that has one. It checks conditions on several fields together."""
    for field in dataclasses.fields(settings):
        part = getattr(settings, field.name)
        if dataclasses.is_dataclass(part):
            _check_parts(part, f"{outer}{field.name}.")
    if (check := getattr(settings, "check", None)) is not None:
        try:
            check()
        except ValueError as error:
            raise _InvalidValue(outer.rstrip("."), f": {error}" if outer else str(error)) from error


def _check_keys(cls: type, table: Mapping[str, Any], where: str, outer: str = "") -> None:
    fields = _fields(cls)
    for key, value in table.items():
        if key not in fields:
            if f"{outer}{key}" in TAKEN_OUT:
                _check_taken_out(f"{outer}{key}", value, where)
                continue
            raise ConfigError(f"{where} {outer}{key}: unknown key{_place(key, fields, outer) or _meant(key, fields)}")
        inner = fields[key]
        if dataclasses.is_dataclass(inner) and isinstance(value, dict):
            _check_keys(typing.cast(type, inner), value, where, f"{outer}{key}.")


def _check_taken_out(key: str, value: Any, where: str) -> None:
    """Raises ConfigError where a key of earlier versions asks for what there is no longer."""
    if value not in TAKEN_OUT[key]:
        raise ConfigError(
            f"{where} {key} = {value!r}: there is no such option any more, because no measurement showed a gain "
            "(LOG.md): delete this line"
        )


def _place(key: str, fields: Mapping[str, Any], outer: str) -> str:
    """A hint for a key that was written one level too high, outside its part of the section."""
    for name, part in fields.items():
        if dataclasses.is_dataclass(part) and key in _fields(typing.cast(type, part)):
            return f"; it belongs to `{outer}{name}`: write `{outer}{name}.{key}`"
    return ""


def _fields(cls: type) -> dict[str, Any]:
    """Names and types of a dataclass's fields."""
    return typing.get_type_hints(cls)


def _decode(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(f"a configuration cannot hold {kind}")


def _meant(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; there are {', '.join(f'`{key}`' for key in known)}"


def _in_words(message: str) -> tuple[str, str]:
    """msgspec's "Expected `int`, got `str` - at `$.searches`" as key "searches" and "expected `int`, got `str`"."""
    match = re.fullmatch(r"(.*?) - at `\$\.?(.*)`", message)
    text, key = (match[1], match[2]) if match else (message, "")
    return key, text[:1].lower() + text[1:]


def _where(file: Path | None, section: str) -> str:
    return f"{file or 'configuration'}: [{section}]"


def _life_of(node: NodeSettings) -> LifeSettings:
    return LifeSettings(**{field.name: getattr(node, field.name) for field in dataclasses.fields(LifeSettings)})


def dump(sections: Mapping[str, Any]) -> str:
    """A resolved configuration (section name to dataclass) as TOML that `load` can read. `node` may be NodeSettings.

    Passwords are left out, since they come from the environment. Fields that are None are left out, since TOML has no
    null.
    """
    import tomli_w

    tables: dict[str, Any] = {}
    for name, settings in sections.items():
        if isinstance(settings, NodeSettings):
            tables |= {"run": {"name": settings.run}, "bus": table_of(settings.bus), name: table_of(_life_of(settings))}
        else:
            tables[name] = table_of(settings)
            if isinstance(getattr(settings, "lean", None), LeanSettings):
                tables["lean"] = tables[name].pop("lean")
    order = sorted(tables, key=lambda name: SECTIONS.index(name) if name in SECTIONS else len(SECTIONS))
    return tomli_w.dumps({name: tables[name] for name in order})


def table_of(settings: Any) -> dict[str, Any]:
    """A dataclass of settings as a TOML table: without passwords, and without fields that are None."""
    table: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=str)
    return without_secrets(table)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merged key by key; values of `over` win."""
    result = dict(base)
    for key, value in over.items():
        inner = result.get(key)
        result[key] = merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return result


def without_secrets(table: dict[str, Any]) -> dict[str, Any]:
    """A table without passwords, also those of URLs, keys and None values, at every depth."""
    return {
        key: without_secrets(value)
        if isinstance(value, dict)
        else without_credentials(value)
        if isinstance(value, str)
        else value
        for key, value in table.items()
        if value is not None and key not in ("password", "api_key", "invite", "token")
    }
