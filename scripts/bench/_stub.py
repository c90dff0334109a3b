"""A stub policy and a stub Lean that answer from tables, for `bench search`. The time of an answer is measured, too.

Everything random is drawn in advance, from a seed, for a fixed number of states. Each answer looks the state up by its
text. The texts of new states are created again for each answer, as if they had come over the network, so the search
must hash them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from common.lean import Branch, Outcome, OutcomeKind, Step
from node.prover.policies.policy import Proposal

STATES = 1 << 15
"""Number of states. It is large, so that a search of 512 simulations meets fewer than one in thirty states twice."""

MOST_BRANCHES = 3
"""Most branches of a product (AND) node; the fewest are 2."""

LARGEST_LOSS = 20
"""The policy's values are -1 to -20, drawn for each state independently of its parents and children."""

PRIORS = 256
"""Number of different lists of proposals: the same tactics with different prior mass."""

GOALS = OutcomeKind.GOALS
ERROR = Outcome(OutcomeKind.ERROR, message="tactic failed")

TRIVIAL = (("s", ""),)
"""The text before and after the number of a state: `s123`."""

REALISTIC = (
    (
        "α : Type u_1\nβ : Type u_2\nι : Type u_3\ninst✝² : LinearOrder α\ninst✝¹ : TopologicalSpace α\n"
        "inst✝ : OrderTopology α\nf g : ι → α\ns t : Set α\na b c : α\nhs : IsCompact s\nht : IsClosed t\n"
        "hf : ∀ (i : ι), f i ∈ s ∩ Set.Icc a b\nhg : ∀ (i j : ι), i ≠ j → g i < g j ∨ g j < g i\nh : a ≤ b\n"
        "h' : b ≤ c\nn : ℕ\nhn : ",
        " ≤ n\n⊢ ∃ x ∈ s ∩ t, ∀ (i : ι), f i ≤ x ∧ g i ≤ max x c",
    ),
    (
        "n m k : ℕ\nhn : 0 < n\nhm : n < m\np : ℕ\nhp : Nat.Prime p\nhdvd : p ∣ n * m + k\n"
        "ih : ∀ (j : ℕ), j < n → p ∣ j * m + k → ∃ l, l * p = j * m + k ∧ l ≤ m\nx y z : ℤ\nhx : 0 ≤ x\nhy : x < y\n"
        "hxy : x * y = z + ↑n\nhz : z % ",
        " = 0\n⊢ ∃ l, l * p = n * m + k ∧ l ≤ m ∧ (x + ↑l) * (y - ↑l) ≤ z + ↑n * ↑m",
    ),
    (
        "α : Type\nxs ys zs : List α\nx y : α\nP Q : α → Prop\nhP : ∀ a ∈ xs, P a\nhQ : ∀ a ∈ ys, P a → Q a\n"
        "h : xs ++ ys = x :: zs\nhlen : xs.length + ys.length = ",
        "\nih : ∀ (ws : List α), ws.length < xs.length → (∀ a ∈ ws, P a) → (ws ++ ys).length = zs.length → "
        "∃ a ∈ ws ++ ys, P a ∧ Q a\nhne : ¬xs = []\nhmem : y ∈ zs ∧ (P y ∨ Q y)\n"
        "⊢ ∃ a ∈ x :: zs, (P a ∧ Q a) ∨ (xs ++ ys).reverse = zs.reverse ++ [a]",
    ),
)
"""The text before and after the number, for goals as Lean prints them: 280 to 390 characters, mostly hypotheses."""


class Stub:
    """`STATES` states with the policy's proposals for each, and the outcomes of the proposed tactics."""

    def __init__(
        self, texts: Sequence[tuple[str, str]], *, tactics: int, legal: float, products: float, seed: int = 0
    ) -> None:
        """`texts`: pairs of texts before and after a state's number; states use them in turn. `tactics`: tactics
        proposed at each state. Each is legal with probability `legal`; a share `products` of the legal ones leaves at
        least two branches. No tactic closes a state, so a search runs until its budget is used up."""
        draw = random.Random(seed)
        names = [f"tactic_{index} [h, ih]" for index in range(tactics)]
        priors = [[Proposal(name, draw.uniform(1.0, 3.0)) for name in names] for _ in range(PRIORS)]
        self._texts = [texts[number % len(texts)] for number in range(STATES)]
        self._advice: dict[str, tuple[list[Proposal], float]] = {}
        self._moves: dict[str, dict[str, tuple[int, ...]]] = {}
        for number in range(STATES):
            state = self._write(number)
            self._advice[state] = (draw.choice(priors), -float(draw.randint(1, LARGEST_LOSS)))
            moves = self._moves[state] = {}
            for name in names:
                if draw.random() < legal:
                    branches = draw.randint(2, MOST_BRANCHES) if draw.random() < products else 1
                    moves[name] = tuple(draw.randrange(STATES) for _ in range(branches))

    def root(self, number: int) -> str:
        """The text of a root state: the first state from this number on that has a legal tactic, if there is one."""
        begin = number % STATES
        states = [self._write(each % STATES) for each in range(begin, begin + STATES)]
        return next(filter(self._moves.get, states), states[0])

    def advise(self, state: str) -> tuple[list[Proposal], float]:
        """The stub policy: proposals and value V of a state."""
        return self._advice[state]

    def run(self, state: str, path: Sequence[Step], tactics: Sequence[str]) -> dict[str, Outcome]:
        """The stub Lean: the outcome of each tactic. The path is an argument because Lean needs it."""
        moves = self._moves[state]
        return {tactic: self._outcome(moves[tactic]) if tactic in moves else ERROR for tactic in tactics}

    def _outcome(self, numbers: tuple[int, ...]) -> Outcome:
        if len(numbers) == 1:
            return Outcome(GOALS, (Branch(self._write(numbers[0])),))
        return Outcome(GOALS, tuple([Branch(self._write(number), (index,)) for index, number in enumerate(numbers)]))

    def _write(self, number: int) -> str:
        before, after = self._texts[number]
        return f"{before}{number}{after}"
