"""Makes the conjectures of a round: draws seeds, samples the conjecturer, keeps new statements, elaborates them."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from common.lean import Theorem
from common.seeds import derive_seed
from node.stp.conjecturing import Output
from node.stp.lemmas import LemmaGone, Library
from node.stp.parsing import key, sift
from node.stp.records import EMPTY_LEMMA, Fate, Lemma, Proof, Seed
from node.stp.settings import ConjecturerSettings
from node.stp.store import Part, Stage
from node.stp.work import Work

BLOCK = 128
"""Seeds whose outputs are sampled concurrently and recorded together."""

PATIENCE = 600.0
"""Seconds to wait for the outputs of a seed, not counting time without a broker."""

NO_OUTPUT = Output("", complete=False, tokens=0)


def most_conjectures(work: Work) -> int:
    """Maximum new conjectures of a round: a share of the number of unproved statements (STP, section 3.2)."""
    settings = work.settings.conjecturer
    return settings.most or math.ceil(settings.share * len(work.store.unproved()))


def draw_seeds(work: Work, round: int) -> None:
    """Draw and record the seeds of a round from the solved statements. Statements of the initial data count with a
    success rate of 1."""
    most = most_conjectures(work)
    if most:
        solved = [(each.theorem, proof, each.rate) for each in work.store.solved() for proof in each.proofs]
        solved += [(theorem, proof, 1.0) for theorem, proof in work.data.given]
        rng = random.Random(derive_seed(work.settings.seed, "seeds", round))
        seeds = choose_seeds(solved, work.data.library, work.settings.conjecturer, rng, OUTPUTS * most)
        work.store.add_seeds(round, seeds)
    work.reach(round, Stage.SEEDED)


async def make_conjectures(work: Work, round: int, weights: int) -> None:
    """Sample the conjecturer for each seed, and record the conjectures with their fates. Raises BusError,
    ConjecturingError."""
    store = work.store
    seeds = store.seeds_of(round)
    most = most_conjectures(work)
    each = outputs_per_seed(len(seeds), most)
    written: list[tuple[Seed, Output]] = []
    with work.timed(round, Part.GENERATION, len(seeds)) as meter:
        for start in range(0, len(seeds), BLOCK):
            block = seeds[start : start + BLOCK]
            outputs = await _outputs(work, block, round, start, each, weights)
            written += [(seed, output) for seed, of_seed in zip(block, outputs, strict=True) for output in of_seed]
            meter.at(start + len(block))
    known_keys = store.known(key, before=round) | work.data.keys
    store.add_conjectures(sift(written, known_keys, most, round_=round, rng_seed=work.settings.seed))
    work.reach(round, Stage.CONJECTURED)
    for start in range(0, len(seeds), BLOCK):  # only now: after a kill before this, the notes save the requests
        store.note(_block_name(round, start), None)


async def _outputs(
    work: Work, seeds: Sequence[Seed], round: int, start: int, count: int, weights: int
) -> list[list[Output]]:
    """`count` outputs for each seed of a block; from the store if the block was sampled before."""
    name = _block_name(round, start)
    recorded = work.store.noted(name)
    if recorded is not None:
        return [[Output(**output) for output in outputs] for outputs in recorded]
    replies = await asyncio.gather(
        *(
            work.network.conjecture(
                work.proving.place,
                seed,
                samples=count,
                rng_seed=derive_seed(work.settings.seed, "conjecture", round, start + number),
                weights=weights,
                temperature=work.settings.conjecturer.temperature,
                patience=PATIENCE,
            )
            for number, seed in enumerate(seeds)
        )
    )
    # A seed that is longer than the network's context has no outputs.
    outputs = [list(each) or [NO_OUTPUT] for each in replies]
    work.store.note(name, [[asdict(output) for output in each] for each in outputs])
    return outputs


def _block_name(round: int, start: int) -> str:
    return f"outputs of round {round} from seed {start}"


async def elaborate(work: Work, round: int) -> None:
    """Elaborate each new conjecture with Lean. Raises BusError."""
    store = work.store
    new = store.conjectures(round, Fate.NEW)
    theorems = [each.theorem for each in new if each.theorem is not None]
    with work.timed(round, Part.ELABORATION, len(theorems)) as meter:
        finished = 0
        async for theorem, error in work.proving.elaborate(theorems):
            fate = Fate.NOT_ELABORATED if error else Fate.ELABORATED
            store.set_fates([(theorem.name, fate, error)])
            finished += 1
            meter.at(finished)
    work.reach(round, Stage.ELABORATED)


def made_in_words(work: Work, round: int) -> str:
    """The fates of a round's outputs in one line."""
    fates = [each.fate for each in work.store.conjectures(round)]
    counts = [f"{fates.count(fate)} {fate}" for fate in Fate if fate in fates]
    return f"{len(fates)} outputs of the conjecturer: {', '.join(counts)}" if fates else "no conjectures"


