"""`proofmesh tokenizer train|eval|show`: makes a tokenizer, measures it, shows the tokens of a text.

proofmesh tokenizer train --out tokenizer.json --vocab-size 2048 --sources text:bank transitions:bank
proofmesh tokenizer eval tokenizer.json --sources transitions:bank text:statements.jsonl
proofmesh tokenizer show tokenizer.json 'rw [Nat.add_comm, h₀]'
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common import config
from common.limits import Natural, Positive
from common.output.visible import say
from node.data.errors import InputError, TrainingError
from node.training.settings import DataSettings

if TYPE_CHECKING:
    from node.model.tokenizer import Tokenizer

USAGE = """proofmesh tokenizer train|eval|show [OPTIONS]    (each has --help)

  train   learn a tokenizer from data
  eval    exact round trip on every text, and tokens for each byte, beside a split like GPT-2's
  show    a text cut into its tokens"""


@dataclass
class TrainOptions:
    """Train a byte-level BPE tokenizer on data."""

    out: Path
    """The tokenizer.json to write."""
    sources: tuple[str, ...] = ("text:bank", "lean:pocket", "transitions:bank")
    """Training data, as in `proofmesh train`."""
    vocab_size: Positive = 2048
    """Most tokens, including special ones."""
    value_bins: Natural = 64
    """Marks of remaining steps, one for each bin of the value head; 0: none."""


@dataclass
class EvalOptions:
    """Measure round trips and compression."""

    tokenizer: Path
    """A tokenizer.json, or a checkpoint with one."""
    sources: tuple[str, ...] = ("text:bank", "lean:pocket", "transitions:bank@all")
    """Texts to measure it on."""
    compare: bool = True
    """Compare it with a tokenizer of the same size with GPT-2's split, trained on the same texts."""


@dataclass
class ShowOptions:
    """Show the tokens of a text, with their ids."""

    tokenizer: Path
    """A tokenizer.json, or a checkpoint with one."""
    text: str
    """The text; `-` reads it from standard input."""


@dataclass(frozen=True)
class Measured:
    """The measurements of a tokenizer on a source."""

    source: str
    texts: int
    wrong: list[str] = field(default_factory=list)
    """Number of texts that a round trip changes."""
    size: int = 0
    """Bytes of the texts in UTF-8."""
    tokens: int = 0

    @property
    def bytes_per_token(self) -> float:
        return self.size / max(1, self.tokens)


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code: 1 if a round trip changed a text, 2 for bad input."""
    arguments = list(argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    tools = {"train": train, "eval": evaluate, "show": show}
    try:
        if arguments[0] not in tools:
            raise InputError(f"no `{arguments[0]}`; there are {', '.join(tools)}")
        return tools[arguments[0]](arguments[1:])
    except config.ConfigError as error:
        say(f"proofmesh tokenizer: {error}", file=sys.stderr)
        return 2
    except TrainingError as error:
        say(f"proofmesh tokenizer: {error}", file=sys.stderr)
        return error.exit_code


def train(argv: list[str]) -> int:
    """Raises InputError."""
    import tyro

    options = tyro.cli(TrainOptions, args=argv, prog="proofmesh tokenizer train")
    config.check_flags(options)
    from node.model.tokenizer import Tokenizer
    from node.training.stage import corpus

    texts = corpus(options.sources, DataSettings())
    tokenizer = Tokenizer.train(texts, options.vocab_size, roles=True, value_bins=options.value_bins)
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        tokenizer.save(options.out)
    except OSError as error:
        raise TrainingError(f"{options.out}: cannot be written ({error.strerror})") from error
    say(f"{options.out}: {tokenizer.vocab_size} tokens, {tokenizer.specials} of them special, from {len(texts)} texts")
    return 0


def evaluate(argv: list[str]) -> int:
    """Raises InputError."""
    import tyro

    positional = (tyro.conf.PositionalRequiredArgs,)
    options = tyro.cli(EvalOptions, args=argv, prog="proofmesh tokenizer eval", config=positional)
    # 1. Flags first: --help needs neither torch nor tables.
    tokenizer = _load(options.tokenizer)
    from rich.table import Table

    from common.output.terminal import Console
    from node.training.stage import corpus

    # 2. The same texts for all tokenizers.
    texts = {source: corpus((source,), DataSettings()) for source in options.sources}
    found = [measure(tokenizer, source, each) for source, each in texts.items()]
    other = [_compare(texts, tokenizer.vocab_size)] if options.compare else []
    # 3. The table. With --compare, GPT-2's way to split stands beside ours, trained on the same texts with as many
    # tokens.
    table = Table(title=f"{options.tokenizer}: {tokenizer.vocab_size} tokens")
    for name in ("source", "texts", "bytes", "come back", "tokens", "bytes a token", *("GPT-2's split",) * len(other)):
        table.add_column(name, justify="left" if name == "source" else "right")
    for each in found:
        back = "all" if not each.wrong else f"{each.texts - len(each.wrong)}"
        row = [
            each.source,
            f"{each.texts:,}",
            f"{each.size:,}",
            back,
            f"{each.tokens:,}",
            f"{each.bytes_per_token:.2f}",
        ]
        table.add_row(*row, *(f"{measured[each.source].bytes_per_token:.2f}" for measured in other))
    Console().print(table)
    # 4. A text that does not come back exactly would change proofs, so it is a failure, not a number.
    wrong = [text for each in found for text in each.wrong]
    if wrong:
        say(f"{len(wrong)} texts do not come back exactly, first: {wrong[0][:200]!r}", file=sys.stderr)
    return 1 if wrong else 0


def _compare(texts: dict[str, list[str]], vocab_size: int) -> dict[str, Measured]:
    from node.model.tokenizer import Tokenizer

    everything = [text for each in texts.values() for text in each]
    plain = Tokenizer.train(everything, vocab_size, gpt2_split=True)
    return {source: measure(plain, source, each) for source, each in texts.items()}


def measure(tokenizer: Tokenizer, source: str, texts: Sequence[str]) -> Measured:
    """Measure round trips and sizes of all texts."""
    batch = tokenizer.encode_batch(texts)
    back = tokenizer.decode_batch(batch)
    wrong = [text for text, again in zip(texts, back, strict=True) if text != again]
    size = sum(len(text.encode()) for text in texts)
    return Measured(source, len(texts), wrong, size, sum(map(len, batch)))


def show(argv: list[str]) -> int:
    """Raises InputError."""
    import tyro

    positional = (tyro.conf.PositionalRequiredArgs,)
    options = tyro.cli(ShowOptions, args=argv, prog="proofmesh tokenizer show", config=positional)
    text = sys.stdin.read() if options.text == "-" else options.text
    tokenizer = _load(options.tokenizer)
    ids = tokenizer.encode(text)
    say(" ".join(f"{tokenizer.piece(token)}·{token}" for token in ids))
    say(f"{len(ids)} tokens, {len(text.encode())} bytes")
    return 0


def _load(path: Path) -> Tokenizer:
    from node.model.tokenizer import Tokenizer, TokenizerError

    try:
        return Tokenizer.load(path / "tokenizer.json" if path.is_dir() else path)
    except TokenizerError as error:
        raise InputError(str(error)) from error
