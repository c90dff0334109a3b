"""Attempts at whole proofs in a small world: what is counted and tried, every proof, and a search behind them."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from common.bus import Unanswered
from common.lean import Branch, Outcome, OutcomeKind, ProofTree, Step
from common.protocol import attempts
from common.protocol.messages import decode, encode
from node.lean.text.rules import MAX_TACTIC_BYTES
from node.prover import whole_proof
from node.prover.agent import Playing
from node.prover.player import agent_of
from node.prover.policies.policy import NoTactics
from node.prover.policies.proofs import Draft, ProofRequest, ProofsUnavailable, beginning
from node.prover.whole_proof import MOST_LOSSES, Beginnings, WholeProofAgent, both, halved, remaining
from tests.node.prover.toys import ToyLean, ToyPolicy, attempt as any_attempt

GOALS = Outcome(OutcomeKind.GOALS, (Branch("⊢ True"),))


class Listed:
    """Gives proofs in their order, after a random number of turns of the event loop. Corrects `bad N` to `bad N+1`."""

    def __init__(self, *proofs: str, jitter: int = 0, error: Exception | None = None) -> None:
        """`error`: how every request but the first ends."""
        self.proofs, self.error = proofs, error
        self.asked: list[ProofRequest] = []
        self._random = random.Random(jitter)

    async def propose(self, request: ProofRequest) -> list[Draft]:
        self.asked.append(request)
        if self.error is not None and request.first:
            raise self.error
        for _ in range(self._random.randrange(5)):
            await asyncio.sleep(0)
        if request.correct:
            number = int(request.correct[-1].draft.text.split()[-1])
            return [Draft(f"bad {number + 1}", tokens=7)]
        given = self.proofs[request.first : request.first + request.count]
        return [Draft(text, "" if text else "no code", tokens=10) for text in given]


class Lean:
    """Takes `good`, and nothing else, for a proof; `lost` is lost and `hang` not finished."""

    def __init__(self, good: Sequence[str] = ("good",)) -> None:
        self.good = good
        self.ran: list[str] = []

    async def open(self) -> str:
        return "⊢ t"

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        assert path == ()
        self.ran += tactics
        await asyncio.sleep(0)
        return {tactic: self._outcome(tactic) for tactic in tactics}

    def _outcome(self, tactic: str) -> Outcome:
        if tactic in self.good:
            return Outcome(OutcomeKind.PROVED)
        if tactic.startswith(("lost", "hang")):
            return Outcome(OutcomeKind.LOST if tactic.startswith("lost") else OutcomeKind.TIMEOUT)
        return GOALS if tactic.startswith("half") else Outcome(OutcomeKind.ERROR, message=f"unknown tactic {tactic}")


class Verifier:
    """Accepts these scripts, and keeps all that it was asked about."""

    def __init__(self, *accepted: str) -> None:
        self.accepted = accepted
        self.seen: list[str] = []

    async def __call__(self, proof: ProofTree) -> str:
        self.seen.append(proof.tactic)
        return "" if proof.tactic in self.accepted else f"refused: {proof.tactic}"


def attempt(**changes: object) -> attempts.Attempt:
    return any_attempt(**{"simulations": 20, "samples": 4, "method": attempts.Method.WHOLE_PROOF, **changes})  # type: ignore[arg-type]


async def play(
    source: Listed, lean: Lean | None = None, verify: Verifier | None = None, **changes: object
) -> attempts.AttemptResult:
    return await WholeProofAgent(attempt(**changes), source, lean or Lean(), Playing("p", verify=verify)).play()


async def test_the_first_proof_that_lean_takes_is_the_result_and_what_stands_behind_it_is_not_counted() -> None:
    lean = Lean(good=("good", "better"))
    result = await play(Listed("bad 0", "", "half", "bad 0", "bad 1", "good", "better", "bad 2", "bad 3"), lean)
    statistics = result.statistics
    assert (result.outcome, result.proof) == (attempts.AttemptOutcome.PROVED, ProofTree("good", state="⊢ t"))
    assert (statistics.simulations, statistics.solved_at_simulations) == (6, 6)
    assert (statistics.tactics_tried, statistics.solved_at_lean_attempts) == (4, 4)
    assert (statistics.without_proof, statistics.duplicates, statistics.tactics_failed) == (1, 1, 3)
    assert lean.ran == ["bad 0", "half", "bad 1", "good", "better", "bad 2"]
    assert statistics.lean_attempts == len(lean.ran)
    assert statistics.samples >= 8 and statistics.tokens == 10 * statistics.samples
    assert (result.proofs, statistics.correct) == ((), 0), "that is what `every_proof` counts"


PROOFS = ("bad 0", "bad 0", "", "bad 1", "half", "bad 2", "good", "bad 3")


async def test_a_budget_is_used_up_to_the_last_proof_and_not_beyond() -> None:
    whole = (await play(Listed(*PROOFS))).statistics
    assert (whole.solved_at_simulations, whole.solved_at_lean_attempts) == (7, 5)
    for budget in range(1, 10):
        result = await play(Listed(*PROOFS), simulations=budget)
        proved, statistics = result.outcome is attempts.AttemptOutcome.PROVED, result.statistics
        assert proved == (budget >= 7) and statistics.simulations == min(budget, 7)
        assert proved or (statistics.ended, statistics.samples) == (attempts.Ended.SIMULATIONS, budget)
        lean = Lean()
        result = await play(Listed(*PROOFS), lean, simulations=0, lean_attempts=budget)
        proved, statistics = result.outcome is attempts.AttemptOutcome.PROVED, result.statistics
        assert proved == (budget >= 5) and len(lean.ran) == statistics.lean_attempts <= budget
        assert proved or (statistics.ended, len(lean.ran)) == (attempts.Ended.LEAN_ATTEMPTS, budget)


async def test_a_failed_proof_goes_back_with_leans_words_as_often_as_asked() -> None:
    source = Listed("bad 0", "", "bad 10")
    result = await play(source, Lean(good=("bad 12",)), correct=2, samples=3)
    statistics = result.statistics
    assert result.outcome is attempts.AttemptOutcome.PROVED and result.proof == ProofTree("bad 12", state="⊢ t")
    assert (statistics.corrections, statistics.simulations) == (4, 7) and statistics.tokens == 3 * 10 + 4 * 7
    last = source.asked[-1].correct
    failures = [(each.draft.text, each.errors) for each in last]
    assert failures == [(f"bad {number}", f"unknown tactic bad {number}") for number in (10, 11)]
    few = await play(Listed("bad 0", "", "bad 10"), Lean(good=("bad 12",)), correct=2, samples=3, simulations=6)
    assert (few.statistics.ended, few.statistics.simulations) == (attempts.Ended.SIMULATIONS, 6)
    none = Listed("half")
    await play(none, correct=0)
    assert not any(request.correct for request in none.asked)


async def test_a_refused_proof_is_not_the_end_and_what_workers_did_not_finish_is_verified_last() -> None:
    long = "long " + "x" * MAX_TACTIC_BYTES
    lean = Lean(good=("good 1", "good 2"))
    verifier = Verifier("hang 2", "good 2")
    result = await play(Listed("hang 1", "good 1", long, "hang 2", "good 2"), lean, verifier)
    assert verifier.seen == ["good 1", "hang 1", long, "hang 2"]
    assert (result.outcome, result.proof) == (attempts.AttemptOutcome.PROVED, ProofTree("hang 2", state="⊢ t"))
    assert long not in lean.ran
    statistics = result.statistics
    assert (statistics.proofs_rejected, statistics.solved_at_simulations) == (1, 4)
    refused = await play(Listed("good 1"), Lean(good=("good 1",)), Verifier())
    assert refused.outcome is attempts.AttemptOutcome.FAILED
    assert "proofs refused by verification: 1, the last one: refused: good 1" in refused.message
    assert refused.statistics.solved_at_simulations == 0
    alone = await play(Listed("hang 1"))
    assert alone.outcome is attempts.AttemptOutcome.FAILED, "without verification nobody can say that it is a proof"


async def test_lost_proofs_are_tried_again_cost_no_lean_attempts_and_are_no_failure() -> None:
    lean = Lean()
    result = await play(Listed("lost 1", "bad 1", "bad 2"), lean)
    assert lean.ran.count("lost 1") == 1 + MOST_LOSSES and lean.ran.count("bad 1") == 1
    assert (result.outcome, result.statistics.expansions_lost) == (attempts.AttemptOutcome.UNDECIDED, 1)
    assert result.statistics.lean_attempts == 2
    assert (await play(Listed("lost 1", "lost 2"))).outcome is attempts.AttemptOutcome.ERROR


async def test_an_attempt_for_whole_proofs_that_nothing_writes_is_an_error_that_says_so() -> None:
    agent = agent_of(attempt(), NoTactics(), None, Lean(), Playing("p", leaves=1))
    result = await agent.play()
    assert (result.outcome, result.proof) == (attempts.AttemptOutcome.ERROR, None)
    assert "the method whole-proof needs a policy that writes whole proofs" in result.message


@pytest.mark.parametrize("error", [ProofsUnavailable("no server"), Unanswered("no inference")])
async def test_a_source_that_fails_is_an_error(error: Exception) -> None:
    result = await play(Listed(*PROOFS, error=error))
    assert result.outcome is attempts.AttemptOutcome.ERROR and str(error) in result.message
    assert result.statistics.simulations == 4


async def test_when_time_is_up_what_was_sampled_counts_and_nothing_goes_on() -> None:
    class Stuck(Lean):
        async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
            self.ran += tactics
            await asyncio.Event().wait()
            return {}

    result = await play(Listed(*PROOFS), Stuck(), seconds=0.05)
    assert (result.outcome, result.statistics.ended) == (attempts.AttemptOutcome.UNDECIDED, attempts.Ended.SECONDS)
    assert result.statistics.simulations == 4

    class Silent(Listed):
        async def propose(self, request: ProofRequest) -> list[Draft]:
            await asyncio.Event().wait()
            return []

    result = await play(Silent(), seconds=0.05)
    assert result.outcome is attempts.AttemptOutcome.ERROR and "over before the first" in result.message


TEXTS = ("good 1", "good 2", "  good 1 -- again", "bad 1", "bad 2", "half", "", "sorry", "hang 1")
PROOFS_every = ("good 1", "good 2")


async def played(source: Listed, lean: Lean | None = None, **changes: object) -> attempts.AttemptResult:
    wanted = attempt(**{"every_proof": True, **changes})
    return await agent_of(wanted, NoTactics(), source, lean or Lean(PROOFS_every), Playing("p", leaves=1)).play()


def counted(texts: list[str]) -> tuple[attempts.SampledProof, ...]:
    """By a plain loop over the samples."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        script = text.partition("--")[0].strip()
        if script in PROOFS_every:
            found.setdefault(script, []).append(number)
    return tuple(attempts.SampledProof(script, count=len(at), first=at[0]) for script, at in found.items())


