"""`proofmesh suggest STATE`: tactics for a proof state, each with its log-probability, and the value of the state.

    suggest STATE                the state as Lean prints it: hypotheses, one a line, then `⊢ CONCLUSION`
    suggest -                    states from standard input, with an empty line between two
    suggest                      asks for states; an empty line ends each. The model is loaded once

The policy is any that `prove --policy` knows; without one, the newest network of runs/demo. Neither Lean nor a search
runs: nothing says whether a tactic works. A value is minus the expected number of tactics that are still needed; lists
of tactics and language models have none.

Exit code: 0 done, 2 bad input, or a policy that cannot be used, 3 a server or a network failed.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import tyro

from common.limits import Natural, Positive
from common.output.command import Exit, UserError, command, refuse
from common.output.visible import as_json, say
from common.output.words import number_of
from common.settings import SUGGESTIONS, Sampling
from node.llm.settings import ModelSettings

if TYPE_CHECKING:
    from common.output.terminal import Console
    from node.play.advisor import Advisor
    from node.prover.policies.policy import Advice

PROG = "proofmesh suggest"


@dataclass
class SuggestSettings:
    """Show a policy's tactics for proof states, and their value."""

    state: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STATE|-")] = ()
    """A proof state, or `-`: states from standard input."""

    policy: str = ""
    """The policy: see `prove --policy`."""

    url: str = ""
    """Broker of a running mesh, whose inference nodes are asked; empty: in this process."""

    run: str = ""
    """The folder of a run, whose newest network is asked: short for `--policy own:RUN`. With --url: the name of the
    mesh's run; empty: demo."""

    samples: Positive = SUGGESTIONS
    """Tactics to sample for a state; equal ones are shown once. A list of tactics gives its best ones."""

    seed: Natural = 0
    """Equal seeds give equal tactics."""

    threads: Positive = 1
    """Threads for the forward passes of a network."""

    json: bool = False
    """Print one JSON object for each state."""

    sampling: Sampling = field(default_factory=Sampling)
    """How tactics are sampled."""

    models: ModelSettings = field(default_factory=ModelSettings)
    """How language models are run and prompted."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    return command(SuggestSettings, argv, _suggest, prog=PROG, description=__doc__, log="error")


async def _suggest(settings: SuggestSettings) -> int:
    from common.output.terminal import Console
    from node.play.advisor import Advisor, BadState

    # 1. What cannot be asked is refused before a network is loaded.
    if len(settings.state) > 1:
        raise UserError(f"{len(settings.state)} states; quote a state that has spaces, or give several by `-`")
    states = iter(settings.state)
    asks = not settings.state
    if asks or settings.state == ("-",):
        states = _blocks(sys.stdin, asks=asks and sys.stdin.isatty())
    elif not settings.state[0].strip():
        raise BadState("the state is empty: give hypotheses, one a line, and a line `⊢ CONCLUSION`")
    # 2. The states in turn. A bad one does not end those that follow it.
    code: int = Exit.DONE
    count, console = 0, Console(highlight=False)
    opened = Advisor(
        settings.policy if settings.url else _policy(settings),
        sampling=settings.sampling,
        models=settings.models,
        threads=settings.threads,
        url=settings.url,
        run=settings.run or "demo",
        note=_note,
    )
    async with opened as advisor:
        while (text := await asyncio.to_thread(next, states, None)) is not None:
            count += 1
            try:
                advice = await advisor.advise(text, settings.samples, settings.seed)
            except BadState as error:
                code = refuse(PROG, error if settings.state and count == 1 else f"state {count}: {error}")
                continue
            _show(text, advice, advisor, settings, console)
    if not count:
        raise BadState("no state on standard input: give hypotheses, one a line, and a line `⊢ CONCLUSION`")
    return code


def _policy(settings: SuggestSettings) -> str:
    """The policy that is asked. Raises UserError."""
    from node.play.policies import of_the_demo

    if settings.run:
        if settings.policy:
            raise UserError("--run and --policy both name a policy: use one of them")
        return f"own:{settings.run}"
    if not settings.policy and of_the_demo(_note) is None:
        raise UserError("there is no network in runs/demo: name a policy (--policy own:PATH) or a run (--run RUN)")
    return settings.policy or "own:runs/demo"


def _blocks(lines: TextIO, *, asks: bool) -> Iterator[str]:
    """The states in a text: blocks of lines, with empty lines between them. `asks`: a person writes them."""
    block: list[str] = []
    if asks:
        _note("a proof state, then an empty line; Ctrl-D ends")
    try:
        for line in lines:
            if line.strip():
                block.append(line)
            elif block:
                yield "".join(block)
                block = []
    except UnicodeDecodeError as error:
        raise UserError(f"standard input is not UTF-8: {error.reason} ({error.object[error.start]:#x})") from error
    if block:
        yield "".join(block)


def _show(text: str, advice: Advice, advisor: Advisor, settings: SuggestSettings, console: Console) -> None:
    """Print the advice."""
    from common.report.table import Column, Table
    from node.play.advisor import likeliest

    pairs = likeliest(advice)
    value = advice.value if advisor.has_values else None
    if settings.json:
        tactics: list[dict[str, Any]] = [
            {"tactic": each.tactic, "log_probability": logp, "prior": each.mass} | _source(each.source)
            for each, logp in pairs
        ]
        print(as_json({"state": text, "policy": advisor.policy, "value": value, "tactics": tactics}), flush=True)
        return
    sources = any(each.source for each, _ in pairs)
    table = Table((Column("tactic", lines=True), "log p", "p", *(["from"] if sources else [])))
    for each, logp in pairs:
        table.add(each.tactic, f"{logp:.2f}", f"{math.exp(logp):.1%}", *([each.source] if sources else []))
    console.print(table if pairs else "no tactic for this state")
    about = f"value {value:.2f}" if value is not None else "no learned value"
    drawn = f" from {advice.drawn} samples" if advice.drawn != len(pairs) else ""
    say(f"{about}; {number_of(len(pairs), 'tactic')}{drawn} of {advisor.policy}", flush=True)


def _source(source: str) -> dict[str, str]:
    return {"source": source} if source else {}


def _note(text: str) -> None:
    say(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
