"""Selects the seeds of conjectures, and the conjectures and proofs of a round for training, with their weights. Pure;
results do not depend on order.

Seeds: STP (arXiv 2502.00212), section 3.2 and algorithm 1, and its code (`Sampler_base.select`). As in STP, proofs of
the data set's statements (not of conjectures) with a success rate above the limit are taken in random order. Each lemma
of a proof gives a seed, and with some probability the empty lemma gives one more. Each pair of statement and lemma is
used once. A lemma that has reached its share is skipped. In STP a lemma's share is relative to all statements of the
data set, although there may be fewer seeds. Here it is relative to the number of seeds.

Training: sections 3.2 and 3.3, algorithm 2, and the code (`get_conjecture_examples`, `filter_by_ratio`,
`format_and_deduplicate_dataset`). Where paper and code differ:
- A conjecture is barely provable with a rate in (0, 1/4] in the paper, in (0, 1/4) in the code. We follow the code.
- The elegance cut applies to all conjectures in the paper, to each lemma's conjectures in the code. We follow the code:
  a lemma with one conjecture loses none.
- The paper drops conjectures whose proof does not invoke their lemma. The code trains on them as if they were requested
  with the empty lemma, up to 20 for each conjecture that invokes its lemma, and up to 4,096. We drop them.
- Conjectures from seeds with the empty lemma have nothing to invoke. Paper, code and we use them.
Unlike both, we measure the length of a conjecture without its name, which is irrelevant.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from common.lean import Theorem
from common.seeds import derive_seed
from node.model.prompt import unnamed
from node.stp.data.lemmas import LemmaGone, Library, header_of
from node.stp.records import EMPTY_LEMMA, Attempted, Conjecture, ConjecturerExample, Lemma, Proof, ProverExample, Seed
from node.stp.settings import ConjecturerSettings, FinalSettings, ProverSettings

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
        for lemma in [*_lemmas_of(theorem, proof, library), *([EMPTY_LEMMA] if with_empty else [])]:
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


def _lemmas_of(theorem: Theorem, proof: Proof, library: Library) -> list[Lemma]:
    lemmas = []
    for name in proof.lemmas or library.invoked_in(theorem, proof.script):
        try:
            lemmas.append(library.lemma(name, header_of(theorem)))
        except LemmaGone:
            continue
    return lemmas


Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Maps statements (`example BINDERS : CONCLUSION`) to a matrix with one row per statement."""

Tried = tuple[Theorem, Attempted, bool]
"""A statement or conjecture, the results of its samples, and whether it is a conjecture."""


def conjecturer_examples(
    conjectures: Sequence[tuple[Conjecture, Attempted]],
    unproved: Sequence[Theorem],
    embed: Embed | None,
    settings: ConjecturerSettings,
) -> list[ConjecturerExample]:
    """The conjectures of a round to train on, sorted by name. The weights have mean 1 before weights of 0 are removed.

    Selected conjectures are barely provable, have a proof that invokes their lemma, are not among the least elegant,
    and are matched to an unproved statement. Without `embed`, without unproved statements or with `reweight` off, all
    weights are 1. Raises the errors of `embed`, and ValueError for invalid embeddings.
    """
    useful = [each for each in conjectures if _is_useful(*each, settings)]
    selected = sorted(elegant(useful, settings.elegance_cut), key=lambda each: each[0].name)
    weights = _weights([conjecture for conjecture, _ in selected], unproved, embed if settings.reweight else None)
    return [
        ConjecturerExample(conjecture.seed, conjecture.theorem.signature, weight, conjecture.name)
        for (conjecture, _), weight in zip(selected, weights, strict=True)
        if weight > 0 and conjecture.theorem is not None
    ]


def _is_useful(conjecture: Conjecture, attempted: Attempted, settings: ConjecturerSettings) -> bool:
    if conjecture.theorem is None or not attempted.proofs or not 0 < attempted.rate < settings.barely:
        return False
    return not settings.needs_lemma or invokes_its_lemma(conjecture, attempted.proofs)


def invokes_its_lemma(conjecture: Conjecture, proofs: Sequence[Proof]) -> bool:
    """Whether a proof invokes the lemma of the conjecture's seed. Every proof invokes the empty lemma."""
    lemma = conjecture.seed.lemma.name
    return lemma == EMPTY_LEMMA.name or any(lemma in proof.lemmas for proof in proofs)


def elegance(theorem: Theorem, proofs: Sequence[Proof]) -> float:
    """Length of the shortest proof divided by length of the statement, in characters (algorithm 2, line 5)."""
    return min(proof.length for proof in proofs) / len(unnamed(theorem.signature))


def elegant(conjectures: Sequence[tuple[Conjecture, Attempted]], cut: float) -> list[tuple[Conjecture, Attempted]]:
    """Remove the share `cut` of each lemma's conjectures with the lowest elegance. Conjectures at the limit stay."""
    groups: dict[str, list[tuple[float, tuple[Conjecture, Attempted]]]] = defaultdict(list)
    for each in conjectures:
        conjecture, attempted = each
        assert conjecture.theorem is not None
        groups[conjecture.seed.lemma.name].append((elegance(conjecture.theorem, attempted.proofs), each))
    remaining = []
    for group in groups.values():
        ratios = sorted(ratio for ratio, _ in group)
        lowest = ratios[min(int(len(ratios) * cut), len(ratios) - 1)]
        remaining += [each for ratio, each in group if ratio >= lowest]
    return remaining


