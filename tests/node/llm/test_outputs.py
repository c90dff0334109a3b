"""What is taken out of a model's answers, and why something is dropped, in every form that models are known for."""

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import OutcomeKind
from node.lean.opened import OpenedLean
from node.lean.text.rules import proof_problem
from node.lean.text.statement import parse_statement
from node.llm.outputs import NOTED, CodeError, Parsed, Problem, marked_errors, parse_proof, parse_tactic, score
from node.llm.sampling import Sample, Token
from node.llm.templates import families, load
from tests.message_values import CHARACTERS
from tests.node.play.opened import environment_of

THEOREM = parse_statement("theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry")
STATED = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by"
BLOCK = f"import Mathlib\n\n{STATED}\n  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩"
PROOF = "obtain ⟨a, b⟩ := h\nexact ⟨b, a⟩"


def tactic(name, text, **more):
    return parse_tactic(load(name), Sample(text, **more))


def within(script, above=""):
    """A block with the theorem and this behind its `by`."""
    return f"```lean4\n{above}{STATED}{script}\n```"


def proof(name, text, **more):
    return parse_proof(load(name), Sample(text, **more), THEOREM)


BFS = {
    "simp [h]": (
        *(
            "simp [h]",
            " simp [h]\n",
            "p : Prop\n⊢ p:::simp [h]",
            "by simp [h]",
            "by\n  simp [h]",
            "\ufeffsimp\u00a0[h]",
        ),
        *(
            "```lean4\nsimp [h]\n```",
            "```lean\nsimp [h]\n```\nThis works.",
            "```\nsimp [h]\n```",
            "```lean4 simp [h]```",
        ),
        *("-- we simplify\nsimp [h] -- done", "<think>simp?</think>\nsimp [h]"),
    ),
    "by_contra h'": ("by_contra h'",),
    "exact sorry_free": ("exact sorry_free",),
    "have k : q := by\n  simp\n  ring": ("have k : q := by\r\n\tsimp\r\n\tring",),
    "constructor <;>\n  simp": ("  constructor <;>\n    simp",),
    "have k : ∑ i ∈ s, f i := by\n    intro y\n    exact ⟨y, ‹_›⟩": (
        "have k : ∑ i ∈ s, f i := by\n    intro y\n\n    exact ⟨y, ‹_›⟩",
    ),
    **{
        kept: (kept,)
        for kept in (
            "induction n with\n| zero => simp\n| succ n ih => simp [ih]",
            "calc a = b := by simp\n_ = c := k",
        )
    },
}
"""Tactics, by what is taken out of them."""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *(("bfs-prover-v2", text, expected) for expected, texts in BFS.items() for text in texts),
        ("internlm2-step-prover", "PROOFSTEP simp [h]", "simp [h]"),
        ("internlm2-step-prover", "simp [h]", "simp [h]"),
        ("internlm2.5-step-prover", "simp [h]<|im_end|>\n<|im_start|>user", "simp [h]"),
        ("reprover-retriever", "rw [<a>Nat.add_comm</a>]", "rw [Nat.add_comm]"),
        ("reprover-causal", "[GOAL]\n⊢ p\n[PROOFSTEP]\nsimp [h]", "simp [h]"),
    ],
)
def test_a_tactic_is_taken_out(name, text, expected):
    parsed = tactic(name, text)
    assert (parsed.text, parsed.problem) == (expected, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((text, Problem.EMPTY) for text in ("", " \r\n\t", "-- nothing comes to mind", "```lean4\n```", "by")),
        *((text, Problem.SORRY) for text in ("sorry", "have k : q := by sorry", "admit", "exact a.b (by simp; sorry)")),
        *((text, Problem.UNFINISHED) for text in ("have k : q := by", "refine fun x =>", "have k : q :=")),
        ("<think>What about simp", Problem.CUT),
        ("simp [h\ufffd]", Problem.NO_TEXT),
    ],
)
def test_a_tactic_is_dropped(text, problem):
    assert tactic("bfs-prover-v2", text) == Parsed(problem=problem)


