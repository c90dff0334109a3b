"""Headers as text: the configured one and a theorem's own, and what they import."""

from node.lean.text.statement import completed, import_lines, imports


def test_a_theorems_header_comes_behind_the_configured_one_unless_it_imports():
    assert completed("", "import A") == "import A"
    assert completed("open Nat", "import A\nopen B") == "import A\nopen B\nopen Nat"
    assert completed("import C\nopen Nat", "import A") == "import C\nopen Nat"
    assert completed("open Nat", "") == "open Nat"


def test_the_lines_that_import():
    header = "-- one\nimport A\n/- import C\nimport D -/\n\npublic import B\ndef important := 1\n/-\nimport E\n-/"
    assert imports(header) == ["import A", "public import B"] and import_lines(header) == 6
    assert import_lines("open Nat") == 0
