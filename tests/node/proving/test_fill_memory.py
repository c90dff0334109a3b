"""What earlier runs have found out about gaps."""

from common.lean import Context, Place
from node.proving.fill import FillMemory, Remembered
from node.proving.prover import Budget

PLACE = Place(Context.of("def a := 1\n"), "theorem t : a = 1 := ", "\n", False)


def test_a_place_is_recalled_by_its_text_and_its_lean(tmp_path):
    memory = FillMemory(tmp_path, ("4.35",))
    assert memory.recall(PLACE) is None
    memory.keep(PLACE, Remembered(("rfl",), by="search"))
    found = memory.recall(PLACE)
    assert found is not None and found.script == ("rfl",)
    assert FillMemory(tmp_path, ("4.36",)).recall(PLACE) is None
    assert memory.recall(Place(Context.of("def a := 2\n"), PLACE.before, PLACE.after, PLACE.tactic)) is None


def test_a_search_without_success_counts_for_no_larger_budget_and_no_other_way():
    failed = Remembered(reason="no proof", budget_seconds=20, budget_simulations=100, way="tactics")
    assert failed.spares(Budget(20, 100), "tactics") and failed.spares(Budget(5, 50), "tactics")
    assert not failed.spares(Budget(21, 100), "tactics") and not failed.spares(Budget(20, 101), "tactics")
    assert not failed.spares(Budget(20, 100), "own:model")
    assert Remembered(("rfl",)).spares(Budget(900, 9000), "whatever")


def test_what_cannot_be_read_or_written_is_not_there(tmp_path):
    memory = FillMemory(tmp_path / "fill", ("4.35",))
    memory.keep(PLACE, Remembered(("rfl",)))
    (file,) = memory.folder.iterdir()
    file.write_bytes(b'{"script": ["rf')
    assert memory.recall(PLACE) is None
    (tmp_path / "no folder").write_text("")
    FillMemory(tmp_path / "no folder", ()).keep(PLACE, Remembered(("rfl",)))
