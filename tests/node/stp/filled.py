"""A run of self-play that is made up: initial training and two rounds, in a real stp.sqlite."""

import itertools
from pathlib import Path

from common.lean import Theorem
from node.stp.readers import RunReader
from node.stp.records import (
    EMPTY_LEMMA,
    FILE,
    AttemptRow,
    Conjecture,
    ConjecturerExample,
    Fate,
    Found,
    Lemma,
    Part,
    Proof,
    ProverExample,
    RoundKind,
    Seed,
    Stage,
    Statement,
)
from node.stp.store import StpStore

ADD_COMM = Lemma("Nat.add_comm", "theorem Nat.add_comm (n m : Nat) : n + m = m + n")

SUMS = ("a + b = b + a", "a + 0 = a", "a + (b + c) = c + (b + a)", "a * b = b * a", "a ≤ a + b")
CONCLUSIONS = (*SUMS, "(a + b) + c = (c + b) + a", "a * (b + c) = c * a + b * a", "a < b → a + c < c + b")
TRAIN = tuple(Theorem(f"train_{number}", "(a b c : Nat)", conclusion) for number, conclusion in enumerate(CONCLUSIONS))
TEST = (Theorem("test_0", "(a b : Nat)", "a + b + 0 = b + a"), Theorem("test_1", "(a : Nat)", "a * 1 = 1 * a"))

SEEDS = (Seed(TRAIN[0], "exact Nat.add_comm a b", ADD_COMM), Seed(TRAIN[0], "exact Nat.add_comm a b", EMPTY_LEMMA))

OUTPUTS: tuple[tuple[str, Fate, str], ...] = (
    ("a + b + c = c + (b + a)", Fate.PROVED, ""),
    ("a + b * c = c * b + a", Fate.PROVED, ""),
    ("b + a = a + b", Fate.KNOWN, "it is train_0"),
    ("a + b = b + a + 1", Fate.ELABORATED, ""),
    ("a + b = d + a", Fate.NOT_ELABORATED, "unknown identifier 'd'"),
    ("a + a + a + a + a + a + a + a +", Fate.CUT, "it does not end within 64 tokens"),
    ("sorry", Fate.REFUSED, "`sorry` is forbidden"),
    ("a + 2 = 2 + a", Fate.SURPLUS, "there are already 5 conjectures"),
)
"""Conclusion, fate and reason of a round's conjectures."""

SOLVED = {1: (0, 1, 4), 2: (2, 3)}
"""Statements of `train` that a round solves first."""

SAMPLES = {1: 64, 2: 32}


def fill(store: StpStore, rounds: int = 2) -> None:
    """Fill an open store as a run does, from its beginning to the end of a round."""
    store.add_statements([Statement(each) for each in TRAIN] + [Statement(each, "test") for each in TEST])
    store.begin_round(0, 1, 1_000.0, RoundKind.INITIAL)
    given = [ProverExample(TRAIN[0], "omega", 1.0), ProverExample(TRAIN[1], "rfl", 1.0)]
    store.add_proofs(0, [(Proof(each.theorem.name, each.proof), "") for each in given])
    store.add_examples(0, given, [ConjecturerExample(SEEDS[0], TRAIN[5].signature, 1.0)])
    store.reach(0, Stage.TRAINED, 1_050.0, seconds={Part.TRAINING: 48.0}, checkpoint="checkpoints/cycle-1/start")
    store.reach(0, Stage.DONE, 1_055.0, seconds={Part.EVALUATION: 5.0}, weights=1)
    store.add_evaluation(0, "test", {"pass@1": 0.0, "pass@8": 0.5})
    for number in range(1, rounds + 1):
        fill_round(store, number)


def fill_round(store: StpStore, number: int) -> None:
    """One whole round, each stage in transactions of its own."""
    now = 1_000.0 + 100 * number
    store.begin_round(number, 1, now)
    store.add_seeds(number, SEEDS)
    store.reach(number, Stage.SEEDED, now)
    conjectures = [_conjecture(number, place) for place in range(len(OUTPUTS))]
    store.add_conjectures(conjectures)
    store.reach(number, Stage.CONJECTURED, now + 10, seconds={Part.GENERATION: 10.0})
    fates = [(each.name, *OUTPUTS[place][1:]) for place, each in enumerate(conjectures) if each.fate is Fate.NEW]
    elaborated = {Fate.PROVED: Fate.ELABORATED}
    store.set_fates([(name, elaborated.get(fate, fate), reason) for name, fate, reason in fates])
    store.reach(number, Stage.ELABORATED, now + 14, seconds={Part.ELABORATION: 4.0})
    for attempt in [*_at_statements(number), *_at_conjectures(number, conjectures)]:
        store.add_attempts([attempt])
    store.reach(number, Stage.ATTEMPTED, now + 54, seconds={Part.PROVING: 40.0})
    verify(store, number)
    store.set_fates([each for each in fates if each[1] is Fate.PROVED])
    store.reach(number, Stage.VERIFIED, now + 60, seconds={Part.VERIFICATION: 6.0})
    _select(store, number, conjectures)
    store.reach(number, Stage.SELECTED, now + 61, seconds={Part.SELECTION: 1.0})
    store.reach(number, Stage.TRAINED, now + 91, seconds={Part.TRAINING: 30.0}, checkpoint=f"checkpoints/{number}")
    store.add_evaluation(number, "test", {"pass@1": 0.25 * number, "pass@8": 0.5 + 0.25 * (number - 1)})
    store.reach(number, Stage.DONE, now + 99, seconds={Part.EVALUATION: 8.0}, weights=number + 1)


