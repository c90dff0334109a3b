"""Builds the network's prompts from a proof state, a statement, or the seed of a conjecture. Learner and inference must
use exactly the same tokens.
"""

from __future__ import annotations

import re
import textwrap

from node.model.names import StatementNames
from node.model.tokenizer import BOS, EOS, LEAN, STATE, TACTIC, TEXT, Tokenizer

FRAME = 3
"""Tokens of a prompt in addition to the state or statement: bos, the mark of its kind, tactic."""

_NAMED = re.compile(r"\s*(?:theorem|lemma|example)\b(?: *(?:«[^»]*»|[^\s:(){}\[\]⦃⦄«])+(?:(?<=\.)\{[\w ,]*\})?)?\s*")
"""The keyword and the name of a statement, universes included."""


def prompt_tokens(tokenizer: Tokenizer, state: str, limit: int) -> list[int]:
    """`<bos> <state> STATE <tactic>`, at most `limit` tokens.

    A state that is too long loses hypotheses from its start, never a conclusion. If the conclusions alone are too long,
    their start is cut off.
    """
    room = limit - FRAME
    ids = tokenizer.encode(state)
    if len(ids) > room:
        ids = _shortened(tokenizer, state, room)
    return [BOS, STATE, *ids, TACTIC]


def keyword_and_name(statement: str) -> tuple[str, str]:
    """`theorem NAME ` and the text after it; the first is empty for a bare proposition."""
    match = _NAMED.match(statement)
    return (match.group(), statement[match.end() :]) if match else ("", statement)


def unnamed(statement: str) -> str:
    """Turn `theorem NAME BINDERS : CONCLUSION` into `example BINDERS : CONCLUSION`: the name is irrelevant to a proof.
    A bare proposition counts as the conclusion."""
    keyword, signature = keyword_and_name(statement)
    return f"example {signature.strip()}" if keyword else f"example : {signature.strip()}"


def proof_prompt_tokens(tokenizer: Tokenizer, statement: str, limit: int) -> list[int] | None:
    """`<bos> <lean> STATEMENT <tactic>`, the prompt before a whole proof of an `unnamed` statement; None if it has more
    than `limit` tokens, because a truncated statement is a different one. The tokenizer must have the marks ROLES.

    The mark `<lean>` distinguishes it from a state; the mark `<tactic>` separates the statement from the proof.
    """
    ids = tokenizer.encode(statement)
    return [BOS, LEAN, *ids, TACTIC] if len(ids) + FRAME <= limit else None


def tactic_tokens(tokenizer: Tokenizer, tactic: str) -> list[int]:
    """`TACTIC <eos>`, the tokens after a prompt. A whole proof ends in the same way."""
    return [*tokenizer.encode(tactic), EOS]


def entries(state: str) -> list[str]:
    """Split the state before each hypothesis and each goal; indented lines belong to the entry above. Joining the
    entries gives the state."""
    parts: list[str] = []
    for line in state.splitlines(keepends=True):
        if parts and (line[0] in " \t\n" or not parts[-1].strip()):
            parts[-1] += line
        else:
            parts.append(line)
    return parts


def _shortened(tokenizer: Tokenizer, state: str, room: int) -> list[int]:
    """Token ids of the state without its first hypotheses, as few as needed to fit."""
    parts = entries(state)
    lengths = [len(ids) for ids in tokenizer.encode_batch(parts)]
    excess = sum(lengths) - room
    remaining = []
    for entry, length in zip(parts, lengths, strict=True):
        if excess > 0 and not entry.startswith("⊢"):
            excess -= length
        else:
            remaining.append(entry)
    ids = tokenizer.encode("".join(remaining))
    return ids[-room:] if room > 0 else []


# --- conjectures ------------------------------------------------------------------------------------------------------
# A lemma, and an easy theorem whose proof invokes it (STP, arXiv 2502.00212, section 3.2). Training and generation must
# use exactly the same tokens. STP\'s marks are ordinary text here.


def conjecture_prompt(lemma: str, statement: str, proof: str) -> str:
    """The prompt's text. `lemma` and `statement` are `theorem NAME BINDERS : CONCLUSION`, `proof` is a block of
    tactics.

    The lemma is on one line and has its name, by which proofs invoke it; the statement's name is removed. Each has
    separate local names v0, v1, ..., and the proof uses those of the statement.
    """
    keyword, body = keyword_and_name(" ".join(lemma.split()))
    names = StatementNames(unnamed(statement))
    body, easy = StatementNames(body).state, names.state
    block = names.hide(textwrap.dedent(proof).strip("\n").rstrip())
    return (
        f"<lemma>\n{keyword}{body}\n</lemma>\n<easy theorem>\n{easy} := by\n{block}\n</easy theorem>\n<hard theorem>\n"
    )


def written_conjecture(conjecture: str) -> str:
    """A conjecture in the network's form: `example BINDERS : CONCLUSION`, with canonical names."""
    return StatementNames(unnamed(conjecture)).state


def conjecture_prompt_tokens(tokenizer: Tokenizer, prompt: str, limit: int) -> list[int] | None:
    """`<bos> <text> PROMPT <tactic>`, the prompt before a conjecture; None if it has more than `limit` tokens, because
    a truncated prompt asks for something else. The tokenizer must have the marks ROLES.

    The mark `<text>` distinguishes it from a statement, which asks for a proof.
    """
    ids = tokenizer.encode(prompt)
    return [BOS, TEXT, *ids, TACTIC] if len(ids) + FRAME <= limit else None