def test_a_cut_tactic_or_proof_is_none_unless_it_ended_before_the_cut():
    for text in ("simp [Nat.add", "", "```lean4\nsimp [Nat.add"):
        assert tactic("bfs-prover-v2", text, cut=True) == Parsed(problem=Problem.CUT)
    assert tactic("internlm2-step-prover", "PROOFSTEP simp<|im_end|>\nand on and", cut=True).text == "simp"
    assert tactic("bfs-prover-v2", "```lean\nsimp\n```\nThis is becau", cut=True).text == "simp"
    assert tactic("bfs-prover-v2", "intro x\nexact fo", cut=True).text == "intro x"
    for text in ("  obtain ⟨a, b", "", BLOCK, f"```lean4\n{BLOCK}"):
        assert proof("stp", text, cut=True) == Parsed(problem=Problem.CUT)
    for name in ("stp", "goedel-prover-v2"):
        assert proof(name, f"```lean4\n{BLOCK}\n```\nThis shows th", cut=True) == Parsed(PROOF)
    for text in ("```\n", "  sorry\n```", "  -- hm\n```"):
        assert proof("stp", text).text == "", "an open block may hold no proof"


@pytest.mark.parametrize("text", ["intro x\nexact h x", "by\n  intro x\n  exact h x", "intro x\n· exact h x"])
def test_the_first_of_several_tactics_is_kept(text):
    parsed = tactic("bfs-prover-v2", text)
    assert (parsed.text, parsed.problem) == ("intro x", Problem.SEVERAL_TACTICS)


def sampled(*pairs):
    tokens = tuple(Token(text, logprob) for text, logprob in pairs)
    return Sample("".join(token.text for token in tokens), tokens=tokens)


def test_a_score_is_of_the_tokens_that_are_kept_and_without_log_probabilities_there_is_none():
    sample = sampled(("intro", -1.0), (" x", -2.0), ("\nexact", -4.0), (" h", -8.0))
    for name, expected in (("bfs-prover-v1", -3.0), ("bfs-prover-v2", -1.5)):
        parsed = parse_tactic(load(name), sample)
        assert parsed.scored_prefix == "intro x" and score(load(name), sample, parsed) == expected
    # A prefix belongs to what is kept.
    sample = sampled(("PROOF", -1.0), ("STEP ", -1.0), ("simp", -4.0), ("\n", -9.0))
    template = load("internlm2-step-prover")
    assert parse_tactic(template, sample) == Parsed("simp", None, "PROOFSTEP simp")
    assert score(template, sample, parse_tactic(template, sample)) == -2.0
    template = load("bfs-prover-v1")
    assert score(template, Sample("simp"), parse_tactic(template, Sample("simp"))) is None
    marked = sampled(("rw [<a>x", -1.0), ("</a>]", -1.0))
    template = load("reprover")
    assert parse_tactic(template, marked) == Parsed("rw [x]", None, "")
    assert score(template, marked, parse_tactic(template, marked)) is None


@pytest.mark.parametrize(
    "text",
    [
        "  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩\n",
        "\n  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩",
        "  obtain ⟨a, b⟩ := h\r\n  exact ⟨b, a⟩\r\n```",
        "\tobtain ⟨a, b⟩ := h\n\texact ⟨b, a⟩\n```\n",
        "  -- the parts\n  obtain ⟨a, b⟩ := h\n  /- and\n  back -/\n  exact ⟨b, a⟩\n```\nThis proves it.",
        "  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩\n\ntheorem next : 1 = 1 := by\n  rfl\n",
        "  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩\n\n#print axioms swap",
        " by\n  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩",
        BLOCK,
        f"```lean4\n{BLOCK}\n```",
        f"```lean4\n{BLOCK}",
    ],
)
def test_a_proof_goes_on_with_the_open_block(text):
    for name in ("stp", "deepseek-prover-v1.5", "goedel-prover-sft"):
        assert proof(name, text) == Parsed(PROOF, None)


