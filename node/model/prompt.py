"""From a proof state to the prompt that the network reads. Learner and inference must agree on it to the token."""

from __future__ import annotations

from node.model.tokenizer import BOS, EOS, STATE, TACTIC, Tokenizer

FRAME = 3
"""Tokens of a prompt besides the state: bos, state, tactic."""


def prompt_tokens(tokenizer: Tokenizer, state: str, limit: int) -> list[int]:
    """`<bos> <state> STATE <tactic>`, at most `limit` tokens.

    A state too long loses hypotheses from its start, never its goal; if the goals alone are too long, what is left
    keeps its end.
    """
    room = limit - FRAME
    ids = tokenizer.encode(state)
    if len(ids) > room:
        ids = _shortened(tokenizer, state, room)
    return [BOS, STATE, *ids, TACTIC]


def tactic_tokens(tokenizer: Tokenizer, tactic: str) -> list[int]:
    """`TACTIC <eos>`: what follows a prompt."""
    return [*tokenizer.encode(tactic), EOS]


def entries(state: str) -> list[str]:
    """The state cut before each hypothesis and each goal; indented lines belong to the entry above. Joined they are
    the state."""
    found: list[str] = []
    for line in state.splitlines(keepends=True):
        if found and (line[0] in " \t\n" or not found[-1].strip()):
            found[-1] += line
        else:
            found.append(line)
    return found


def _shortened(tokenizer: Tokenizer, state: str, room: int) -> list[int]:
    """Token ids of the state without as many of its first hypotheses as must go."""
    parts = entries(state)
    lengths = [len(ids) for ids in tokenizer.encode_batch(parts)]
    excess = sum(lengths) - room
    kept = []
    for entry, length in zip(parts, lengths, strict=True):
        if excess > 0 and not entry.startswith("⊢"):
            excess -= length
        else:
            kept.append(entry)
    ids = tokenizer.encode("".join(kept))
    return ids[-room:] if room > 0 else []
