"""The entry point `proofmesh COMMAND`: finds the command, imports its module and runs it. `--help` imports no heavy
packages."""

from __future__ import annotations

import importlib.util
import io
import sys
import traceback
from collections.abc import Sequence

from common.machine import share_cores
from common.output.command import Exit, UserError, refuse, until_reader_leaves
from common.output.visible import say, say_data, visible
from node.mesh.roles import ROLES, Command, Role, resolve


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    if argv is None:
        _never_choke()
        share_cores()
    return until_reader_leaves(lambda: _dispatch(list(sys.argv[1:] if argv is None else argv)))


def _dispatch(arguments: list[str]) -> int:
    """Run the command that the arguments name; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return Exit.DONE if arguments else Exit.UNUSABLE
    if arguments[0] == "--version":
        print(version())
        return Exit.DONE
    name, command_arguments = arguments[0], arguments[1:]
    command = COMMANDS.get(name) or COMMANDS.get(name.replace("_", "-"))
    if command is None:
        return refuse("proofmesh", f"no command `{name}`{_meant(name)}")
    # The parser of options shows what it does not know as it is, and `*.lean` gives it names of files.
    for each in command_arguments:
        option = each.partition("=")[0]
        if each.startswith("-") and visible(option) != option:
            return refuse(
                "proofmesh", f"{name}: no option {visible(option)}; a file of this name is ./{visible(option)}"
            )
    try:
        return _run(command, command_arguments)
    except UserError as error:
        return refuse("proofmesh", f"{name}: {error}", error.exit_code)
    except KeyboardInterrupt:
        return refuse(f"proofmesh {name}", "interrupted", Exit.INTERRUPTED)


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
    """Name and version of the package."""
    from common.machine import own_version

    return f"proofmesh {own_version()}"


def _run(command: Command, arguments: list[str]) -> int:
    # 1. Without packages, only `doctor` runs: it says what is missing.
    if importlib.util.find_spec("tyro") is None:
        if command is not TOOLS["doctor"]:
            advice = "run `./start setup`; the command `doctor` says what is missing"
            return refuse("proofmesh", f"its packages are not installed for this Python: {advice}")
        return int(resolve(command.entry)(arguments))
    from common.output import plain_help

    # 2. Before any command parses its flags.
    plain_help.install()
    if isinstance(command, Role) and not (arguments and arguments[0] in command.words):
        return _run_role(command, arguments)
    # 3. Only now the command's module is imported.
    entry = resolve(command.words_entry if isinstance(command, Role) else command.entry)
    from common.config import ConfigError

    try:
        return int(entry(arguments) or 0)
    except ConfigError as error:
        return refuse("proofmesh", error)


def _run_role(role: Role, arguments: list[str]) -> int:
    from common import config
    from common.protocol.subjects import BadRunName, check_run_name

    settings = resolve(role.settings)
    try:
        resolved = config.resolve(settings, role.section, arguments)  # type: ignore[arg-type]
        check_run_name(resolved.node.run)
    except (config.ConfigError, BadRunName) as error:
        return refuse("proofmesh", error)
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


def _meant(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(COMMANDS), n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; there are {', '.join(COMMANDS)}"


# ----------------------------------------------------------------------------------------------------------------------
# The table of commands: name, one-line help, and the module of the code, which is imported only when it runs.

TOOLS: dict[str, Command] = {
    "up": Command("start all roles as child processes, from one file", "node.command.up:main"),
    "prove": Command(
        "prove a statement, a theorem or `sorry` of a file, or many statements", "node.command.proofs.prove:main"
    ),
    "suggest": Command("show a policy's tactics for proof states, and their value", "node.command.suggest:main"),
    "eval": Command(
        "evaluate policies and methods on benchmarks; compare and show results", "node.command.evaluate.command:main"
    ),
    "fill": Command("replace `sorry`s in .lean files by proofs, printed or written", "node.command.proofs.fill:main"),
    "inspect": Command(
        "show a search of `prove --explain`, or a run's theorems, attempts, proofs, tactics",
        "node.command.proofs.inspect:main",
    ),
    "attempt": Command(
        "show one attempt of a run, and where its time went, from dispatch to record",
        "node.command.proofs.attempt:main",
    ),
    "logs": Command(
        "show what the nodes of a run have logged, by time, attempt, node or level", "node.command.watch.logs:main"
    ),
    "verify": Command(
        "check the proofs in .lean files and folders with Lean's kernel", "node.command.proofs.verify:main"
    ),
    "recheck": Command(
        "verify every recorded proof of a run anew, with a second kernel", "node.command.proofs.recheck:main"
    ),
    "serve": Command("run a verification service with Kimina Lean Server's HTTP API", "node.serve.service:main"),
    "top": Command("watch a mesh in the terminal: what is slow and why", "node.command.watch.top:main"),
    "report": Command("write one HTML page about a run", "node.command.watch.report:main"),
    "status": Command("show the nodes of a mesh, and the protections of Lean processes", "node.command.status:main"),
    "targets": Command(
        "list the addresses of a mesh's metrics, for Prometheus' service discovery", "node.command.watch.targets:main"
    ),
    "diagnose": Command(
        "ask running nodes what they do: log level, stacks, profile, memory", "node.command.watch.diagnose:main"
    ),
    "doctor": Command("say what works here, what is slow, what is broken, and what to do", "node.command.doctor:main"),
    "runs": Command("list the runs on a broker, and remove those that are over", "node.command.runs:main"),
    "trace": Command("extract every tactic of Lean files, with states before and after", "node.command.trace:main"),
    "premises": Command(
        "premise retrieval by proof state: index a library, search, eval", "node.retrieval.command:main"
    ),
    "bank": Command("theorem banks: import data sets, list, stats, check", "node.bank.command:main"),
    "models": Command(
        "prover models: families and exact prompts, try one, convert ours to Hugging Face format and back",
        "node.llm.command:main",
    ),
    "replay": Command("show a run's replay buffer as the model reads it", "node.learner.replay.command:main"),
    "demo": Command("run a small mesh that learns: warm start, reinforcement learning", "node.command.demo:main"),
    "repl": Command("serve the community REPL's protocol on stdin and stdout", "node.lean.adapters.repl.service:main"),
    "leantree-server": Command(
        "serve LeanTree's HTTP protocol over our Lean workers", "node.lean.adapters.leantree.service:main"
    ),
    "train": Command(
        "train our network (pretrain, midtrain, sft, recipe), or a Hugging Face model (hf-sft, grpo, ...)",
        "node.command.train:main",
    ),
    "agent": Command("learn from Lean repositories in turn, and prove their `sorry`s", "node.command.agent:main"),
    "stp": Command("self-play of a conjecturer and a prover (STP)", "node.command.stp.command:main"),
    "join-trainer": Command(
        "join a learner that trains on several machines, with this machine's ranks", "node.learner.trainer.join:main"
    ),
    "tokenizer": Command("make, measure and show tokenizers", "node.training.tokenizer_cli:main"),
    "bench": Command("benchmark one part: bus, engine, search, ...", "scripts.bench.__main__:main"),
}

COMMANDS: dict[str, Command] = TOOLS | ROLES


if __name__ == "__main__":
    sys.exit(main())