@pytest.mark.parametrize(
    "text",
    [
        f"```lean4\n{BLOCK}\n```",
        f"### Plan\nSplit and join.\n\n```lean4\n{BLOCK}\n```\n\nThis is complete.",
        f"```lean\n{BLOCK}\n```",
        f"```\n{BLOCK}\n```",
        f"```lean4\n{BLOCK}```",
        f"```lean4\r\n{BLOCK.replace(chr(10), chr(13) + chr(10))}\r\n```\r\n",
        f"Sketch:\n```lean4\n{STATED}\n  sorry\n```\nProof:\n```lean4\n{BLOCK}\n```",
        f"```lean4\n{BLOCK}\n```\nwhere we use\n```lean4\nobtain ⟨a, b⟩ := h\n```",
        f"```lean4\n{BLOCK}\n```\nA lemma that helps elsewhere:\n```lean4\nlemma other : 1 = 1 := by rfl\n```",
        f"<think>First\n```lean4\n{STATED}\n  simp\n```\nno.</think>\n\n```lean4\n{BLOCK}\n```",
        f"First ```tactics\nsimp\n```\nno.</think>\n\n```lean4\n{BLOCK}\n```",
        f"A stray ```\nin prose.\n```lean4\n{BLOCK}\n```",
        f"A block without an end:\n```lean4\n{STATED}\n  simp\nNo:\n```lean4\n{BLOCK}\n```",
        f"```lean4\n{BLOCK}\n\nend Swapping\n```",
        f"```lean4\n{BLOCK}\n\nexample : 1 = 1 := by rfl\n```",
        f"```lean4\nlemma unused : 1 = 1 := by\n  rfl\n\n{STATED}\n  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩\n```",
        "```lean4\n/-- Swaps. -/\n@[simp]\ntheorem swap (p q : Prop) (h : p ∧ q) :\n    q ∧ p -- back\n  := by\n"
        "    obtain ⟨a, b⟩ := h\n    exact ⟨b, a⟩\n```",
        "```lean4\nobtain ⟨a, b⟩ := h\nexact ⟨b, a⟩\n```",
        "```lean4\nby\n  obtain ⟨a, b⟩ := h\n  exact ⟨b, a⟩\n```",
    ],
)
def test_a_proof_is_the_last_complete_block_with_the_theorem(text):
    for name in ("deepseek-prover-v2", "goedel-prover-v2", "kimina-prover", "kimina-prover-preview"):
        assert proof(name, text) == Parsed(PROOF, None)


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (":= ⟨h.2, h.1⟩", "exact ⟨h.2, h.1⟩"),
        (":=\n  ⟨h.2,\n   h.1⟩", "exact ⟨h.2,\n   h.1⟩"),
        (":= by exact ⟨h.2, h.1⟩", "exact ⟨h.2, h.1⟩"),
        ("\n:= by constructor; exact h.2\n      exact h.1", "constructor; exact h.2\nexact h.1"),
        (":= by simp [And.comm,\n    h]", "simp [And.comm,\n  h]"),
        (
            ":= by\n  constructor\n  · have k : q := by\n      exact h.2\n    exact k\n\n  · exact h.1",
            "constructor\n· have k : q := by\n    exact h.2\n  exact k\n\n· exact h.1",
        ),
        (":= by\n  have k := h\n  exact ⟨k.2, k.1⟩", "have k := h\nexact ⟨k.2, k.1⟩"),
        (':= by\n  trace "-- by := sorry"\n  exact h.symm', 'trace "-- by := sorry"\nexact h.symm'),
    ],
)
def test_the_shape_of_a_proof_is_kept(behind, expected):
    text = f"```lean4\ntheorem swap (p q : Prop) (h : p ∧ q) : q ∧ p {behind}\n```"
    assert proof("goedel-prover-v2", text) == Parsed(expected)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("theorem swap (p q : Prop) (h : p ∧ q) : q ∨ p := by", Problem.STATEMENT_CHANGED),
        ("theorem swapped (p q : Prop) (h : q) : q ∧ p := by", Problem.STATEMENT_CHANGED),
        ("lemma swap (h : p ∧ q) : q ∧ p := by", Problem.STATEMENT_CHANGED),
        ("theorem  Foo.swap (p q: Prop)\n  (h : p ∧ q) -- both\n  : q ∧ p := by", None),
    ],
)
def test_a_changed_statement_is_noted_but_white_space_comments_and_names_change_none(statement, problem):
    assert proof("goedel-prover-v2", f"```lean4\n{statement}\n  simp_all\n```") == Parsed("simp_all", problem)


