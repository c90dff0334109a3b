"""Writes proved statements as Lean files that `proofmesh verify` accepts.

    import Mathlib                           the imports of all statements in the file
    namespace ProofmeshProofs
    section                                  statements with the same header: `open` and `set_option` end with it
    set_option autoImplicit false            as when the proof was verified
    open Real
    -- mathd_algebra_10: solved by 1 of 1 passes, after 17 simulations
    theorem mathd_algebra_10 ...
    end
    namespace Header2                        a header with declarations: its names cannot clash with others
    def twice (n : Nat) : Nat := n + n
    ...

The namespace avoids clashes with theorems of the library. The name of a theorem occurs in no header, statement or proof
of its file, so their meaning is the same as when they were verified. A header whose declarations have an effect outside
a namespace (notation, instances, `attribute`) gets a separate file. So do statements with other imports, which might
not work together.
"""

from __future__ import annotations

import errno
import glob
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.files import write_whole
from common.lean import Theorem
from node.lean.check.files.proofs import declares
from node.lean.check.verify.kernel import HEARTBEATS
from node.lean.text.lexing import blanked
from node.lean.text.script import INDENT
from node.lean.text.statement import completed, imports, imports_end, statement_lines

NAMESPACE = "ProofmeshProofs"
"""Namespace of all proofs. No library uses it."""

_FOUND = "Proofs that proofmesh found"
"""Begins the comment of every file."""

MOST_NAMED = 20
"""Most statements that a comment names."""

_LIMIT = f"set_option maxHeartbeats {HEARTBEATS}"
"""The limit of a verification (`node.lean.check.verify.kernel`); a header may set another one."""

_NO_AUTO_IMPLICIT = "set_option autoImplicit false"
"""Has the same place as in a verification: before a plain header, after a header with declarations (`files.proofs`)."""

_WORD = re.compile(r"[^\W\d][\w'!?]*")

_SPREADS = re.compile(
    r"(?<!local )\b(?:notation3?|infix[lr]?|prefix|postfix|instance|macro\w*|syntax|elab\w*|binder_predicate)\b"
    r"|\battribute\b(?!\s*\[local )|(?<!local )\b(?:unif_hint|simproc)\b"
    r"|\b(?:export|scoped|mutual|namespace|end|initialize)\b"
    r"|@\[|_root_|\b(?:def|abbrev|theorem|lemma|structure|class|inductive|axiom|opaque)\s+«?[\w']+»?\."
)
"""Parts of a header that have an effect outside an enclosing namespace, change their meaning in one, or end it."""

_SECTION = re.compile(r"\bsection\b[ \t]*([^\s]*)")


@dataclass(frozen=True)
class ProvedStatement:
    """A statement with its verified proof."""

    name: str
    theorem: Theorem
    script: str
    """The block of tactics."""
    comment: str = ""
    """How it was proved; follows the name in a comment above the theorem."""


@dataclass(frozen=True)
class ProofsFiles:
    """The texts of the files, and the proved statements that they leave out."""

    texts: tuple[str, ...]
    """At least one text; the first is `proofs.lean`."""
    proofs: int
    left_out: tuple[str, ...]
    """Statements from gaps in Lean files: their proofs belong into those files."""


@dataclass
class _Group:
    """Proved statements with the same header."""

    header: str
    """The header without its imports."""
    rows: list[ProvedStatement]

    @property
    def declares(self) -> bool:
        return declares(self.header)

    @property
    def alone(self) -> bool:
        """Whether the group needs a separate file."""
        return _SPREADS.search(blanked(self.header)) is not None


@dataclass
class _File:
    """The contents of one file."""

    imports: tuple[str, ...]
    groups: list[_Group] = field(default_factory=list)


