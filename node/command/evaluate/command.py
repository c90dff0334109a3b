"""`proofmesh eval`: evaluates a policy and a search method on a benchmark: solve rate and cost.

    eval --bench pocket:test --policy own:runs/demo      a bank's split
    eval --bench minif2f:test --lean.project DIR         a known data set (`proofmesh bank list`)
    eval --bench FILE[,FILE]                             .jsonl rows {"name", "statement"}, .txt, .lean with `sorry`s
    eval compare A B ...                                 evaluations of the same statements, in pairs
    eval show [FOLDER ...]                               results as a table

Every proof is verified by Lean's kernel. Each finished attempt is saved in a folder; after a kill or Ctrl-C the same
command resumes. Statements that this Lean refuses, and attempts that failed because of infrastructure, are counted
separately, not as unsolved.

Exit code: 0 the evaluation is finished (with any number of solved statements), 2 bad input, 3 infrastructure failed,
130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from common.config import check_flags, config_file, load_lean
from common.lean_settings import LeanSettings
from common.limits import Duration, Natural, Positive
from common.output.visible import say
from common.protocol.attempts import Method
from common.sampling import SAMPLES, Sampling
from node.llm.settings import ModelSettings
from node.progress.guidance import Guidance

DONE, UNUSABLE, FAILED, INTERRUPTED = 0, 2, 3, 130

EVALUATIONS = Path("evals")
"""Default parent folder of evaluations."""


@dataclass
class EvalSettings:
    """Evaluate a policy on a benchmark."""

    bench: str
    """The statements to prove: `pocket:test`, `bank:FOLDER`, a known data set such as `minif2f:test` (`proofmesh bank
    list`), or files (.jsonl, .json, .parquet, .txt, .lean), separated by commas."""

    policy: str = ""
    """The policy that proposes tactics: `own:PATH` (a checkpoint, or the newest one of a run's folder),
    `openai:URL#MODEL` (a language model on a server), `hf:ID_OR_FOLDER+ADAPTER` (a language model in this process; the
    adapter is optional), `tactics` (a fixed list) or `tactics:FILE` (one tactic per line). Add `@TEMPLATE` to a
    language model if its name does not determine its prompt. `own:PATH+tactics` mixes policies, `own:PATH*2+tactics`
    with shares; `own:PATH,tactics` lets them take turns.
    Empty: the newest checkpoint of runs/demo, or the list if there is none. For whole proofs: a model that writes them,
    or `proofs:FILE` with rows {"name", "proof"} from any prover. On a running mesh (--url): `inference`, `openai:MODEL`
    or `hf:ID_OR_FOLDER` (a model that the mesh serves), `tactics`, or several; empty: the provers' own policy."""

    checkpoint: str = ""
    """A weights file, a checkpoint or a run's folder: short for `--policy own:PATH`."""

    method: Annotated[Method, tyro.conf.EnumChoicesFromValues] = Method.MCTS
    """How to search. `whole-proof` does not search: it samples whole proofs, and Lean tries each."""

    correct: Natural = 0
    """For `whole-proof`: how many times a refused proof goes back to the model with Lean's errors, to be corrected. A
    correction counts as a sampled proof."""

    then: Literal["", "mcts", "best-first", "random"] = ""
    """For `whole-proof`: the search method that uses the second half of the budget. It starts from the correct
    beginnings of the failed proofs. The policy then also needs a part that proposes tactics: `proofs:FILE+tactics`.
    Empty: no search."""

    simulations: Natural = 512
    """Budget of an attempt: expansions of proof states, or sampled whole proofs; 0: no limit."""

    lean_attempts: Natural = 0
    """Budget of an attempt: tactics, or whole proofs, that Lean tries; 0: no limit."""

    seconds: Duration = 0.0
    """Budget of an attempt: seconds; 0: no limit. The results then depend on the machine and its load."""

    passes: Positive = 1
    """Attempts at each statement, each with its own seed. You can add more later, in the same folder."""

    seed: Natural = 0
    """Seed of the attempts."""

    limit: Natural = 0
    """Evaluate only this number of statements, spread over families and levels, always the same ones; 0: all."""

    samples: Positive = SAMPLES
    """Tactics that a network samples per expansion, or whole proofs per request to a model."""

    sampling: Sampling = field(default_factory=Sampling)
    """Sampling parameters. Language models use those of their authors, unless you set some here."""

    premises: str = ""
    """Folder of a premise index (`proofmesh premises index`). Retrieved premises are added to the prompts of models
    that read premises, and are proposed as tactics with other policies. Empty: none."""

    progress: str = ""
    """A progress model (`proofmesh train progress`), as a folder or a hub id. Its predicted steps give values or rank
    tactics. Empty: none."""

    guidance: Guidance = field(default_factory=Guidance)
    """How predicted steps are used."""

    models: ModelSettings = field(default_factory=ModelSettings)
    """Settings of language models and of the requests to them."""

    out: Path | None = None
    """Folder of the evaluation; default: a folder in `evals`, named after benchmark, policy and method."""

    data: list[Path] = field(default_factory=list)
    """Folders with local copies of known data sets; $PROOFMESH_DATA names one, too. Otherwise the hub's copy is
    used."""

    revision: str = ""
    """Revision of the hub's copy."""

    searches: Natural = 0
    """Concurrent searches; 0: four per core, or the number of the mesh's search slots."""

    workers: Natural = 0
    """Lean workers; 0: sized to the machine. A mesh (--url) has its own."""

    url: str = ""
    """Broker of a running mesh, whose provers then search; empty: search in this process."""

    run: str = "demo"
    """Name of that mesh's run."""

    json: bool = False
    """Print the results as one JSON object in place of tables."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config. A running mesh (--url) has its own."""

    config: Path | None = None
    """A TOML file with a section [lean]; flags win over it."""


class UsageProblem(ValueError):
    """Flags that cannot be combined. The message names them."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code. Raises ConfigError."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["compare"]:
        from node.command.evaluate import compare as eval_compare

        return eval_compare.main(arguments[1:])
    if arguments[:1] == ["show"]:
        from node.command.evaluate import show as eval_show

        return eval_show.main(arguments[1:])
    file = config_file(arguments)
    default = EvalSettings(bench=tyro.MISSING, lean=load_lean(file), config=file)
    settings = tyro.cli(EvalSettings, args=arguments, default=default, prog="proofmesh eval", description=__doc__)
    check_flags(settings)
    return run(settings)


def run(settings: EvalSettings) -> int:
    """Evaluate, print, return the exit code."""
    import asyncio

    from common.bus import BusError
    from node.bank.bank import BankError
    from node.command.evaluate.run import evaluate
    from node.eval.folder import FolderError
    from node.eval.running import EvaluationFailed
    from node.lean.toolchain.lean_toolchain import LeanProblem
    from node.play.attempts import ProvingFailed
    from node.prover.policies.names import BadPolicy

    try:
        check(settings)
        return asyncio.run(evaluate(settings))
    except (UsageProblem, BankError, FolderError, BadPolicy, LeanProblem) as error:
        say(f"proofmesh eval: {error}", file=sys.stderr)
        return UNUSABLE
    except (EvaluationFailed, ProvingFailed, BusError) as error:
        say(f"proofmesh eval: {error}", file=sys.stderr)
        return FAILED
    except asyncio.CancelledError:  # a second Ctrl-C
        print("proofmesh eval: interrupted; the same command resumes", file=sys.stderr)
        return INTERRUPTED


def check(settings: EvalSettings) -> None:
    """Check that the flags can be combined. Raises UsageProblem."""
    if settings.checkpoint and settings.policy:
        raise UsageProblem("--checkpoint and --policy both name a policy: use one of them")
    if settings.url and settings.checkpoint:
        raise UsageProblem(
            "--checkpoint cannot be used with --url, since the mesh has its own network: start a mesh that serves this "
            f"checkpoint with `proofmesh up --policy own:{settings.checkpoint}`"
        )
    if settings.url and settings.sampling != Sampling():
        raise UsageProblem("--sampling cannot be used with --url: set [prover] sampling in the mesh's configuration")
    if settings.url and settings.premises:
        raise UsageProblem("--premises cannot be used with --url: set [prover] premises in the mesh's configuration")
    if settings.url and settings.progress:
        raise UsageProblem("--progress cannot be used with --url: set [prover] progress in the mesh's configuration")
    if (settings.correct or settings.then) and settings.method is not Method.WHOLE_PROOF:
        flag = "--correct" if settings.correct else "--then"
        raise UsageProblem(f"{flag} is for whole proofs only: use it with --method {Method.WHOLE_PROOF}")
    if settings.method is Method.WHOLE_PROOF and settings.passes > 1 and not settings.simulations:
        raise UsageProblem(
            "several --passes of whole proofs need --simulations, the number of proofs per pass: each pass continues "
            "after these proofs"
        )
    if not (settings.simulations or settings.lean_attempts or settings.seconds):
        raise UsageProblem(
            "an attempt without any budget would not end: give --simulations, --lean-attempts or --seconds"
        )


if __name__ == "__main__":
    sys.exit(main())
