import sqlite3
from contextlib import closing
from pathlib import Path

from common.records.readers import DATABASE
from ui.playback import RECORDING, playing
from ui.runs import Runs
from ui.views import NoQuery
from ui.views.learning import overview


def counted(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def test_a_recording_grows_and_ends_like_its_run() -> None:
    assert RECORDING.stat().st_size < 1_500_000
    with playing() as player:
        run = Runs(player.folder.parent).get(player.folder.name)
        shown = []
        for share in (0.0, 0.3, 0.6, 0.6, 1.0):
            ended = player.play(player.begin + share * (player.end - player.begin))
            found = overview(run, NoQuery())
            shown.append((counted(player.folder, "results"), len(found["evaluations"]), len(run.node_history()), ended))
        counts = [results for results, *_ in shown]
        assert counts == sorted(counts) and counts[2] == counts[3] < counts[4] > 100
        assert [evaluations for _, evaluations, *_ in shown][::4] == [0, 2]
        assert shown[-1][3] and not shown[0][3] and shown[-1][2] >= 5
        assert found["summary"]["solved_after"] > found["summary"]["solved_before"] and found["proofs"]
        with closing(sqlite3.connect(player.folder / DATABASE)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            tried = db.execute("SELECT COUNT(DISTINCT theorem_id) FROM attempts WHERE purpose IN ('train', 'disprove')")
            assert counted(player.folder, "theorem_statistics") == tried.fetchone()[0]
    assert not player.folder.exists()
