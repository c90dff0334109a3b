"""Rewards of users: found by name, called as TRL calls them, and refused in one line where they are wrong."""

import asyncio
import textwrap
from pathlib import Path

import pytest

from node.data.errors import InputError
from node.tuning.grpo_data import checked, numbers, users

pytestmark = pytest.mark.compute  # imports transformers

COLUMNS = ("prompt", "theorem")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "broken_rewards.py").write_text("1 / 0\n")
    (tmp_path / "missing_rewards.py").write_text("import no_such_package_here\n")
    (tmp_path / "own_rewards.py").write_text(
        textwrap.dedent("""
        THREE = 3

        def short(completions, **kwargs):
            return [1.0 / len(each) for each in completions]

        def narrow(completions):
            return []

        async def later(completions, theorem, **kwargs):
            return [None for _ in completions]
        """)
    )
    monkeypatch.chdir(tmp_path)
    return "own_rewards"


def test_a_function_of_the_current_folder_is_found(module):
    reward = checked(users(f"{module}:short", COLUMNS), f"{module}:short")
    assert reward(completions=["ab"], theorem=["t"]) == [0.5] and reward.__name__ == "short"
    later = checked(users(f"{module}:later", COLUMNS), f"{module}:later")
    assert asyncio.run(later(completions=["ab", "c"], theorem=["t", "t"])) == [None, None]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_rewards:f", "no module `nowhere_rewards`"),
        ("missing_rewards:f", "no module `no_such_package_here`, which `missing_rewards` imports"),
        ("broken_rewards:f", "`broken_rewards` cannot be imported: ZeroDivisionError"),
        ("own_rewards:no", "has no `no`"),
        ("own_rewards:THREE", "is not a function but int"),
        ("own_rewards:narrow", "cannot be called as TRL calls it"),
    ],
)
def test_what_is_no_reward_is_refused(module, name, words):
    with pytest.raises(InputError) as refused:
        users(name, COLUMNS)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([1.0], "1 rewards for 2 completions"),
        ([1.0, float("nan")], "nan for completion 1"),
        ([float("inf"), 1.0], "inf for completion 0"),
        (["high", 1.0], "'high' for completion 0"),
        (0.5, "float; return a list"),
        (None, "NoneType; return a list"),
    ],
)
def test_answers_that_are_no_rewards_are_refused(found, words):
    with pytest.raises(InputError, match=words):
        numbers(found, 2, "m:f")
    assert numbers((None, 1), 2, "m:f") == [None, 1.0]
