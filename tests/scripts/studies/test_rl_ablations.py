from pathlib import Path

from common import config
from common.files import recipe
from node.learner.settings import LearnerSettings
from node.prover.settings import ProverSettings
from scripts.studies.__main__ import Study, changed, filled, read


def study(tmp_path: Path) -> Study:
    """The study, in a folder with a finished whole run."""
    run = tmp_path / "rl-whole-0"
    for step in ("step-000004", "step-000009"):
        (run / "checkpoints" / step).mkdir(parents=True)
    (run / "summary.json").write_text('{"warm_start": {"steps": 4}, "train_steps": 5}')
    found, _, _ = read(["rl-ablations", "--runs", str(tmp_path)])
    return found


def test_every_part_is_left_out_by_keys_that_the_roles_know(tmp_path: Path) -> None:
    recipe_content = config.read(recipe("demo"))
    for name, values, table in study(tmp_path).cells():
        changes = filled(table["changes"], values)
        content = changed(recipe_content, changes)
        parts = {
            path: keys for path, keys in changes.items() if path not in ("learner.evaluation", "learner.warm_start")
        }
        assert (changed(recipe_content, parts) != recipe_content) == (name != "whole-0"), name
        if name != "whole-0":
            warm = str(tmp_path / "rl-whole-0" / "checkpoints" / "step-000004")
            assert content["learner"]["warm_start"]["checkpoint"] == warm
        file = tmp_path / f"{name}.toml"
        file.write_text(_toml(content), encoding="utf-8")
        config.load(LearnerSettings, file, "learner")
        config.load(ProverSettings, file, "prover")


def _toml(content: dict[str, object]) -> str:
    import tomli_w

    return tomli_w.dumps(content)