def proofs_files(proved: Sequence[ProvedStatement], title: str, lean_version: str, header: str = "") -> ProofsFiles:
    """Files with these statements and their proofs. Proofs for gaps in Lean files are left out: they belong there.

    `title`: says in a comment where the proofs come from. `lean_version`: of the Lean that verified them. `header`: the
    configured header for statements without imports.
    """
    placed = tuple(row.name for row in proved if row.theorem.place is not None)
    rows = [row for row in proved if row.theorem.place is None]
    head = "".join(
        f"-- {_line(each)}\n"
        for each in (
            f"{_FOUND}: {title}.",
            f"Lean {lean_version}. Check them with `proofmesh verify`.",
        )
    )
    texts = [_text(file, head, configured=bool(header.strip())) for file in _files(rows, header)]
    texts = texts or [head + ("" if placed else "-- No statement is proved.\n")]
    if placed:
        texts[0] += f"\n-- {_left_out(placed)}\n"
    return ProofsFiles(tuple(texts), len(rows), placed)


def write_files(first: Path, texts: Sequence[str]) -> list[Path]:
    """Write the texts to `first`, such as `proofs.lean`, and to `proofs-2.lean` ... beside it; returns the files.

    Replaces and deletes only files of an earlier call. Raises FileExistsError for any other file in their place, before
    anything is written, and OSError.
    """
    files = [first, *(first.with_stem(f"{first.stem}-{number}") for number in range(2, len(texts) + 1))]
    for file in files:
        if file.exists() and not _is_ours(file):
            raise FileExistsError(errno.EEXIST, "exists, and proofmesh did not write it", str(file))
    for file, text in zip(files, texts, strict=True):
        write_whole(file, text.encode(errors="replace"))
    numbered = first.parent.glob(f"{glob.escape(first.stem)}-*{first.suffix}")
    for file in set(numbered) - set(files):
        if re.fullmatch(r"\d+", file.stem[len(first.stem) + 1 :]) and _is_ours(file):
            file.unlink()
    return files


def _is_ours(file: Path) -> bool:
    """Whether an earlier call wrote the file: its comment says so."""
    return _FOUND.encode() in file.read_bytes()


