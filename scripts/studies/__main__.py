"""`python -m scripts.studies FILE.toml [--SETTING VALUE ...]`: plays the cells of a study, then prints its page.

A study is a TOML file, here or elsewhere; its name is enough for those of this folder. Each cell is one `proofmesh`
command that can be killed and goes on when it is started again, so the same holds for the study. What became of a cell
is one file of JSON in the folder `cells` of the study's folder `out`.

    [settings]                                  # each is a flag with this default; lists take several values
    seeds = [0]
    out = "evals/my-study"

    [words]                                     # more values
    evaluate = ["eval", "--out", "{out}/{name}"]

    [[cell]]
    name = "{policy}-{method}-{seed}"           # `--only TEXT` plays the cells whose names contain a text
    for = { seed = "seeds", rows = [...] }      # lists, or settings that are lists; the tables of `rows` are variables
    first = ["seed"]                            # only the first value of these
    needs = { kinds = "{kind}" }                # only if this setting is, or has, the value
    done = "{runs}/{name}/summary.json"         # the cell is finished if this file is there
    recipe = "demo"                             # a recipe, with these changes, becomes the file `{recipe}`
    changes = { "learner.matchmaker" = { explore_chance = 0.0 } }
    begin = ["{runs}/first", "{runs}/{name}"]   # self-play: the second folder begins with the first one's network
    command = ["demo", "--recipe", "{recipe}", "--minutes", "{minutes}"]

In texts `{name}` is a setting or a variable and `{function:text}` one of `FUNCTIONS`. `{index,run}` as a loop's name is
two variables, the number and the value. A text that is only `{name}` keeps the type of the value, and in a command a
list becomes several arguments. `[[page]]` is described in `scripts.studies.pages`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from common import config
from common.files import recipe, write_whole
from common.output.visible import say

HERE = Path(__file__).parent

Values = Mapping[str, Any]
"""Settings and variables of loops."""


class StudyError(ValueError):
    """A study that cannot be played. The message says what is wrong."""


@dataclass(frozen=True)
class Study:
    """A study's file and its settings."""

    file: Path
    content: Mapping[str, Any]
    settings: Values

    def cells(self) -> Iterator[tuple[str, Values, Mapping[str, Any]]]:
        """The name of each cell, its settings and variables, and its table in the file."""
        for table in self.content.get("cell", ()):
            for variables in loops(table, self.settings):
                values = {**self.content.get("words", {}), **self.settings, **variables}
                needs = {key: filled(value, values) for key, value in table.get("needs", {}).items()}
                if all(want in (has if isinstance(has := values[key], list) else [has]) for key, want in needs.items()):
                    name = filled(table["name"], values)
                    yield name, {**values, "name": name}, table


def loops(table: Mapping[str, Any], settings: Values) -> Iterator[Values]:
    """The variables of a cell's loops, for every combination."""
    sides = []
    for name, given in table.get("for", {}).items():
        values = settings[given] if isinstance(given, str) else given
        values = values[:1] if name in table.get("first", ()) else values
        index, comma, variable = name.partition(",")
        if name == "rows":
            sides.append(list(values))
        elif comma:
            sides.append([{index: number, variable: value} for number, value in enumerate(values)])
        else:
            sides.append([{name: value} for value in values])
    for combination in itertools.product(*sides):
        yield {name: value for variables in combination for name, value in variables.items()}


def summary(run: str) -> dict[str, Any]:
    """The summary of a finished run. Raises StudyError."""
    try:
        return dict(json.loads((Path(run) / "summary.json").read_text()))
    except (OSError, ValueError) as error:
        raise StudyError(f"{run}: no finished run ({error})") from error


