"""`proofmesh stp focus RUN STATEMENT`: rounds of self-play around one hard statement."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from common import config
from common.limits import Duration, Natural, Positive
from common.output.command import Exit, refuse
from common.output.visible import say, say_data
from common.protocol.subjects import BadRunName


@dataclass
class FocusOptions:
    """Conjecture variants of a statement, prove them and learn from them, until the statement is proved or the budget
    ends."""

    run: Annotated[Path, "positional"]
    """Folder of a run of self-play. Its network and proofs are the starting point."""
    statement: Annotated[str, "positional"]
    """`theorem NAME BINDERS : CONCLUSION`, or the name of a statement of the run's data."""
    rounds: Positive = 20
    """Most rounds."""
    minutes: Duration = 20.0
    """Minutes after which no further round begins; 0: no limit."""
    conjectures: Positive = 64
    """Conjectures of each round."""
    samples: Positive = 32
    """Proofs sampled for the statement and for each conjecture, in each round."""
    seed: Natural = 0
    """Seed of all sampling."""


def main_focus(argv: Sequence[str]) -> int:
    """The command. Returns the exit code: 0 proved, 1 not proved, 2 bad input."""
    import tyro

    options = tyro.cli(
        FocusOptions,
        args=list(argv),
        prog="proofmesh stp focus",
        description="Rounds of self-play around one hard statement.",
        config=(tyro.conf.PositionalRequiredArgs,),
    )
    from node.bank.statements import Refused, theorem
    from node.command.stp.run import PROG, plan_of, played_plan
    from node.model.checkpoint_folders import CheckpointError
    from node.stp.data.initial import data_of
    from node.stp.records import FILE, StpError
    from node.stp.rounds import Focus, begin, focused_plan
    from node.stp.store import StpStore

    try:
        config.check_flags(options)
        # The focused run is a new run; the source run is only read.
        source = plan_of(options.run)
        records = StpStore(source.directory / FILE, read_only=True)
        try:
            target = records.theorem(options.statement) or theorem(options.statement)
            focus = Focus(options.conjectures, options.samples, options.rounds, options.minutes)
            plan = focused_plan(source, target, focus, options.seed)
            data = begin(plan, records, data_of(source), target)
        finally:
            records.close()
        code = played_plan(plan, data=data, again=f"proofmesh stp focus {options.run} ... --seed {options.seed}")
        if code != Exit.DONE:
            return code
        store = StpStore(plan.directory / FILE, read_only=True)
        try:
            proofs = store.proofs(target.name)
        finally:
            store.close()
    except (config.ConfigError, BadRunName, Refused) as error:
        return refuse(PROG, error)
    except (StpError, CheckpointError) as error:
        return refuse(PROG, error, Exit.FAILED)
    if not proofs:
        say(f"not proved within the budget; records in {plan.directory}", file=sys.stderr)
        return Exit.FAILED
    shortest = min(proofs, key=lambda proof: proof.length)
    body = "\n".join(f"  {line}" for line in shortest.script.splitlines())
    say_data(f"{target.signature} := by\n{body}")
    return Exit.DONE
