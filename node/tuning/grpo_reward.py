"""The reward of a GRPO training: Lean's, or a function of the user, whose results are checked. TRL calls it with
keyword arguments: `prompts`, `completions`, `completion_ids`, `trainer_state`, `log_extra`, `log_metric` and the
columns of the data set. It returns one number for each completion, or None for no reward.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from node.data.errors import InputError
from node.rewards.lean_reward import BadRow, LeanReward, Unavailable
from node.tuning.grpo_settings import LEAN, GrpoSettings

PASSED = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")
"""Arguments that TRL passes in addition to the columns."""

Reward = Callable[..., Any]


def lean_reward(settings: GrpoSettings, kind: str, template: str) -> LeanReward:
    """Raises InputError."""
    try:
        return LeanReward(
            kind="steps" if kind == "steps" else "proofs",
            where=settings.url or "here",
            run=settings.run,
            lean=settings.lean,
            template=template,
            seconds=settings.seconds,
            at_once=settings.at_once,
        )
    except ValueError as error:
        raise InputError(f"--url: {error}") from error


def reached(reward: LeanReward) -> LeanReward:
    """The reward, after a test that its Lean answers. Raises InputError."""
    try:
        reward.check()
    except Unavailable as error:
        where = f"--url {reward.where}" if reward.where != "here" else "Lean on this machine"
        raise InputError(f"{where}: does not answer: {error}") from error
    return reward


def chosen(settings: GrpoSettings, kind: str, template: str, columns: Iterable[str]) -> Reward:
    """The reward that the settings name. Raises InputError."""
    if settings.reward == LEAN:
        return checked(reached(lean_reward(settings, kind, template)), "lean")
    return checked(users(settings.reward, columns), settings.reward)


def users(name: str, columns: Iterable[str]) -> Reward:
    """The user's function MODULE:FUNCTION. The module may also be in the current folder. Raises InputError."""
    module_name, _, function_name = name.partition(":")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = f"no module `{error.name}`" + (
            "" if error.name == module_name else f", which `{module_name}` imports"
        )
        raise InputError(f"--reward {name}: {missing}; it must be in {folder} or in sys.path") from error
    except Exception as error:
        raise InputError(
            f"--reward {name}: `{module_name}` cannot be imported: {type(error).__name__}: {error}"
        ) from error
    function = getattr(module, function_name, None)
    if function is None:
        raise InputError(f"--reward {name}: `{module_name}` has no `{function_name}`")
    if not callable(function):
        raise InputError(f"--reward {name}: `{function_name}` is not a function but {type(function).__name__}")
    try:
        inspect.signature(function).bind(**dict.fromkeys({*PASSED, *columns}))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"--reward {name}: cannot be called as TRL calls it ({error}); write def {function_name}(completions, "
            "**kwargs): its keyword arguments are prompts, completions, completion_ids, the data's columns, ..."
        ) from error
    return function


def checked(reward: Reward, name: str) -> Reward:
    """Wraps a reward so that it raises InputError if its result is not what TRL expects."""
    if inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(getattr(reward, "__call__", None)):  # noqa: B004

        async def checked_reward(**passed: Any) -> list[float | None]:
            return numbers(await _explained_async(reward, name, passed), len(passed["completions"]), name)

    else:

        def checked_reward(**passed: Any) -> list[float | None]:  # type: ignore[misc]
            return numbers(_explained(reward, name, passed), len(passed["completions"]), name)

    checked_reward.__name__ = getattr(reward, "__name__", name.rpartition(":")[2])
    return checked_reward


def numbers(rewards: Any, count: int, name: str) -> list[float | None]:
    """The rewards as numbers or None. Raises InputError."""
    if not isinstance(rewards, Sequence) or isinstance(rewards, str):
        rewards = rewards.tolist() if hasattr(rewards, "tolist") else rewards
    if not isinstance(rewards, Sequence) or isinstance(rewards, str):
        raise InputError(f"--reward {name}: returned {type(rewards).__name__}; return a list of numbers")
    if len(rewards) != count:
        raise InputError(
            f"--reward {name}: returned {len(rewards)} rewards for {count} completions; return one for each"
        )
    for index, each in enumerate(rewards):
        if each is not None and not (hasattr(each, "__float__") and math.isfinite(float(each))):
            raise InputError(
                f"--reward {name}: returned {each!r} for completion {index}; return a finite number, or None for "
                "no reward"
            )
    return [None if each is None else float(each) for each in rewards]


def _explained(reward: Reward, name: str, passed: dict[str, Any]) -> Any:
    """Raises InputError."""
    try:
        return reward(**passed)
    except BadRow as error:
        raise InputError(f"--data: {error}") from error
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"--reward {name}: raised {type(error).__name__}: {error}") from error


async def _explained_async(reward: Reward, name: str, passed: dict[str, Any]) -> Any:
    """Raises InputError."""
    try:
        return await reward(**passed)
    except BadRow as error:
        raise InputError(f"--data: {error}") from error
    except Exception as error:
        raise InputError(f"--reward {name}: raised {type(error).__name__}: {error}") from error
