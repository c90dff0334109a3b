"""Builds the conjecturer's prompt: a lemma, and an easy theorem whose proof invokes it (STP, arXiv 2502.00212, section
3.2). Training and generation must use exactly the same tokens. STP's marks are ordinary text here.
"""

from __future__ import annotations

import textwrap

from node.model.names import StatementNames
from node.model.prompt import FRAME, keyword_and_name, unnamed
from node.model.tokenizer import BOS, TACTIC, TEXT, Tokenizer


def conjecture_prompt(lemma: str, statement: str, proof: str, *, canonical: bool = True) -> str:
    """The prompt's text. `lemma` and `statement` are `theorem NAME BINDERS : CONCLUSION`, `proof` is a block of
    tactics.

    The lemma is on one line and has its name, by which proofs invoke it; the statement's name is removed. With
    `canonical`, each has separate local names v0, v1, ..., and the proof uses those of the statement.
    """
    keyword, body = keyword_and_name(" ".join(lemma.split()))
    easy = unnamed(statement)
    block = textwrap.dedent(proof).strip("\n").rstrip()
    if canonical:
        body, names = StatementNames(body).state, StatementNames(easy)
        easy, block = names.state, names.hide(block)
    return (
        f"<lemma>\n{keyword}{body}\n</lemma>\n<easy theorem>\n{easy} := by\n{block}\n</easy theorem>\n<hard theorem>\n"
    )


def written_conjecture(conjecture: str, *, canonical: bool = True) -> str:
    """A conjecture in the network's form: `example BINDERS : CONCLUSION`, with canonical names if `canonical`."""
    text = unnamed(conjecture)
    return StatementNames(text).state if canonical else text


def conjecture_prompt_tokens(tokenizer: Tokenizer, prompt: str, limit: int) -> list[int] | None:
    """`<bos> <text> PROMPT <tactic>`, the prompt before a conjecture; None if it has more than `limit` tokens, because
    a truncated prompt asks for something else. The tokenizer must have the marks ROLES.

    The mark `<text>` distinguishes it from a statement, which asks for a proof.
    """
    ids = tokenizer.encode(prompt)
    return [BOS, TEXT, *ids, TACTIC] if len(ids) + FRAME <= limit else None
