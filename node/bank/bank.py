"""Theorem banks: statements by split, supervised transitions, the proofs that these make up, manifest and digest.

A folder holds `SPLIT.jsonl.gz`, `transitions.jsonl.gz`, `contexts.jsonl.gz` for theorems in files, and `bank.json`.
Another file of the bank, `truth.jsonl.gz`, says which statements are false, and has the proofs. Nothing here opens it:
only the checks of the bank may read it (`data/generators/lean_check.py`).
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

import msgspec

from common.files import NOT_JSON, bundled_bank, unpacked, write_whole
from common.lean import Context, Place, ProofTree, TacticRule, Theorem
from common.output.command import UserError
from node.lean.text.allowed import BadRule, rule_of
from node.lean.text.script import proof_lines

DIRECTORY = bundled_bank()
BUNDLED = {
    name: bundled_bank(name)
    for name in ("pocket", "witness", "words", "puzzles", "wheels", "accumulators", "combinators", "textbook")
}
"""The banks of proofmesh by name; all are for training but `textbook`, which is only for evaluation."""

BUILT_BY = {
    "pocket": "build",
    "witness": "build --profile witness",
    "words": "build --profile words",
    "puzzles": "build --profile puzzles",
    "wheels": "build --profile wheels",
    "accumulators": "build --profile accumulators",
    "combinators": "build --profile combinators",
    "textbook": "textbook",
}
"""The module of `data.generators`, with its flags, that builds each of them."""

SPLITS = ("train", "valid", "test")
TRANSITIONS = "transitions"
CONTEXTS = "contexts"

SAMPLE_SEED = 0
"""Seed of the samples of a split in evaluations. It is fixed, so that all evaluations use the same statements."""

PART = 1 << 20
"""Bytes of a file that are read at a time."""

T = TypeVar("T")


class Grouped(Protocol):
    """An object with a family and a level."""

    @property
    def family(self) -> str: ...

    @property
    def level(self) -> int: ...


G = TypeVar("G", bound=Grouped)


class BankError(UserError, ValueError):
    """A file of the bank is missing or damaged. The message names the file and the line, and says what to do."""


class BankTheorem(msgspec.Struct, frozen=True):
    """A statement of the bank. `family` and `level` (1-4) are for tables and samples, and independent of its truth."""

    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """A known flaw of the statement, with its source; empty if none is known."""


class BankTransition(msgspec.Struct, frozen=True):
    """One step of an accepted proof: the state in the policy's form, the tactic, the remaining steps with this one."""

    theorem: str
    level: int
    family: str
    state: str
    tactic: str
    remaining_steps: int


class _Gap(msgspec.Struct, frozen=True):
    before: str
    after: str = "\n"
    tactic: bool = True


class _Context(msgspec.Struct, frozen=True):
    digest: str
    text: str


class _Statement(msgspec.Struct, frozen=True):
    name: str
    binders: str
    conclusion: str
    family: str
    level: int
    header: str = ""
    """For imported statements (`proofmesh bank import`): imports, opens, definitions."""
    flaw: str = ""
    context: str = ""
    """For a theorem in a file: digest of the text above its command. The text itself is in CONTEXTS."""
    place: _Gap | None = None
    """For a theorem in a file: its command around the gap (`common.lean`)."""


def load_statements(split: str, directory: Path = DIRECTORY) -> list[BankTheorem]:
    """The statements of `train`, `valid` or `test`. Raises BankError."""
    if split not in SPLITS:
        raise BankError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    repeated: dict[str, str] = {}  # equal texts share memory: headers are long, and few different ones exist
    contexts: dict[str, Context] | None = None
    rule = manifest_of(directory).rule
    statements = []
    for row in decode(_file(directory, split), _Statement):
        if row.context and contexts is None:
            contexts = _contexts(directory)
        header, family, flaw = (repeated.setdefault(text, text) for text in (row.header, row.family, row.flaw))
        theorem = Theorem(row.name, row.binders, row.conclusion, header, rule=rule)
        if row.place is not None:
            theorem = _placed(theorem, row, contexts or {}, directory, split)
        statements.append(BankTheorem(theorem, family, row.level, flaw))
    return statements


def _contexts(directory: Path) -> dict[str, Context]:
    """The texts above theorems in files, by digest. Raises BankError."""
    return {row.digest: Context.of(row.text) for row in decode(_file(directory, CONTEXTS), _Context)}


