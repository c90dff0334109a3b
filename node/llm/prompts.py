"""Prompts of prover models from templates, proof states and theorems. Pure.

Lengths are counted in the model's tokens by `count_tokens`, or estimated from bytes where no tokenizer is at hand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.goals import split_goals
from node.llm.sampling import ChatMessage, Prompt
from node.llm.shortening import shorten_state
from node.llm.templates import Template, TemplateError, fill
from node.model.names import Names

CountTokens = Callable[[str], int]


class PromptTooLong(ValueError):
    """The prompt is over the family's length, also without what can be left out."""


@dataclass(frozen=True)
class Premise:
    """A declaration of a library that may help."""

    name: str
    """With its namespace."""
    code: str
    """Its declaration, without the proof."""

    @property
    def marked(self) -> str:
        """Its code with the full name in `<a>...</a>`, as ReProver reads it (`Premise.serialize` in its common.py).

        The name that is declared may be written short: the longest ending of the full name that stands behind white
        space is the one.
        """
        mark = f"<a>{self.name}</a>"
        code = self.code.replace(f"_root_.{self.name}", mark)
        parts = self.name.split(".")
        for first in range(len(parts)):
            ending = re.escape(".".join(parts[first:]))
            marked = re.sub(rf"(?<=\s)«?{ending}»?", lambda _: mark, code)
            if marked != code:
                return marked
        return code


def tactic_prompt(
    template: Template,
    state: str,
    *,
    name: str = "",
    steps: Sequence[str] = (),
    premises: Sequence[Premise] = (),
    count_tokens: CountTokens | None = None,
) -> Prompt:
    """The prompt for a tactic at a state; `Prompt.dropped` says how many hypotheses had to go.

    Families that read canonical names get the state with these; `with_own_names` is the way back. `steps`: the tactics
    that led there. `premises`: the best one first. Of a prompt over the family's length, premises
    go first, then hypotheses (`shorten_state`). Raises PromptTooLong when the goals alone are too long, TemplateError
    for a template of whole proofs.
    """
    _must_be(template, "tactic")
    if template.names == "canonical":
        state = Names(state).state
    if template.goals == "first":
        state = next(iter(split_goals(state)), state)
    fixed = {"name": name, "steps": "\n".join(steps)}

    def length(shown: str) -> int:
        return _length(template, _as_prompt(template, fixed | {"state": shown, "premises": ""}), count_tokens)

    shown, dropped = shorten_state(state, lambda text: length(text) <= template.limits.prompt)
    room = template.limits.prompt - length(shown)
    if room < 0:
        raise PromptTooLong(
            f"the goals make a prompt of {length(shown):,} tokens; {template.name} reads {template.limits.prompt:,}"
        )
    chosen = _fitting([f"{each.marked}\n\n" for each in premises], room, template, count_tokens)
    prompt = _as_prompt(template, fixed | {"state": shown, "premises": "".join(reversed(chosen))})
    return Prompt(prompt.text, prompt.messages, dropped)


def with_own_names(template: Template, state: str, tactic: str) -> str:
    """A family's tactic for a state, with the names that the state's hypotheses really have."""
    return Names(state).show(tactic) if template.names == "canonical" else tactic


def proof_prompt(
    template: Template, theorem: Theorem, *, problem: str = "", count_tokens: CountTokens | None = None
) -> Prompt:
    """The prompt for a whole proof. `problem`: the theorem in natural language, if somebody has written it.

    A theorem's own header is used as it is; one without gets the family's. The problem is left out of a prompt that is
    too long with it. Raises PromptTooLong, and TemplateError for a template of tactics.
    """
    _must_be(template, "whole-proof")
    for words in dict.fromkeys((problem, "")):
        prompt = _as_prompt(template, _proof_fields(template, theorem, words))
        length = _length(template, prompt, count_tokens)
        if length <= template.limits.prompt:
            return prompt
    raise PromptTooLong(
        f"the statement makes a prompt of {length:,} tokens; {template.name} reads {template.limits.prompt:,}"
    )


def correction_prompt(
    template: Template, previous: Prompt, answer: str, errors: str, *, count_tokens: CountTokens | None = None
) -> Prompt:
    """The conversation that goes on after an answer whose proof failed. `errors`: see `node.llm.errors.marked_errors`.

    Rounds count from 0, the first answer's. Raises PromptTooLong, and TemplateError for a family without corrections.
    """
    if not template.correction:
        raise TemplateError(f"the template `{template.name}` has no correction turn: sample anew")
    finished = sum(message.role == "assistant" for message in previous.messages)
    request = fill(template.correction, {"round": str(finished), "errors": errors})
    prompt = Prompt(
        messages=(*previous.messages, ChatMessage("assistant", answer), ChatMessage("user", request)),
        dropped=previous.dropped,
    )
    length = _length(template, prompt, count_tokens)
    if length > template.limits.prompt:
        raise PromptTooLong(
            f"the conversation has {length:,} tokens; {template.name} reads {template.limits.prompt:,}: sample anew"
        )
    return prompt


def raw_text(template: Template, prompt: Prompt) -> str:
    """A prompt as the one text that the model reads. Raises TemplateError where the chat template is not known."""
    if template.kind == "raw":
        return prompt.text
    form = template.chat_text
    if form is None:
        raise TemplateError(f"the chat template of `{template.name}` is not known here: the server applies it")
    messages = (fill(form.message, {"role": each.role, "content": each.content}) for each in prompt.messages)
    return form.begin + "".join(messages) + form.answer


def _proof_fields(template: Template, theorem: Theorem, problem: str) -> dict[str, str]:
    form = template.statement
    own = theorem.header
    header = form.header if not own.strip() else own if own.endswith("\n") else f"{own}\n\n"
    comment = problem.strip().replace("-/", "- /").replace("/-", "/ -")
    return {
        "statement": f"{theorem.signature} {form.ending}",
        "name": theorem.name,
        "header": header,
        "informal_prefix": f"/-- {comment}-/\n" if comment else "",
        "problem": problem.strip(),
    }


def _as_prompt(template: Template, fields: dict[str, str]) -> Prompt:
    if template.special:
        fields = {name: _without_special(template.special, value) for name, value in fields.items()}
    text = fill(template.template, fields)
    if template.kind == "raw":
        return Prompt(text)
    system = (ChatMessage("system", template.system),) if template.system else ()
    return Prompt(messages=(*system, ChatMessage("user", text)))


def _without_special(pattern: str, text: str) -> str:
    """A text that spells no special token. What a state says is changed by a space, where it spells one."""
    return re.sub(pattern, lambda match: f"{match.group()[0]} {match.group()[1:]}", text)


def _length(template: Template, prompt: Prompt, count_tokens: CountTokens | None) -> int:
    return _tokens(template, prompt.text + "".join(each.content for each in prompt.messages), count_tokens)


def _tokens(template: Template, text: str, count_tokens: CountTokens | None) -> int:
    if count_tokens is not None:
        return count_tokens(text)
    return math.ceil(len(text.encode(errors="surrogatepass")) / template.limits.token_bytes)


def _fitting(texts: Sequence[str], room: int, template: Template, count_tokens: CountTokens | None) -> list[str]:
    """The texts that fit, best first; one that does not leaves its room to the next."""
    chosen: list[str] = []
    for text in texts:
        tokens = _tokens(template, text, count_tokens)
        if tokens <= room:
            chosen.append(text)
            room -= tokens
    return chosen


def _must_be(template: Template, mode: str) -> None:
    if template.mode != mode:
        raise TemplateError(f"the template `{template.name}` is for {template.mode}, not for {mode}")