def networks(run: str) -> tuple[Path, Path]:
    """The checkpoints of a run after its warm start and at its end. Raises StudyError."""
    folder, steps = Path(run), summary(run).get("warm_start", {}).get("steps")
    if steps is None:
        raise StudyError(f"{run}: a run without a warm start")
    warm = folder / "checkpoints" / f"step-{steps:06d}"
    learned = max((folder / "checkpoints").glob("step-*"))
    if not warm.is_dir() or warm == learned:
        raise StudyError(f"{run}: the checkpoints after the warm start and at the end are not both there")
    return warm, learned


WHOLE = "whole:"
"""Before a policy: it writes whole proofs."""

FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "warm": lambda run: str(networks(run)[0]),
    "learned": lambda run: str(networks(run)[1]),
    "steps": lambda run: str(summary(run)["train_steps"]),
    "absolute": lambda path: str(Path(path).absolute()),
    "recipe_file": lambda name: str(recipe(name)),
    "split": lambda words: "textbook" if words.endswith("textbook") else words.replace(" ", ":"),
    "times": lambda numbers: str(math.prod(map(int, numbers.split()))),
    "switch": lambda on: "" if on == "True" else "no-",
    "label": lambda entry: entry.partition("=")[0],
    "file": lambda label: re.sub(r"[^\w+.-]+", "-", label),
    "policy": lambda entry: entry.partition("=")[2].removeprefix(WHOLE),
    "method": lambda entry: "whole-proof" if entry.partition("=")[2].startswith(WHOLE) else "mcts",
}
"""What a text may compute: of a run's folder, its networks and steps; of LABEL=POLICY, its parts."""


def filled(value: Any, values: Values) -> Any:
    """A value of the file with its `{...}` replaced, innermost first."""
    if isinstance(value, dict):
        return {filled(key, values): filled(each, values) for key, each in value.items()}
    if isinstance(value, list):
        found = [filled(each, values) for each in value]
        return [each for part in found for each in (part if isinstance(part, list) else [part])]
    if not isinstance(value, str):
        return value
    if (whole := re.fullmatch(r"\{(\w+)\}", value)) and whole[1] in values:
        return filled(values[whole[1]], values)

    def one(match: re.Match[str]) -> str:
        name, colon, text = match[1].partition(":")
        if colon and name in FUNCTIONS:
            return FUNCTIONS[name](text)
        if name not in values:
            raise StudyError(f"`{value}`: there is no {name}")
        return str(values[name])

    while (next_one := re.sub(r"\{([^{}]*)\}", one, value)) != value:
        value = next_one
    return value


def play(study: Study, name: str, values: Values, table: Mapping[str, Any]) -> int:
    """Play a cell, or go on with it; returns its exit code. Raises StudyError."""
    # 1. A run that is finished is not touched; evaluations look for themselves.
    if "done" in table and Path(filled(table["done"], values)).exists():
        return 0
    out = Path(values["out"])
    # 2. Its recipe.
    out.joinpath("cells").mkdir(parents=True, exist_ok=True)
    if "recipe" in table:
        given = config.read(recipe(filled(table["recipe"], values)))
        file = out / f"{name}.toml"
        write_whole(file, tomli_w.dumps(changed(given, filled(table.get("changes", {}), values))).encode())
        values = {**values, "recipe": str(file)}
    if "begin" in table:
        begin_as(*map(Path, filled(table["begin"], values)))
    # 3. The command, and the row about it.
    command = [str(each) for each in filled(table["command"], values)]
    shown = subprocess.DEVNULL if command[0] == "eval" else None
    began = time.time()
    code = carry_out([sys.executable, "-m", "node.command.cli", *command], shown)
    seconds = round(time.time() - began, 1)
    row = {"cell": name, "command": command, "began": round(began), "seconds": seconds, "exit": code}
    write_whole(out / "cells" / f"{name}.json", json.dumps(row, indent=2).encode() + b"\n")
    return code