def _placed(theorem: Theorem, row: _Statement, contexts: Mapping[str, Context], directory: Path, split: str) -> Theorem:
    """The theorem at its place in a file. Raises BankError."""
    assert row.place is not None
    if row.context not in contexts:
        path = _file(directory, CONTEXTS)
        raise BankError(f"{path}: no context {row.context}, which {row.name} of {split} needs; {_remedy(directory)}")
    place = Place(contexts[row.context], row.place.before, row.place.after, row.place.tactic)
    return msgspec.structs.replace(theorem, place=place)


def is_there(path: str) -> bool:
    """Whether a path exists; a text that cannot be a path does not."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


_FAMILIES = re.compile(r"(.*[^\[\]\s])\s*\[([^\[\]]*)\]")


def families_of(text: str) -> tuple[str, frozenset[str]]:
    """The name before `[FAMILY, ...]`, and these families; none of them: all. A path that is there is a name, whatever
    brackets it has. Raises BankError if the brackets are empty."""
    match = _FAMILIES.fullmatch(text)
    if match is None or is_there(text.removeprefix("bank:")):
        return text, frozenset()
    named = frozenset(name.strip() for name in match[2].split(",")) - {""}
    if not named:
        raise BankError(f"{text!r}: the brackets name no family")
    return match[1], named


def check_families(where: str, named: frozenset[str], known: Iterable[str]) -> None:
    """Raises BankError if some families that were named are not there."""
    if missing := named - (there := set(known)):
        raise BankError(
            f"{where}: no statement of the families {', '.join(sorted(missing))}; it has {', '.join(sorted(there))}"
        )


def splits(directory: Path = DIRECTORY) -> tuple[str, ...]:
    """The splits of a bank. An imported bank may not have all of them."""
    return tuple(split for split in SPLITS if _file(directory, split).exists())


def load_transitions(directory: Path = DIRECTORY, *, warm_start: bool = False) -> list[BankTransition]:
    """Supervised transitions of the train split. `warm_start`: only those that the bank's manifest allows for it.

    Empty for a bank without transitions. Raises BankError.
    """
    path = _file(directory, TRANSITIONS)
    if not path.exists() and directory.resolve() != DIRECTORY.resolve():
        return []
    rule = manifest_of(directory).warm_start if warm_start else None
    return [row for row in decode(path, BankTransition) if rule is None or rule.takes(row.level, row.tactic)]


def stratified(statements: Sequence[G], n: int, seed: int = SAMPLE_SEED) -> list[G]:
    """A sample of n statements, in proportion to the groups of (family, level), in the order of `statements`.

    Equal seeds give equal samples.
    """
    if n > len(statements):
        raise ValueError(f"cannot sample {n} of {len(statements)} statements")
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, statement in enumerate(statements):
        groups[statement.family, statement.level].append(index)
    rng = random.Random(seed)
    ranked: list[tuple[float, int]] = []
    for key in sorted(groups):
        rng.shuffle(groups[key])
        # The j-th of m in a group has rank (j + u) / m, so any prefix of the ranking has an even share of all groups.
        ranked += [((place + rng.random()) / len(groups[key]), index) for place, index in enumerate(groups[key])]
    return [statements[index] for index in sorted(index for _, index in sorted(ranked)[:n])]


def digest(directory: Path = DIRECTORY) -> str:
    """A digest of the bank's content and of its manifest's rules: a key for networks trained on it.

    Equal content gives equal digests, in any folder and from any source. Raises BankError.
    """
    total = hashlib.blake2b(digest_size=16)
    for name in (*SPLITS, TRANSITIONS, CONTEXTS):
        path = _file(directory, name)
        if path.exists():
            total.update(path.name.encode() + b"\0" + _content_digest(path))
    manifest = manifest_of(directory)
    rule = manifest.warm_start
    total.update(repr((sorted(rule.levels), rule.held_out) if rule is not None else None).encode())
    if manifest.rule is not None:
        total.update(repr((manifest.allow, manifest.ban)).encode())
    return total.hexdigest()


def _file(directory: Path, name: str) -> Path:
    """The file of a split, or of the transitions."""
    return directory / f"{name}.jsonl.gz"


def _remedy(directory: Path) -> str:
    """What the user can do about a missing or damaged file."""
    for name, script in BUILT_BY.items():
        if directory.resolve() == BUNDLED[name].resolve():
            build = f"build it again with `python -m data.generators.{script}`"
            return f"restore it with `git checkout -- data/{name}`, or {build}"
    try:
        commands = list(_read_manifest(directory).commands.values())
    except (OSError, *NOT_JSON):
        commands = []
    imports = "; ".join(f"`{command}`" for command in commands)
    return f"import the bank again with {imports}" if imports else "restore it, or run `proofmesh bank import`"


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The decompressed content of a file. Raises BankError, also while the content is read."""
    try:
        with unpacked(path) as file:
            yield file
    except FileNotFoundError:
        available = ", ".join(splits(path.parent)) or "none"
        raise BankError(f"{path}: no such file (splits in this bank: {available}); {_remedy(path.parent)}") from None
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error}); {_remedy(path.parent)}") from error