def _left_out(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    named = ", ".join(_line(name) for name in names[:MOST_NAMED])
    return f"Not here, since these proofs belong into the files of their gaps: {named}{more}"


# --- which proof goes into which file ---------------------------------------------------------------------------------


def _files(rows: Sequence[ProvedStatement], default_header: str) -> list[_File]:
    """Groups statements by their headers, and these groups into files by their imports."""
    groups: dict[tuple[tuple[str, ...], str], _Group] = {}
    for row in rows:
        header = completed(row.theorem.header, default_header)
        imported, body = _imports(header), header[imports_end(header) :].strip()
        groups.setdefault((imported, body), _Group(body, [])).rows.append(row)
    files: dict[tuple[str, ...], _File] = {}
    alone = []
    wholes = {imported: _united(imported, [candidate for candidate, _ in groups]) for imported, _ in groups}
    for (imported, _), group in groups.items():
        if group.alone:
            alone.append(_File(imported, [group]))
        else:
            whole = wholes[imported]
            files.setdefault(whole, _File(whole)).groups.append(group)
    for file in files.values():
        file.groups.sort(key=lambda group: group.declares)
    return [*files.values(), *alone]


def _imports(header: str) -> tuple[str, ...]:
    """The import lines of a header, sorted if they are plain imports: their order does not matter."""
    lines = imports(header)
    plain = all(line.split()[0] == "import" for line in lines)
    return tuple(sorted({" ".join(line.split()) for line in lines}) if plain else lines)


def _united(imported: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The largest set of imports that includes these: a benchmark's own header shows that its modules work together. A
    header without imports uses only core Lean and is not united with others: a library would add names and simp lemmas
    that the verification did not have."""
    plain = [other for other in others if imported and set(imported) <= set(other) and _plain(other)]
    return max(plain, key=lambda other: (len(other), other)) if plain and _plain(imported) else imported


def _plain(imported: Sequence[str]) -> bool:
    return all(line.startswith("import ") for line in imported)


# --- the text of a file -----------------------------------------------------------------------------------------------


def _text(file: _File, head: str, *, configured: bool) -> str:
    # To a file without imports `proofmesh verify` adds the configured header, which is already part of the text.
    imported = file.imports or (("import Init",) if configured else ())
    names = _Names(file)
    parts = [*imported, "\n" + head + _LIMIT]
    if len(file.groups) == 1 and file.groups[0].alone:
        parts += _alone(file.groups[0], names)
    else:
        parts.append(f"\nnamespace {names.namespace}")
        for number, group in enumerate(file.groups, 1):
            parts += _group(group, names, number)
        parts.append(f"\nend {names.namespace}")
    return "\n".join(parts).lstrip("\n") + "\n"


def _group(group: _Group, names: _Names, number: int) -> Iterator[str]:
    """The text of statements with the same header. At its end all scopes are closed that the header opens."""
    if group.declares:
        scope = names.free(f"Header{number}")
        yield f"\nnamespace {scope}"
        opened, before, behind = f"end {scope}", "", _NO_AUTO_IMPLICIT
    else:
        yield "\nsection"
        opened, before, behind = "end", _NO_AUTO_IMPLICIT, ""
    yield from (each for each in (before, group.header, behind) if each)
    for row in group.rows:
        yield _theorem(row, names)
    sections = _SECTION.findall(blanked(group.header))
    yield "\n" + "\n".join([*(f"end {name}".rstrip() for name in reversed(sections)), opened])


def _alone(group: _Group, names: _Names) -> Iterator[str]:
    """The text of a separate file for a header with effects outside a namespace. The header is unchanged. Scopes that
    it leaves open end with the file, as when its statements were verified."""
    yield f"\n{group.header}\n{_NO_AUTO_IMPLICIT}\n\nnamespace {names.namespace}"
    for row in group.rows:
        yield _theorem(row, names)
    yield f"\nend {names.namespace}"


def _theorem(row: ProvedStatement, names: _Names) -> str:
    """A comment, the statement as it was verified, and its proof."""
    theorem = row.theorem
    block = textwrap.indent(textwrap.dedent(row.script.strip("\n")), INDENT)
    *lines, last = statement_lines(f"theorem {names.of(row)}", theorem)
    stated = f"{lines[0]} {last.strip()}" if len(lines) == 1 else "\n".join([*lines, last])
    comment = f"{row.name}: {row.comment}" if row.comment else row.name
    return f"\n-- {_line(comment)}\n{stated}\n{block}"


def _line(text: str) -> str:
    """Text in one line, so that it can follow `--`."""
    return " ".join(text.split())


class _Names:
    """Chooses names for a file's theorems: their own names unless these occur in the file."""

    def __init__(self, file: _File) -> None:
        self._used: set[str] = set()
        """Words that occur in the file, and names that are already chosen."""
        for group in file.groups:
            self._used.update(_words(group.header))
            for row in group.rows:
                for text in (row.theorem.binders, row.theorem.conclusion, row.script):
                    self._used.update(_words(text))
        self.namespace = self.free(NAMESPACE)
        self._given: dict[str, str] = {}

    def of(self, row: ProvedStatement) -> str:
        """The name of a statement's theorem. A word without a digit could be a keyword, and letters that Lean reads as
        symbols (`λ`) or does not know (`ï`) would end a name, so such names get guillemets."""
        name = row.name
        if name not in self._given:
            plain = re.sub(r"[^\w']+", "_", name).strip("_'") or "t"
            free = self.free(plain if plain[0].isalpha() else f"t_{plain}")
            self._given[name] = free if free.isascii() and re.search(r"\d", free) else f"«{free}»"
        return self._given[name]

    def free(self, wish: str) -> str:
        """A name that does not occur in the file."""
        name, number = wish, 0
        while name in self._used:
            number += 1
            name = f"{wish}_{number}"
        self._used.add(name)
        return name


def _words(text: str) -> Iterator[str]:
    """All parts of all names in a text."""
    return (match.group() for match in _WORD.finditer(text))