def test_a_let_in_the_statement_does_not_begin_the_proof():
    theorem = parse_statement("theorem t : let x := 3; x = 3 := by sorry")
    text = "```lean4\ntheorem t : let x := 3; x = 3 := by\n  rfl\n```"
    assert parse_proof(load("goedel-prover-v2"), Sample(text), theorem) == Parsed("rfl")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((text, Problem.EMPTY) for text in ("", "\n\t \r\n", within(""), within("\n  -- by the lemma above"))),
        (within("\n  sorry"), Problem.SORRY),
        (within("\n  constructor\n  · admit\n  · exact h.1"), Problem.SORRY),
        (within("\n  have k : q := by sorry\n  exact ⟨k, h.1⟩"), Problem.SORRY),
        (within("\n  have k : q := by"), Problem.UNFINISHED),
        (f"```lean4\n{STATED.removesuffix(' := by')}\n```", Problem.NO_PROOF),
        ("The statement is true since conjunction commutes.", Problem.NO_CODE_BLOCK),
        ("```python\nprint(1)\n```", Problem.NO_CODE_BLOCK),
        (f"```lean4\n{STATED}\n  obtain", Problem.CUT),
        ("<think>Let us see. ```lean4\nsimp\n```", Problem.CUT),
        ("```lean4\ntheorem swap (p q : Prop) (h : p ∧ q) : q ∧ p\n  | _ => h\n```", Problem.NO_PROOF),
        (within("\n  exact back h", "lemma back (h : p ∧ q) : q ∧ p := by\n  simp_all\n\n"), Problem.HELPER_LEMMAS),
        (within("\n  simp [n, h]", "def n := 2\n\n"), Problem.HELPER_LEMMAS),
    ],
)
def test_a_proof_is_dropped(text, problem):
    assert proof("goedel-prover-v2", text) == Parsed(problem=problem)


def test_an_answer_that_opens_thousands_of_comments_is_given_up():
    text = f"```lean4\n{STATED}\n{'/- ' * 30_000}\n```"
    assert proof("goedel-prover-v2", text) == Parsed(problem=Problem.UNFINISHED)
    assert tactic("bfs-prover-v2", "/- " * 30_000) == Parsed(problem=Problem.UNFINISHED)


FRAGMENTS = [
    "```", "```lean4\n", "```lean\n", "\n", "  ", "\t", "\r\n", "theorem swap", "lemma x", " : ", ":=", " by", "sorry",
    "/-", "-/", "--", '"', "'", "«", "»", "⟨", "⟩", "(", ")", "<think>", "</think>", "simp", "let x := 1", "· ", "| ",
    "PROOFSTEP ", ":::", "<a>", "</a>", "<|im_end|>", "p ∧ q", "\x00", "\ud800", "😀", "end", "exact h", "@[simp]",
]  # fmt: skip

ANSWERS = st.lists(st.sampled_from(FRAGMENTS) | st.text(CHARACTERS, max_size=5), max_size=30).map("".join)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(ANSWERS, st.booleans(), st.sampled_from(families()))
def test_no_answer_makes_the_parser_fail(text, cut, template):
    sample = Sample(text, cut)
    is_tactic = template.mode == "tactic"
    parsed = parse_tactic(template, sample) if is_tactic else parse_proof(template, sample, THEOREM)
    assert bool(parsed.text) == (parsed.problem is None or parsed.problem in NOTED)
    assert text.startswith(parsed.scored_prefix) and not parsed.text[:1].isspace()


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["  intro x", "  · simp", "    exact h", "", "  exact ⟨x, h⟩"]), min_size=1))
def test_a_proof_survives_its_block(lines):
    """Whatever the tactics, the block around them changes nothing but the first column."""
    lines = ["  skip", *lines, "  done"]
    parsed = proof("goedel-prover-v2", "\n".join(["```lean4", STATED, *lines, "```"]))
    assert parsed.text.split("\n") == [line[2:] for line in lines] and proof_problem(parsed.text) == ""