def decode(path: Path, kind: type[T]) -> Iterator[T]:
    """Yields the rows of a bank's file. Raises BankError."""
    decoder = msgspec.json.Decoder(kind)
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except NOT_JSON as error:
                raise BankError(f"{path}, line {number}: {error}; {_remedy(path.parent)}") from error


def _content_digest(path: Path) -> bytes:
    """The digest of a file's decompressed content."""
    state = hashlib.blake2b()
    with _opened(path) as file:
        while part := file.read(PART):
            state.update(part)
    return state.digest()


# ----------------------------------------------------------------------------------------------------------------------
# A bank's manifest `bank.json`: its sources, the commands that import it again, the transitions for a warm start.

MANIFEST = "bank.json"


class WarmStartRule(msgspec.Struct, frozen=True):
    """Selects the transitions of the warm start: those of some levels, without some tactics."""

    levels: tuple[int, ...]
    held_out: tuple[str, ...] = ()
    """Transitions whose tactic contains one of these texts are left out."""

    def takes(self, level: int, tactic: str) -> bool:
        """True when a transition of this level with this tactic belongs to the warm start."""
        return level in self.levels and not any(text in tactic for text in self.held_out)


class SourceRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A source of a bank's statements, and the Lean under which they elaborate."""

    origin: str
    """The file, the folder or the id on the Hugging Face hub."""
    revision: str = ""
    """The commit of the hub's copy."""
    licence: str = ""
    """The licence that the data set states; empty if it is unknown."""
    homepage: str = ""
    paper: str = ""
    digest: str = ""
    """A digest of the statements that were read from it."""
    rows: int = 0
    statements: int = 0
    """Number of rows that were read as statements, with those that do not elaborate."""
    lean: str = ""
    """Version of the Lean under which the bank's statements elaborate; empty if this was not tried."""
    library: dict[str, str] = {}
    """Commits of that Lean's project and its packages (`node.lean.toolchain.lean_toolchain`)."""


class Manifest(msgspec.Struct, frozen=True):
    """The description of a bank. For a bank without the file it is empty."""

    commands: dict[str, str] = {}
    """The command that imports a source again, by source."""
    warm_start: WarmStartRule | None = None
    """None: all transitions belong to the warm start."""
    sources: dict[str, SourceRecord] = {}
    """Sources by the name in the rows of statements."""
    digest: str = ""
    """`node.bank.bank.digest` of the written bank; empty if it was not recorded."""
    allow: tuple[str, ...] = ()
    """The only tactics that a proof of its statements may have: heads (`rw`) and forms (`rw [h*]`); empty: all
    (`node.lean.text.allowed`)."""
    ban: tuple[str, ...] = ()
    """Tactics that no proof of its statements may have."""

    @property
    def rule(self) -> TacticRule | None:
        """The rule for its statements' proofs; None if all tactics are allowed. Raises BadRule."""
        return rule_of(self.allow, self.ban)


def manifest_of(directory: Path = DIRECTORY) -> Manifest:
    """The bank's manifest. Raises BankError."""
    try:
        manifest = _read_manifest(directory)
        _ = manifest.rule
        return manifest
    except BadRule as error:
        raise BankError(f"{directory / MANIFEST}: {error}") from error
    except (OSError, *NOT_JSON) as error:
        raise BankError(f"{directory / MANIFEST}: cannot be read ({error}); {_remedy(directory)}") from error


