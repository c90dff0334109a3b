"""The section [lean], and the header made from it."""

from common.settings import LeanSettings


def test_settings_write_a_header():
    settings = LeanSettings(imports=["A", "B.C"], opens=["Nat", "scoped Topology"], options=["pp.all=true", "x = 3"])
    settings.check()
    assert settings.header().split("\n") == [
        "import A",
        "import B.C",
        "set_option pp.all true",
        "set_option x 3",
        "open Nat",
        "open scoped Topology",
    ]