def _weights(conjectures: Sequence[Conjecture], unproved: Sequence[Theorem], embed: Embed | None) -> list[float]:
    if embed is None or not conjectures or not unproved:
        return [1.0] * len(conjectures)
    targets = sorted(unproved, key=lambda theorem: theorem.name)
    # Earlier targets get their nearest conjecture before it reaches its cap, so shuffle them with a fixed seed.
    random.Random(derive_seed("targets")).shuffle(targets)
    texts = [unnamed(each.theorem.signature) for each in conjectures if each.theorem is not None]
    rows = np.asarray(embed([*texts, *(unnamed(theorem.signature) for theorem in targets)]), dtype=np.float32)
    return [float(weight) for weight in match(rows[: len(texts)], rows[len(texts) :])]


def prover_examples(attempted: Sequence[Tried], settings: ProverSettings) -> list[ProverExample]:
    """The proofs of a round to train on, sorted by name and text. Theorems with a rate above the limit are left out.
    A proof weighs exp(-per_character n - per_second t), divided by the number of distinct proofs of its theorem."""
    examples = []
    for theorem, each, conjectured in attempted:
        proofs = different(each.proofs)
        if proofs and each.rate <= settings.rate_limit:
            examples += [
                ProverExample(theorem, proof.script, proof_weight(proof, settings) / len(proofs), conjectured)
                for proof in proofs
            ]
    return _in_order(examples)


def proof_weight(proof: Proof, settings: ProverSettings) -> float:
    """The weight of a proof, at most 1. Short proofs and proofs that Lean checks fast weigh more (STP, section 4.1)."""
    return math.exp(-settings.per_character * proof.length - settings.per_second * proof.seconds)


def final_examples(attempted: Sequence[Tried], settings: FinalSettings, seed: int) -> list[ProverExample]:
    """The proofs for the final training, sorted by name and text, with weight 1: at most `settings.proofs` distinct
    proofs per theorem, drawn by the seed. Conjectures with a rate above the limit are left out.

    `attempted` has one entry per theorem, with the results of all rounds added up. The paper also leaves out statements
    with a higher rate. Here they stay, because too few of a small data set would remain.
    """
    examples = []
    for theorem, each, conjectured in attempted:
        proofs = different(each.proofs)
        if proofs and not (conjectured and each.rate > settings.rate_limit):
            rng = random.Random(derive_seed("final", seed, theorem.name))
            chosen = rng.sample(proofs, min(settings.proofs, len(proofs)))
            examples += [ProverExample(theorem, proof.script, 1.0, conjectured) for proof in chosen]
    return _in_order(examples)


def different(proofs: Sequence[Proof]) -> list[Proof]:
    """Remove duplicate proofs, sorted by text; of equal ones the one that Lean checked fastest stays."""
    quickest: dict[str, Proof] = {}
    for proof in sorted(proofs, key=lambda each: (each.script, each.seconds)):
        quickest.setdefault(proof.script, proof)
    return list(quickest.values())


def _in_order(examples: list[ProverExample]) -> list[ProverExample]:
    return sorted(examples, key=lambda each: (each.theorem.name, each.proof))


# --- weights conjectures by the number of unproved statements that they are nearest to. Pure --------------------------
# Source: STP (arXiv 2502.00212), appendix A.5, algorithm 4. STP's code caps weights at 4 and the paper at 3; we use
# the code's cap. STP's code excludes a conjecture at the cap by multiplying its similarities by 0, which still
# exceeds negative similarities. Here they become minus infinity.

MOST = 4.0
"""A conjecture with this weight gets no further statements: a few very heavy examples would make training unstable."""

BLOCK = 512
"""Statements whose similarities are in memory at a time."""

DECIMALS = 5
"""Decimals to which similarities are rounded, so that results do not depend on the number of threads."""

Array = npt.NDArray[np.float32]


def match(conjectures: Array, statements: Array) -> npt.NDArray[np.float64]:
    """The weight of each conjecture: (n, width) and (m, width) to (n,), at least 0, with mean 1.

    For each statement in turn, the conjecture with the highest cosine similarity gains n / m. The first wins a tie.
    Without statements all weights are 1. Raises ValueError for embeddings that are not two matrices of equal width, or
    not finite.
    """
    if conjectures.ndim != 2 or statements.ndim != 2 or conjectures.shape[1] != statements.shape[1]:
        raise ValueError(f"embeddings of shapes {conjectures.shape} and {statements.shape} cannot be compared")
    if not (np.isfinite(conjectures).all() and np.isfinite(statements).all()):
        raise ValueError("an embedding is not finite, so its network is broken; use an earlier checkpoint")
    count, targets = len(conjectures), len(statements)
    if not count or not targets:
        return np.ones(count)
    left, right = _unit(conjectures), _unit(statements)
    weights = np.zeros(count)
    barred = np.zeros(count, dtype=np.float32)
    for start in range(0, targets, BLOCK):
        for similarities in np.round(right[start : start + BLOCK] @ left.T, DECIMALS):
            chosen = int(np.argmax(similarities + barred))
            weights[chosen] += count / targets
            if weights[chosen] >= MOST:
                barred[chosen] = -np.inf
    return weights


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