@pytest.mark.parametrize("seed", range(8))
async def test_every_sample_is_tried_once_and_the_counts_are_those_of_a_plain_loop(seed: int) -> None:
    rng = random.Random(seed)
    texts = rng.choices(TEXTS, k=rng.randint(1, 40))
    lean = Lean(PROOFS_every)
    result = await played(Listed(*texts, jitter=seed), lean, simulations=len(texts), samples=rng.randint(1, 9))
    expected, statistics = counted(texts), result.statistics
    assert result.proofs == expected
    assert result.outcome == (attempts.AttemptOutcome.PROVED if expected else attempts.AttemptOutcome.FAILED)
    assert statistics.correct == sum(each.count for each in expected)
    assert (statistics.simulations, statistics.ended) == (len(texts), attempts.Ended.SIMULATIONS)
    assert statistics.solved_at_simulations == (expected[0].first if expected else 0)
    assert result.proof == (ProofTree(expected[0].script, state="⊢ t") if expected else None)
    assert len(lean.ran) == len(set(lean.ran)) == statistics.lean_attempts
    assert statistics.without_proof == texts.count("") + texts.count("sorry")
    assert statistics.tactics_tried - statistics.tactics_failed == len(expected)


async def test_a_source_that_ends_and_what_infrastructure_loses_are_told_beside_the_proofs() -> None:
    few = await played(Listed("good 1", "bad 1"), simulations=30)
    assert few.outcome is attempts.AttemptOutcome.PROVED
    assert (few.statistics.ended, few.statistics.simulations) == (attempts.Ended.EXHAUSTED, 2)
    lost = await played(Listed("good 1", "lost 1", "bad 1"), simulations=3)
    assert (lost.outcome, lost.statistics.expansions_lost) == (attempts.AttemptOutcome.PROVED, 1)
    nothing = await played(Listed("lost 1", "bad 1", "bad 2"), simulations=3)
    assert (nothing.outcome, nothing.proofs) == (attempts.AttemptOutcome.UNDECIDED, ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verify": True}, "cannot be combined with verify"),
        ({"correct": 1, "then": "mcts"}, "cannot be combined with correct and then"),
        ({"method": attempts.Method.MCTS}, "needs the method whole-proof, and the attempt has mcts"),
    ],
)
async def test_what_does_not_go_with_it_is_an_error_that_says_so(changes: dict[str, object], words: str) -> None:
    source = Listed(*PROOFS_every)
    result = await played(source, **changes)  # type: ignore[arg-type]
    assert (result.outcome, result.proofs, source.asked) == (attempts.AttemptOutcome.ERROR, (), [])
    assert words in result.message


