"""`proofmesh models try`: prompts a model, and shows its completions and what is parsed from them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from common.output.visible import say
from node.lean.text.statement import StatementError, parse_statement
from node.llm.address import BadModel, ModelAddress
from node.llm.command import DONE, NOTHING, TrySettings, argument_or_input, as_json, prompt_for, unusable
from node.llm.models import as_run, open_model, parse_model
from node.llm.outputs import Parsed, parse_proof, parse_tactic, score
from node.llm.prompts import PromptTooLong, with_own_names
from node.llm.sampling import Decoding, Prompt, Sample, SamplerError
from node.llm.templates import Template, TemplateError, find

if TYPE_CHECKING:
    from common.lean import Theorem


def try_model(settings: TrySettings) -> int:
    """Run the command; returns its exit code."""
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        return unusable(f"--temperature {settings.temperature:g}: choose a value between 0 and 2")
    try:
        address = parse_model(settings.policy)
        template = as_run(address, find(settings.id), settings.models)
        text = argument_or_input(settings.text)
        prompt = prompt_for(template, settings, text)
        theorem = parse_statement(text, settings.header) if template.mode == "whole-proof" else None
        samples = asyncio.run(_ask(settings, address, template, prompt))
    except (TemplateError, StatementError, PromptTooLong, BadModel, SamplerError) as error:
        return unusable(str(error))
    say(f"prompt ({template.name})".ljust(78, "─"))
    say(prompt.text or as_json(prompt), indent="")
    usable = [_show(number, sample, template, theorem, text) for number, sample in enumerate(samples, 1)]
    say(f"{sum(usable)} of {len(usable)} answers kept")
    return DONE if any(usable) else NOTHING


async def _ask(settings: TrySettings, address: ModelAddress, template: Template, prompt: Prompt) -> Sequence[Sample]:
    """Raises BadModel, SamplerError."""
    async with open_model(address, settings.models, template=template, note=_note) as sampler:
        return await sampler.sample(prompt, settings.samples, settings.seed, _decoding(settings, template))


def _decoding(settings: TrySettings, template: Template) -> Decoding:
    decoding = template.decoding
    if settings.temperature is not None:
        decoding = replace(decoding, temperature=settings.temperature)
    return replace(decoding, max_tokens=settings.max_tokens or decoding.max_tokens)


def _show(number: int, sample: Sample, template: Template, theorem: Theorem | None, asked: str) -> bool:
    """Print a completion and what was parsed from it; returns whether it is usable."""
    length = f"{sample.token_count:,} tokens{', cut' if sample.cut else ''}"
    say(f"answer {number} ({length})".ljust(78, "─"))
    say(sample.text, indent="")
    parsed = parse_tactic(template, sample) if theorem is None else parse_proof(template, sample, theorem)
    kind = "tactic" if theorem is None else "proof"
    say(f"{kind if parsed.text else 'dropped'} of answer {number}{_why(parsed)}".ljust(78, "─"))
    if parsed.text:
        say(parsed.text if theorem else with_own_names(template, asked, parsed.text), indent="")
    log_probability = score(template, sample, parsed) if theorem is None else None
    if log_probability is not None:
        say(f"log-probability ({template.score} over tokens): {log_probability:.4g}")
    return bool(parsed.text)


def _why(parsed: Parsed) -> str:
    return f" ({parsed.problem}: {parsed.problem.explanation})" if parsed.problem is not None else ""


def _note(text: str) -> None:
    unusable(text)
