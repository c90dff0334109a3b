"""`proofmesh premises`: finds lemmas that may help at a proof state.

    proofmesh premises index --corpus traced/leandojo --model runs/retriever --out premises
    proofmesh premises search 'n : Nat\\n⊢ n + 0 = n' --index premises [--file Nat/Basic.lean --line 12]
    proofmesh premises eval --index premises --data traced/leandojo

Exit code: 0 done, 2 wrong arguments, or an input that is missing or unusable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from common.config import ConfigError, check_flags
from common.limits import Natural, Positive
from common.output.command import Exit
from common.output.visible import escaped_json, say, visible

if TYPE_CHECKING:
    from node.retrieval.corpus import Corpus, Mask

NEWLINE = "\\n"
"""How a line break within a state is typed in a shell."""


@dataclass
class IndexSettings:
    """Encode all premises of a corpus once, into a folder."""

    corpus: Path
    """corpus.jsonl, or the folder that has it (`proofmesh trace --format leandojo`: OUT/leandojo)."""

    model: str
    """The encoder: a folder of `proofmesh train retriever`, a sentence-transformers model, or an id on the hub."""

    out: Path = Path("premises")
    """Folder of the index."""

    force: bool = False
    """Replace an index of another corpus or model."""

    device: str = "cpu"
    """`cpu`, `cuda`, ..."""


@dataclass
class SearchSettings:
    """Show the best premises for a proof state."""

    state: Annotated[str, tyro.conf.Positional]
    """The state as Lean prints it; `\\n` for a new line, or `-` to read standard input."""

    index: Path = Path("premises")
    """Folder of the index."""

    count: Positive = 10
    """Premises to show."""

    file: str = ""
    """Only premises that are accessible in this file: those that it imports, and its own above --line."""

    line: Natural = 0
    """Line in the file, from 1; 0: the end of the file."""

    accessible_from: tuple[str, ...] = ()
    """Only premises that are accessible after importing these modules."""

    json: bool = False
    """Print a JSON object for each premise."""


@dataclass
class EvalSettings:
    """Measure an index on held-out theorems, among the premises that are accessible to each, and compare it with
    BM25."""

    data: list[Path] = field(default_factory=list)
    """Traced theorems, as for `proofmesh train retriever`."""

    index: Path = Path("premises")
    """Folder of the index."""

    held_out: Natural = 10
    """One in this many theorems is held out; use the value of the training. 1: measure on all theorems."""

    json: bool = False
    """Print the results as one JSON object."""


COMMANDS: dict[str, tuple[type, str]] = {
    "index": (IndexSettings, "encode all premises of a corpus once, into a folder"),
    "search": (SearchSettings, "the best premises for a proof state"),
    "eval": (EvalSettings, "R@1, R@10 and MRR on held-out theorems, beside BM25"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip() if __doc__ else "")
        for name, (_, line) in COMMANDS.items():
            say(f"  {name:8}{line}")
        return Exit.DONE if arguments else Exit.UNUSABLE
    name = arguments[0]
    if name not in COMMANDS:
        return _refuse(f"no command `{name}`; name one of {', '.join(COMMANDS)}")
    # 1. Flags. --help ends here, before numpy and torch.
    settings: Any = tyro.cli(COMMANDS[name][0], args=arguments[1:], prog=f"proofmesh premises {name}")
    from node.retrieval.corpus import RetrievalError

    try:
        # 2. The work. What the user can mend is one line.
        check_flags(settings)
        work: dict[str, Callable[[Any], None]] = {"index": _index, "search": _search, "eval": _eval}
        work[name](settings)
    except (ConfigError, RetrievalError) as error:
        return _refuse(str(error))
    except ModuleNotFoundError as error:
        return _refuse(f"needs {error.name}: pip install 'proofmesh[trainers]'")
    except OSError as error:
        return _refuse(f"{error.filename or name}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("proofmesh premises: stopped; the same command resumes it", file=sys.stderr)
        return Exit.INTERRUPTED
    return Exit.DONE


def _index(settings: IndexSettings) -> None:
    """Raises RetrievalError, OSError."""
    from node.retrieval.corpus import read_corpus

    corpus = read_corpus(settings.corpus)
    from node.retrieval.encoder import load_encoder
    from node.retrieval.index import build

    model = load_encoder(settings.model, device=settings.device)
    with _bar("encoding", len(corpus)) as tick:
        made = build(settings.out, corpus, model, settings.model, force=settings.force, tick=tick)
    files = f"{len(corpus):,} premises of {len(corpus.files):,} files"
    say(f"{settings.out}: {files}" + ("" if made else "; it was there already"))


def _search(settings: SearchSettings) -> None:
    """Raises RetrievalError."""
    from node.retrieval.corpus import RetrievalError

    # 1. Flags that contradict each other are refused before the index and its encoder are loaded.
    state = sys.stdin.read() if settings.state == "-" else settings.state.replace(NEWLINE, "\n")
    if not state.strip():
        raise RetrievalError("the state is empty; give it as Lean prints it: 'n : Nat\\n⊢ n + 0 = n'")
    if settings.file and settings.accessible_from:
        raise RetrievalError("--file and --accessible-from exclude each other: name one of them")
    if settings.line and not settings.file:
        raise RetrievalError("--line needs a file: name it with --file")
    from node.retrieval.index import PremiseIndex

    # 2. Premises that the file could not use at this line are masked before the ranking, so that `count` usable ones
    # remain.
    index = PremiseIndex(settings.index)
    hits = index.search(state, _mask(index.corpus, settings), settings.count)
    import msgspec

    # 3. Text of a library is shown without its control characters.
    for number, score in hits:
        premise = index.corpus.premises[number]
        path = index.corpus.files[premise.file].path
        if settings.json:
            row = {"name": premise.full_name, "file": path, "score": round(score, 4), "text": premise.text}
            print(escaped_json(msgspec.json.encode(row).decode()))
        else:
            say(
                f"{score:6.3f}  {visible(premise.full_name)}  ({visible(path)})\n        {premise.text[:160]}",
                indent="        ",
            )


def _mask(corpus: Corpus, settings: SearchSettings) -> Mask:
    """Raises RetrievalError."""
    if settings.file:
        return corpus.accessible(corpus.file(settings.file), (settings.line, 0) if settings.line else None)
    if settings.accessible_from:
        return corpus.imported(corpus.file(module) for module in settings.accessible_from)
    return corpus.everything()


def _eval(settings: EvalSettings) -> None:
    """Raises RetrievalError."""
    from node.retrieval.corpus import RetrievalError

    if not settings.data:
        raise RetrievalError(
            "--data is missing: the folder that `proofmesh trace --format leandojo` wrote (OUT/leandojo)"
        )
    import numpy as np

    from common.output.terminal import Console
    from node.retrieval.index import PremiseIndex
    from node.retrieval.queries import read_queries
    from node.retrieval.ranking import evaluate, state_blocks, table_of

    # 1. Only states of held-out theorems: the model may have trained on the others.
    index = PremiseIndex(settings.index)
    queries = read_queries(settings.data, index.corpus, held_out=settings.held_out)
    if not queries.held_out:
        raise RetrievalError(
            f"no state of a held-out theorem names a premise: {queries.counts}; --held-out 1 takes all"
        )
    with _bar("ranking", len(queries.held_out)) as tick:
        # 2. States are encoded in blocks while ranking goes on, so that memory does not grow with their number.
        blocks = state_blocks(index.model, queries.held_out)
        evaluation = evaluate(queries.held_out, index.corpus, blocks, index.vectors.astype(np.float32), tick)
    if settings.json:
        import msgspec

        print(escaped_json(msgspec.json.encode(evaluation).decode()))
        return
    # 3. What was left out goes beside the table, on standard error.
    say(f"{queries.counts}", file=sys.stderr)
    Console().print(table_of(evaluation))


@contextmanager
def _bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error. Call the function that it gives with the number of finished items."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from common.output.terminal import Console

    columns = (TextColumn(label, markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _refuse(message: str) -> int:
    say(f"proofmesh premises: {message}", file=sys.stderr)
    return Exit.UNUSABLE


if __name__ == "__main__":
    raise SystemExit(main())
