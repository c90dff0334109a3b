import random
import zlib
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from common.protocol.attempts import (
    Attempt,
    AttemptOutcome,
    AttemptResult,
    AttemptStatistics,
    KeptSearch,
    Purpose,
    unplayed,
)
from common.records import searches
from common.records.searches import (
    BadSearch,
    FailedTactic,
    KeptSearches,
    SearchState,
    SearchTree,
    TakenTactic,
    kept_rows,
    kept_search,
    packed,
    unpacked,
)

LEAF = SearchState(1, "⊢ b", 1, 0, 0.0, 0, 0, "intro")
ROOT = SearchState(0, "⊢ a", 0, 1, -2.0, 1, None, tactics=(TakenTactic("intro", 1.0, 0, None, (1,)),))
TREE = SearchTree("theorem t : a", 1, 2, 1, (ROOT, LEAF))


def kept(searches: KeptSearches, name: str, *, solved_at: int = 0, left: float = 9.0, asked: bool = True) -> None:
    """Keep the search of an attempt with a budget of 10 simulations: 1,000 bytes that do not compress."""
    attempt = Attempt(
        name, f"of-{name}", Theorem("t", "", "True"), Purpose.TRAIN, simulations=10, seed=1, keep_search=asked
    )
    outcome = AttemptOutcome.PROVED if solved_at else AttemptOutcome.FAILED
    result: AttemptResult = msgspec.structs.replace(
        unplayed(attempt, "prover-a", outcome, ""),
        statistics=AttemptStatistics(simulations=10, solved_at_simulations=solved_at),
        search=KeptSearch(random.Random(name).randbytes(1000), left),
    )
    searches.keep(attempt, result, outcome)


def test_late_proofs_and_near_misses_stay_when_there_is_no_room(tmp_path: Path) -> None:
    searches = KeptSearches(tmp_path, 4000)
    kept(searches, "not-asked", solved_at=10, asked=False)
    kept(searches, "late", solved_at=10)
    kept(searches, "near", left=1.0)
    for number in range(5):
        kept(searches, f"early-{number}", solved_at=1)
    kept(searches, "lost", left=100.0)
    assert [each.attempt_id for each in kept_rows(tmp_path, 9)] == ["near", "late", "early-4", "early-3"]
    kept(searches, "late", solved_at=1)  # a result that comes twice counts once
    assert [each.interest for each in kept_rows(tmp_path, 9, "late")] == [1.0]
    with pytest.raises(BadSearch, match=r"near.*cannot be read"):
        kept_search(tmp_path, "of-near")
    with pytest.raises(BadSearch, match="no search of 'lost'"):
        kept_search(tmp_path, "lost")
    searches.close()


def test_a_tree_that_is_too_large_loses_messages_then_failed_tactics_then_all() -> None:
    assert unpacked("t", packed([TREE])) == (TREE,)

    def sized(state: int, message: int, count: int) -> SearchTree:
        noise = random.Random(1)
        failed = tuple(FailedTactic("simp", "error", noise.randbytes(message).hex()) for _ in range(count))
        root = msgspec.structs.replace(ROOT, state=noise.randbytes(state).hex(), failed=failed)
        return msgspec.structs.replace(TREE, states=(root, LEAF))

    most = 2**16
    for state, message, count, longest in ((10, 3000, 20, 2000), (10, 3000, 250, 201), (most // 2, 9, 1, 18)):
        (found,) = unpacked("t", packed([sized(state, message, count)], most))
        assert max(len(each.message) for each in found.states[0].failed) == min(longest + 1, 2 * message) or (
            longest == 201 and len(found.states[0].failed) == count
        )
    assert packed([sized(2 * most, 9, 1)], most) == b""


@pytest.mark.parametrize(
    "trees",
    [
        b"no zlib",
        zlib.compress(b"no msgpack"),
        zlib.compress(msgspec.msgpack.encode([1])),
        zlib.compress(b"\xdd\xff\xff\xff\xff"),
        zlib.compress(bytes(2**21)),
        packed([msgspec.structs.replace(TREE, states=(ROOT,))]),
        packed([msgspec.structs.replace(TREE, states=(msgspec.structs.replace(ROOT, parent=0), LEAF))]),
        packed([msgspec.structs.replace(TREE, states=(msgspec.structs.replace(ROOT, best=1), LEAF))]),
        packed([msgspec.structs.replace(TREE, states=(LEAF, ROOT))]),
    ],
)
def test_a_search_that_a_prover_made_up_is_refused_when_it_is_read(
    trees: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "MOST_UNPACKED", 2**20)
    with pytest.raises(BadSearch, match="of-t: the search"):
        unpacked("of-t", trees)