def _read_manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    return msgspec.json.decode(path.read_bytes(), type=Manifest) if path.exists() else Manifest()


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write a bank's manifest. Raises OSError."""
    fields = msgspec.to_builtins(manifest)
    written = {name: value for name, value in fields.items() if value or name not in ("allow", "ban")}
    write_whole(directory / MANIFEST, msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")


# ----------------------------------------------------------------------------------------------------------------------
# Reconstructs whole proofs of the bank's train split from its transitions, without the file that has the proofs.
#
# The transitions of a theorem are those of its proof in pre-order. Each has the number of remaining tactics on its
# longest branch. For nine of ten theorems, only one tree fits these numbers. For the others, the number of goals that
# each tactic leaves is compared with tactics of the same form in the unambiguous proofs, and the tree that agrees
# most is taken.

NEGATION = "_neg"
"""Suffix of a theorem's name if its negation is proved."""

MOST_TREES = 64
"""Most trees for the transitions of one proof. A proof with more is left out."""

_SIGNS = re.compile(r"\?_|\|")
"""Holes and alternatives of a tactic, which indicate the number of goals that it leaves."""

Forms = Counter[tuple[str, int]]
"""Counts of (form of a tactic, number of goals that it leaves)."""


class BankProof(msgspec.Struct, frozen=True):
    """A theorem of the bank, or its negation, with a proof that Lean accepted."""

    theorem: Theorem
    level: int
    family: str
    script: str
    """The tactic block after `:= by`, starting at column 0."""


def load_proofs(directory: Path = DIRECTORY, *, warm_start: bool = False) -> list[BankProof]:
    """Proofs of the train split, in the order of its transitions. `warm_start`: only proofs whose transitions all
    belong to the warm start. Empty for a bank without transitions. Raises BankError."""
    rule = manifest_of(directory).warm_start if warm_start else None
    rows = load_transitions(directory)
    proofs = {name: list(steps) for name, steps in groupby(rows, key=lambda row: row.theorem)}
    trees = {name: list(_trees(steps)) for name, steps in proofs.items()}
    forms = _forms(candidates[0] for candidates in trees.values() if len(candidates) == 1)
    theorems = {each.theorem.name: each.theorem for each in load_statements("train", directory)} if rows else {}
    return [
        BankProof(theorem, steps[0].level, steps[0].family, "\n".join(proof_lines(tree, "")))
        for name, steps in proofs.items()
        if (rule is None or all(rule.takes(step.level, step.tactic) for step in steps))
        and (tree := _likeliest(trees[name], forms)) is not None
        and (theorem := _theorem(name, theorems)) is not None
    ]


def _theorem(name: str, theorems: Mapping[str, Theorem]) -> Theorem | None:
    if name in theorems:
        return theorems[name]
    refuted = theorems.get(name.removesuffix(NEGATION))
    return refuted.negation() if refuted else None


def _trees(steps: Sequence[BankTransition]) -> Iterator[ProofTree]:
    """The proof trees with these steps in pre-order; none if there are more than MOST_TREES."""
    trees = [tree for end, tree in _from(steps, 0) if end == len(steps)]
    yield from trees if len(trees) <= MOST_TREES else []


def _from(steps: Sequence[BankTransition], start: int) -> list[tuple[int, ProofTree]]:
    """The trees that can start with a step, each with the index of the step after its end."""
    endings: list[tuple[int, ProofTree]] = []
    step = steps[start]

    def grow(end: int, children: tuple[ProofTree, ...], longest: int) -> None:
        if longest == step.remaining_steps - 1:
            layout = tuple((goal,) for goal in range(len(children)))
            endings.append((end, ProofTree(step.tactic, layout, children, step.state)))
        if end < len(steps) and steps[end].remaining_steps < step.remaining_steps and len(endings) <= MOST_TREES:
            for after, child in _from(steps, end):
                grow(after, (*children, child), max(longest, steps[end].remaining_steps))

    grow(start + 1, (), 0)
    return endings


def _likeliest(trees: Sequence[ProofTree], forms: Forms) -> ProofTree | None:
    """The tree whose tactics leave the usual numbers of goals for their forms; None if there is no single best one."""
    if len(trees) == 1:
        return trees[0]
    scores = [sum(forms[form] > 0 for form in _forms([tree]).elements()) for tree in trees]
    best = [tree for tree, score in zip(trees, scores, strict=True) if score == max(scores)]
    return best[0] if len(best) == 1 else None


def _forms(trees: Iterator[ProofTree] | Sequence[ProofTree]) -> Forms:
    forms: Forms = Counter()
    todo = list(trees)
    while todo:
        node = todo.pop()
        todo += node.children
        forms[form_of(node.tactic), len(node.children)] += 1
    return forms


def form_of(tactic: str) -> str:
    """A tactic's first word, and its holes and alternatives."""
    return " ".join([tactic.split(maxsplit=1)[0] if tactic.strip() else "", *_SIGNS.findall(tactic)])