# --- what is taken out, behind our statement --------------------------------------------------------------------------
PROOFS = [
    " := ⟨h.2, h.1⟩",
    " :=\n  ⟨h.2,\n   h.1⟩",
    "\n:= by constructor; exact h.2\n      exact h.1",
    " := by simp [And.comm,\n    h]",
    " := by\n  constructor\n  · have k : q := by\n      exact h.2\n    exact k\n\n  · exact h.1",
    " :=\n  have k := h.2\n  have l := h.1\n  ⟨k, l⟩",
    " :=\nby\n  -- first\n  obtain ⟨a, b⟩ := h -- split\n  /- then\n     join -/\n  exact ⟨b, a⟩",
    " := by\n    cases h with\n    | intro a b =>\n      exact ⟨b, a⟩\n",
    " := by {\n  constructor\n  exact h.2\n  exact h.1\n}",
    " := by\n  refine ⟨?_, ?_⟩ <;>\n    simp_all",
    " := match h with\n  | ⟨a, b⟩ => ⟨b, a⟩",
    " := And.intro\n  h.2\n  h.1",
    " := by\n\tobtain ⟨a, b⟩ := h\n\texact ⟨b, a⟩",
    " := by exact ⟨h.2,\n  h.1⟩",
    " := h.symm\n\nend Foo",
    " := by\n  have key : ∀ x : Nat, x = x := by\n    intro x\n    rfl\n  exact ⟨h.2, h.1⟩\n#print axioms swap",
]


@pytest.mark.lean
async def test_lean_accepts_what_is_taken_out(opened_lean: OpenedLean):
    taken = []
    for behind in PROOFS:
        stated = f"{THEOREM.signature}{behind}\n```"
        for name, text in (("goedel-prover-v2", f"Plan\n```lean4\nimport Mathlib\n\n{stated}"), ("stp", stated)):
            parsed = proof(name, text)
            assert parsed.problem is None and proof_problem(parsed.text) == ""
            taken.append(parsed.text)
    outcomes = await environment_of(opened_lean, THEOREM).run((), taken)
    assert {script: outcome.kind for script, outcome in outcomes.items()} == dict.fromkeys(taken, OutcomeKind.PROVED)


# --- the compiler's errors as Goedel-Prover-V2 reads them: what `get_error_str` of its src/utils.py writes ------------
CODE = "theorem t : p := by\n  intro x\n  have h : q := by\n    simp\n    ring\n  exact h\n  done"
LONG = "\n".join(["by", *[f"  line{number}" for number in range(1, 12)]])

MARKED = {
    "in one line": (
        (CODE, CodeError(6, 2, "type mismatch", 6, 9)),
        "  intro x\n  have h : q := by\n    simp\n    ring\n  <error>exact h</error>\n  done\n",
    ),
    "over several lines": (
        (CODE, CodeError(3, 16, "unsolved goals", 5, 8)),
        "theorem t : p := by\n  intro x\n  have h : q := <error>by\n    simp\n    ring</error>\n  exact h\n",
    ),
    "without an end": (
        (CODE, CodeError(2, 2, "no")),
        "theorem t : p := by\n  <error>intro x</error>\n  have h : q := by\n",
    ),
    "long, shortened": (
        (LONG, CodeError(1, 0, "no", 12, 8)),
        "<error>by\n  line1\n  line2\n  line3\n  line4\n  line5\n\n  ... --[Truncated]-- ...\n  line11</error>\n",
    ),
}


@pytest.mark.parametrize(("told", "marked"), MARKED.values(), ids=MARKED)
def test_an_error_is_marked_at_its_place(told: tuple[str, CodeError], marked: str):
    code, error = told
    assert marked_errors(code, [error]) == (
        f"\nError 1:\n\nCorresponding Code:\n```lean4\n{marked}\n```\n\nError Message: {error.message}\n"
    )


def test_the_ninth_error_is_only_counted():
    text = marked_errors(CODE, [CodeError(1, 0, f"number {number}") for number in range(10)])
    assert text.endswith("\nError Message: number 7\n\n... [Omitted 2 more errors] ...\n")


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.text(CHARACTERS), st.integers(), st.integers(), st.none() | st.integers(), st.integers())
def test_places_outside_the_code_do_no_harm(code, line, column, end_line, end_column):
    assert "<error>" in marked_errors(code, [CodeError(line, column, "no", end_line, end_column)])