async def test_proofs_that_have_no_room_are_counted_and_the_others_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"good {number} {'x' * 4_000}" for number in range(40)]
    result = await played(Listed(*texts), Lean(texts), simulations=40, samples=32)
    pieces = attempts.divide(result, limit=100_000)
    assert len(pieces) > 1
    parts = attempts.PartialResults()
    assert [parts.add(decode(encode(piece), attempts.ResultPart)) for piece in pieces][-1] == result
    assert len(result.proofs) == 40
    monkeypatch.setattr(whole_proof, "MOST_BYTES", 20_100)
    short = await played(Listed(*texts), Lean(texts), simulations=40, samples=32)
    assert short.proofs == result.proofs[:5] and short.statistics.correct == 40


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (0, ""),
        (2, "intro h"),
        (5, "intro h\ncases h with\n| inl a => simp\n| inr b => simp"),
        (6, "intro h\ncases h with\n| inl a => simp\n| inr b => simp\nhave : p := by\n  simp"),
    ],
)
def test_a_beginning_ends_above_the_tactic_with_the_error(line: int, text: str) -> None:
    script = "intro h\ncases h with\n| inl a => simp\n| inr b => simp\nhave : p := by\n  simp\nexact this"
    assert beginning(script, line) == text


async def test_beginnings_are_proposed_on_the_first_state_alone() -> None:
    policy = Beginnings(["intro h", "simp"])
    first, other = await policy.advise("⊢ a", 6, 1), await policy.advise("⊢ b", 6, 2)
    assert [each.tactic for each in first.proposals] == ["intro h", "simp"] and other.proposals == []
    assert (await policy.advise("⊢ a", 6, 3)).proposals == first.proposals
    assert first.drawn == 0, "nobody drew them anew"


