"""A taskset for `verifiers` (0.4): theorems to prove in Lean, with a reward for proofs that Lean's kernel accepts.

    vf-eval proofmesh-verifiers --env.taskset.data statements.jsonl --env.taskset.task.where http://localhost:8000 \\
        -m MODEL --client.base-url http://HOST:PORT/v1 --no-push

A rollout has one turn: the model gets the statement, and `node.rewards.lean_reward.LeanReward` judges its answer, with
Lean in this process or a `proofmesh serve`. If Lean does not answer, the rollout gets an error, never the reward 0.
This is a separate package because `verifiers` finds packages by a name without dots. `verifiers` needs another version
of `openai` than `proofmesh[models]`, so install `proofmesh[verifiers]` in a separate environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import verifiers.v1 as vf

__all__ = ["LeanEnv", "LeanHarness", "LeanTaskset"]

ASK = """Prove this theorem in Lean 4. Answer with the whole theorem and its proof in one ```lean4 block.
The statement stays as it is.

```lean4
{header}{statement} := by
  sorry
```"""
"""The default prompt."""

ANSWER_SECONDS = 3600.0
"""Time limit of the model's answer."""


class LeanUnreachable(RuntimeError):
    """Lean gave no verdict. It implies nothing about the answer."""


class LeanTaskData(vf.TaskData):
    """A theorem to prove."""

    statement: str
    """`theorem NAME ... : ...`."""
    header: str = ""
    """The Lean text above it: imports, `open`, definitions."""


class LeanTaskConfig(vf.TaskConfig):
    """The Lean that verifies proofs."""

    where: str = "here"
    """`here` (Lean in this process), `http://HOST:PORT` (`proofmesh serve`), or a mesh, `nats://HOST:PORT`."""
    api_key: str = ""
    """Key of that service."""
    run: str = "demo"
    """Run of that mesh."""
    seconds: float = 60.0
    """Most seconds of Lean for each proof."""
    lean: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """The Lean of this process, if `where` is `here`: keys of section [lean], such as `project`."""


class LeanTask(vf.Task[LeanTaskData, vf.State, LeanTaskConfig]):
    """One theorem; the reward is 1 for a proof and 0 for anything else."""

    @property
    def key(self) -> str:
        """Identifies the task when a run is resumed."""
        return f"{self.data.name or ''}:{self.data.header}:{self.data.statement}"

    @vf.reward
    async def proved(self, trace: vf.Trace) -> float:
        """1 if Lean's kernel accepts the answer as a proof of the statement with only Lean's standard axioms, else 0.

        Raises LeanUnreachable.
        """
        from common.config import convert
        from common.output.visible import without_credentials
        from common.settings import LeanSettings
        from node.rewards.lean_reward import LeanReward

        config = self.config
        reward = LeanReward(
            kind="proofs",
            where=config.where,
            run=config.run,
            api_key=config.api_key,
            lean=convert(LeanSettings, config.lean, "lean:"),
            seconds=config.seconds,
        )
        columns = {"theorem": [self.data.statement], "header": [self.data.header]}
        (judged,) = await asyncio.to_thread(reward.judge, [trace.last_reply], **columns)
        value = reward.values.of(judged.verdict)
        if value is None:
            raise LeanUnreachable(f"no verdict from Lean ({without_credentials(config.where)}): {judged.reason}")
        return value


class LeanTasksetConfig(vf.TasksetConfig):
    """Which theorems are used, and the prompt."""

    task: LeanTaskConfig = LeanTaskConfig()
    data: str = "bank:train"
    """`bank:SPLIT` (train, valid, test of the built-in bank), or a .jsonl file of rows {"name", "statement", "header"};
    a .txt file of one statement a line."""
    header: str = ""
    """The header of theorems whose row has none."""
    prompt: str = ASK
    """The prompt, with the placeholders {statement} and {header}."""


class LeanTaskset(vf.Taskset[LeanTask, LeanTasksetConfig]):
    """Theorems of a bank or a file."""

    def load(self) -> Iterator[LeanTask]:
        """A task for each theorem. Raises ValueError if the file does not exist, or a row has no statement."""
        for name, statement, header in _rows(self.config.data):
            header = header or self.config.header
            above = f"{header.rstrip()}\n\n" if header else ""
            prompt = self.config.prompt.replace("{header}", above).replace("{statement}", statement)
            yield LeanTask(LeanTaskData(name=name, prompt=prompt, statement=statement, header=header), self.config.task)


def _rows(data: str) -> Iterator[tuple[str, str, str]]:
    """Name, statement and header of each theorem. Raises ValueError."""
    kind, _, split = data.partition(":")
    if kind == "bank":
        # The bank's own theorems, as text: `:= by` is left to the answer.
        from node.bank.bank import load_statements
        from node.lean.text.statement import statement_lines

        for each in load_statements(split or "train"):
            lines = "\n".join(statement_lines(f"theorem {each.theorem.name}", each.theorem))
            yield each.theorem.name, lines.removesuffix("by").rstrip().removesuffix(":=").rstrip(), each.theorem.header
        return
    # A file, read as `proofmesh prove` reads it.
    from msgspec import DecodeError
    from msgspec.json import decode

    from node.proving.rows import read_row

    path = Path(data)
    try:
        lines_of_file = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{data}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines_of_file, 1):
        row = read_row(line, number, path.suffix)
        if row is None:
            continue
        if row.problem:
            raise ValueError(f"{data}: {row.problem}")
        header = ""
        if path.suffix == ".jsonl":
            try:
                # `read_row` knows no header: it is a field of JSON rows only.
                header = str(decode(line).get("header") or "")
            except DecodeError:
                header = ""
        yield row.name, row.statement, header


class LeanHarnessConfig(vf.HarnessConfig):
    """Nothing to set."""


class LeanHarness(vf.Harness[LeanHarnessConfig]):
    """One prompt and one answer, in this process: a proof needs no program in a sandbox."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Sends one request through the interception server of `verifiers`. An error becomes an error of the
        rollout."""
        system, prompt = self.resolve_text_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        body = {"model": ctx.model, "messages": [*messages, {"role": "user", "content": prompt}]}
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, headers={"Authorization": f"Bearer {secret}"}) as session,
            session.post(f"{endpoint.rstrip('/')}/chat/completions", json=body) as answer,
        ):
            said = await answer.text()
            return vf.ProgramResult(0 if answer.ok else 1, said if answer.ok else "", "" if answer.ok else said)


class LeanEnvConfig(vf.SingleAgentEnvConfig):
    """One agent that writes proofs, without a sandbox: it runs no code."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class LeanEnv(vf.SingleAgentEnv, vf.Env[LeanEnvConfig]):
    """The default environment of the taskset."""
