"""lean-dojo-v2 itself reads what `proofmesh trace --format leandojo` writes.

It is installed aside, into the test's folder: it pins old versions of half the world. It needs a GitHub token in the
environment only to be imported; an empty one keeps it from the network.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.command import trace

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(900)]

PACKAGES = """
lean-dojo-v2==1.0.9 deepspeed pytorch-lightning lightning-utilities torchmetrics hjson py-cpuinfo einops pydantic
pydantic-core annotated-types typing-inspection loguru networkx PyGithub GitPython gitdb smmap toml lxml PyNaCl cffi
cryptography python-dotenv PyJWT
"""
"""What its modules that read data import, and this project does not have."""

READ = """
import datetime, json, sys
from pathlib import Path
from lean_dojo_v2.database import DynamicDatabase, PremiseFile, Repository, Theorem
from lean_dojo_v2.lean_agent.common import Corpus
from lean_dojo_v2.lean_agent.generator.datamodule import GeneratorDataset
from lean_dojo_v2.trainer.sft_trainer import SFTDataset

folder = Path(sys.argv[1])
repository = Repository.from_dict({
    "url": "https://github.com/o/r", "name": "o/r", "commit": "c", "lean_version": "v4", "lean_dojo_version": "1.0.9",
    "metadata": {"date_processed": datetime.datetime.now().isoformat()},
    "theorems_folder": str(folder / "random"), "premise_files_corpus": str(folder / "corpus.jsonl"),
    "files_traced": str(folder / "traced_files.jsonl"),
})
database = DynamicDatabase(str(folder / "database.json"))
database.add_repository(repository)
corpus = Corpus(str(folder / "corpus.jsonl"))
theorem = next(each for each in repository.proven_theorems if each.full_name == "second")
premise = corpus.locate_premise("a.lean", theorem.traced_tactics[0].annotated_tactic[1][0].def_pos)
print(json.dumps({
    "theorems": sorted(each.full_name for each in repository.proven_theorems),
    "tactics": [each.tactic for each in theorem.traced_tactics],
    "premises": len(corpus), "premise": premise.full_name,
    "accessible": sorted(each.full_name for each in corpus.get_accessible_premises("a.lean", theorem.start)),
    "files": [str(each) for each in repository.files_traced],
    "sft": sum(len(SFTDataset(str(path)).data) for path in (folder / "random").glob("*.json")),
    "generator": sum(
        len(GeneratorDataset(str(path), corpus, False, None, 512, 512, 0.0, True, None, False))
        for path in (folder / "random").glob("*.json")),
}))
"""

SOURCE = (
    "theorem first (n : Nat) : n + 0 = n := by\n  rfl\n\ntheorem second (n : Nat) : n + 0 = n := by\n  rw [first]\n"
)


def test_lean_dojo_v2_loads_theorems_and_corpus(tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(aside), *PACKAGES.split()]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=600)
    if installed.returncode:
        pytest.skip(f"lean-dojo-v2 cannot be installed here: {installed.stderr.strip().splitlines()[-1][:200]}")
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.lean").write_text(SOURCE)
    assert trace.main([str(source), "--out", str(tmp_path / "out"), "--format", "leandojo"]) == 0
    environment = {**os.environ, "GITHUB_ACCESS_TOKEN": "", "PYTHONPATH": str(aside), "DS_BUILD_OPS": "0"}
    read = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "out" / "leandojo")],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=tmp_path,
    )
    assert read.returncode == 0, read.stderr[-2000:]
    found = json.loads(read.stdout.strip().splitlines()[-1])
    assert found["theorems"] == ["first", "second"] and found["tactics"] == ["rw [first]"]
    assert found["premise"] == "first" and found["premises"] == 2 and found["accessible"] == ["first"]
    assert found["files"] == ["a.lean"] and found["sft"] == found["generator"] == 2