# ----------------------------------------------------------------------------------------------------------------------
# Chooses the seeds of conjectures: a proved statement, its proof, and a lemma that the proof invokes. Pure.
#
# Source: STP (arXiv 2502.00212), section 3.2 and algorithm 1, and its code (`Sampler_base.select`). As in STP,
# proofs of the data set's statements (not of conjectures) with a success rate above the limit are taken in random
# order. Each lemma of a proof gives a seed, and with some probability the empty lemma gives one more. Each pair of
# statement and lemma is used once. A lemma that has reached its share is skipped. There are at most `count` seeds.
# In STP a lemma's share is relative to all statements of the data set, although there may be fewer seeds. Here it is
# relative to `count`.

MOST_EACH = 8
"""Maximum conjectures sampled for one seed."""
OUTPUTS = 3
"""Conjectures sampled per conjecture needed, because many are refused or known."""

Solved = tuple[Theorem, Proof, float]
"""A statement of the data set, a proof of it, and the statement's best success rate in a round."""


def choose_seeds(
    solved: Sequence[Solved], library: Library, settings: ConjecturerSettings, rng: random.Random, count: int
) -> list[Seed]:
    """At most `count` seeds. Equal inputs in another order, with an equal `rng`, give equal seeds.

    Lemmas that the library does not have are skipped, as in STP.
    """
    usable = [each for each in solved if each[2] > settings.seed_rate]
    usable.sort(key=lambda each: (each[0].name, each[1].script))
    rng.shuffle(usable)
    most = max(1, int(settings.lemma_share * count))
    uses: Counter[str] = Counter()
    taken: set[tuple[str, str]] = set()
    seeds: list[Seed] = []
    for theorem, proof, _ in usable:
        with_empty = rng.random() < settings.empty_lemma
        for lemma in [*_lemmas(theorem, proof, library), *([EMPTY_LEMMA] if with_empty else [])]:
            pair = (theorem.name, lemma.name)
            if pair not in taken and uses[lemma.name] < most:
                taken.add(pair)
                uses[lemma.name] += 1
                seeds.append(Seed(theorem, proof.script, lemma))
    return seeds[: max(0, count)]


def outputs_per_seed(seeds: int, count: int) -> int:
    """Number of conjectures to sample per seed if `count` are needed: 1 to 8, about 3 samples per needed conjecture
    (`conjecture_multiplier` in STP's code)."""
    return max(1, min(OUTPUTS * count // seeds, MOST_EACH)) if seeds else 0


def _lemmas(theorem: Theorem, proof: Proof, library: Library) -> list[Lemma]:
    lemmas = []
    for name in proof.lemmas or library.invoked_in(theorem, proof.script):
        try:
            lemmas.append(library.lemma(name, header_of(theorem)))
        except LemmaGone:
            continue
    return lemmas


def header_of(theorem: Theorem) -> str:
    """The text above a statement."""
    return theorem.place.context.text if theorem.place is not None else theorem.header