def test_proofs_and_search_have_half_the_budget_each_and_their_costs_are_added() -> None:
    wanted = any_attempt(9, lean_attempts=21, seconds=4.0, then="mcts")
    half = halved(wanted)
    assert (half.simulations, half.lean_attempts, half.seconds) == (5, 11, 2.0)
    spent = attempts.AttemptStatistics(simulations=5, lean_attempts=3, seconds=2.5, seconds_verify=1.0)
    rest = remaining(wanted, spent)
    assert rest is not None and rest.method == "mcts"
    assert (rest.simulations, rest.lean_attempts, rest.seconds) == (4, 18, 2.5)
    free = remaining(any_attempt(0, then="mcts"), attempts.AttemptStatistics(simulations=5, seconds=2.0))
    assert free is not None and (free.simulations, free.lean_attempts, free.seconds) == (0, 0, 0.0)
    assert remaining(wanted, attempts.AttemptStatistics(lean_attempts=21)) is None
    proofs = {"tactics_tried": 4, "lean_attempts": 4, "tokens": 50, "duplicates": 1}
    first = attempts.AttemptStatistics(simulations=5, seconds=3.0, seconds_verify=1.0, **proofs)  # type: ignore[arg-type]
    solved = {"solved_at_simulations": 3, "solved_at_lean_attempts": 8, "solved_at_seconds": 1.5}
    second = attempts.AttemptStatistics(simulations=3, lean_attempts=10, seconds=2.0, weights_last=7, **solved)  # type: ignore[arg-type]
    total = both(first, second)
    assert (total.simulations, total.lean_attempts, total.tokens, total.duplicates) == (8, 14, 50, 1)
    assert (total.solved_at_simulations, total.solved_at_lean_attempts, total.solved_at_seconds) == (8, 12, 3.5)
    assert (total.seconds, total.seconds_verify, total.weights_last) == (5.0, 1.0, 7)
    unsolved = both(first, attempts.AttemptStatistics(simulations=3, ended=attempts.Ended.SIMULATIONS))
    assert (unsolved.solved_at_simulations, unsolved.ended) == (0, attempts.Ended.SIMULATIONS)


async def test_the_search_has_what_the_proofs_have_left_and_no_more() -> None:
    proved = 0
    for seed in range(6):
        lean = ToyLean(seed, closing=12)
        wanted = attempt(simulations=40, lean_attempts=60, then=attempts.Method.BEST_FIRST)
        source = Listed(*(f"t{number}" for number in range(3)))
        result = await agent_of(wanted, ToyPolicy(1), source, lean, Playing("p", leaves=2)).play()
        statistics = result.statistics
        assert statistics.simulations <= 40 and len(lean.ran) == statistics.lean_attempts <= 60
        proved += result.outcome is attempts.AttemptOutcome.PROVED
    assert proved