def carry_out(command: Sequence[str], shown: int | None) -> int:
    """Run a command; returns its exit code. Ctrl-C in a terminal reaches the command as well, which ends in its own way
    (`subprocess.run` would kill it after a quarter of a second)."""
    process = subprocess.Popen(command, stdout=shown)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def changed(content: dict[str, Any], changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A configuration with some of its keys replaced, by table ("learner.matchmaker"); the given one stays as it is."""
    result: dict[str, Any] = json.loads(json.dumps(content))
    for path, keys in changes.items():
        section = result
        for name in path.split("."):
            section = section.setdefault(name, {})
        section.update(keys)
    return result


def begin_as(source: Path, folder: Path) -> None:
    """Let a run of self-play begin with the first network and the first evaluation of another run. Raises
    StudyError."""
    from node.stp.data.initial import PREPARED
    from node.stp.records import FILE
    from node.stp.rounds import begin_with
    from node.stp.store import StpStore

    if (folder / FILE).exists():
        return
    records = StpStore(source / FILE, read_only=True)
    row, evaluations = records.round(0), records.evaluations().get(0, {})
    records.close()
    if row is None or row.checkpoint is None:
        raise StudyError(f"{source} has no first network yet")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source / PREPARED, folder / PREPARED, dirs_exist_ok=True)
    store = StpStore(folder / FILE)
    begin_with(store, row.checkpoint)
    for name, numbers in evaluations.items():
        store.add_evaluation(0, name, numbers)
    store.close()


def read(argv: Sequence[str]) -> tuple[Study, tuple[str, ...], bool]:
    """The study with the settings of these flags, the texts of `--only`, and whether only the page is asked for. Raises
    StudyError, ConfigError."""
    name = argv[0] if argv else ""
    file = next((each for each in (Path(name), HERE / f"{name}.toml") if each.is_file()), None)
    if file is None:
        studies = ", ".join(sorted(each.stem for each in HERE.glob("*.toml")))
        raise StudyError(f"{name or 'name a study'}: no such file; there are {studies}")
    content = config.read_toml(file)
    parser = argparse.ArgumentParser(
        prog=f"python -m scripts.studies {name}",
        description=content.get("about"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="*", default=(), help="only cells whose names contain one of these texts")
    parser.add_argument("--page", action="store_true", help="play nothing, print the page")
    for setting, default in content.get("settings", {}).items():
        flag = f"--{setting.replace('_', '-')}"
        kind = type(default[0] if isinstance(default, list) and default else default)
        if isinstance(default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default)
        elif isinstance(default, list):
            parser.add_argument(flag, nargs="+", type=kind if default else str, default=default)
        else:
            parser.add_argument(flag, type=kind, default=default, help="default: %(default)s")
    flags = vars(parser.parse_args(argv[1:]))
    only, page = tuple(flags.pop("only")), bool(flags.pop("page"))
    if "out" in flags:  # its name may have other settings in it: what they change must not be taken for finished
        flags["out"] = filled(flags["out"], flags)
    return Study(file, content, flags), only, page


def main(argv: Sequence[str] | None = None) -> int:
    """Play a study; returns the exit code of the first cell that failed."""
    try:
        study, only, only_page = read(sys.argv[1:] if argv is None else argv)
        cells = list(study.cells())
        chosen = [cell for cell in cells if not only or any(text in cell[0] for text in only)]
        unused = [text for text in only if not any(text in name for name, _, _ in cells)]
        if unused or not (chosen or only_page):
            names = ", ".join(name for name, _, _ in cells) or "none with these settings"
            raise StudyError(f"--only {' '.join(unused)}: no cell is called like this; there are {names}")
        for number, (name, values, table) in enumerate([] if only_page else chosen, 1):
            print(f"{number} of {len(chosen)}: {name}", flush=True)
            if code := play(study, name, values, table):
                say(f"{name}: exit code {code}; run the same command again to go on", file=sys.stderr)
                return code
        from scripts.studies.pages import page

        print(page(study.content, study.settings, only))
    except (StudyError, config.ConfigError) as error:
        say(f"studies: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