def filled(directory: Path, rounds: int = 2) -> RunReader:
    directory.mkdir(parents=True, exist_ok=True)
    store = RunReader(directory / FILE)
    fill(store, rounds)
    return store


def verify(store: StpStore, number: int) -> None:
    """All proofs of a round: those with `native_decide` are refused."""
    for each in store.unverified(number):
        proof = Proof(each.name, each.script, 0.25, (ADD_COMM.name,) if ADD_COMM.name in each.script else ())
        reason = "it rests on the axiom Lean.ofReduceBool" if "native_decide" in each.script else ""
        store.add_proofs(number, [(proof, reason)])


def _conjecture(number: int, place: int) -> Conjecture:
    conclusion, fate, reason = OUTPUTS[place]
    if number > 1 and fate is not Fate.KNOWN:
        conclusion = conclusion.replace("a +", f"a + {number - 1} +", 1)
    name = f"conjecture_{number}_{place}"
    stated = fate not in (Fate.CUT, Fate.REFUSED)
    sifted = fate in (Fate.CUT, Fate.REFUSED, Fate.KNOWN, Fate.SURPLUS)
    told = (fate, reason) if sifted else (Fate.NEW, "")
    theorem = Theorem(name, "(a b c : Nat)", conclusion) if stated else None
    output = f"example (a b c : Nat) : {conclusion}"
    return Conjecture(name, number, SEEDS[place % 2], output, told[0], theorem, told[1])


def _at_statements(number: int) -> list[AttemptRow]:
    earlier = {place for round, places in SOLVED.items() if round < number for place in places}
    rows = []
    for place, theorem in enumerate(TRAIN):
        if place in earlier:
            continue
        hit = place in SOLVED.get(number, ())
        found = (Found("exact Nat.add_comm a b", 20, 2, 0.1), Found("omega", 12, 5, 0.2)) if hit else ()
        rows.append(_attempt(number, theorem.name, found))
    return rows


def _at_conjectures(number: int, conjectures: list[Conjecture]) -> list[AttemptRow]:
    proofs = (
        (Found("rw [Nat.add_comm b a]\nexact Nat.add_comm _ c", 2, 7, 0.3), Found("native_decide", 1, 9, 0.1)),
        (Found("omega", 24, 0, 0.2),),
    )
    seen = (Fate.PROVED, Fate.ELABORATED)
    tried = [each for each, output in zip(conjectures, OUTPUTS, strict=True) if output[1] in seen]
    found = itertools.zip_longest(tried, proofs, fillvalue=())
    return [_attempt(number, each.name, given) for each, given in found]


def _attempt(number: int, name: str, found: tuple[Found, ...]) -> AttemptRow:
    samples, correct = SAMPLES.get(number, 32), sum(each.count for each in found)
    outcome = "proved" if found else "failed"
    return AttemptRow(f"{number}-{name}", number, name, samples, correct, outcome, "", 3.5, found)


def _select(store: StpStore, number: int, conjectures: list[Conjecture]) -> None:
    """What was chosen of this round, and of the one before again."""
    for source in range(max(1, number - 2), number):
        again = store.prover_examples(source, source), store.conjecturer_examples(source, source)
        store.add_examples(number, *again, source)
    chosen = conjectures[0]
    assert chosen.theorem is not None
    theorems = {each.name: each for each in TRAIN} | {chosen.name: chosen.theorem}
    chosen_of = [each for each in store.attempted(number).values() if each.name in theorems and each.rate <= 0.5]
    prover = [
        ProverExample(theorems[each.name], proof.script, 0.9 / each.correct, each.name == chosen.name)
        for each in chosen_of
        for proof in each.proofs
    ]
    example = ConjecturerExample(chosen.seed, chosen.theorem.signature, 1.25, chosen.name)
    store.add_examples(number, prover, [example])
