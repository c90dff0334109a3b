"""Builds the prompts of prover models from templates, proof states and theorems. Pure.

Their lengths in tokens are estimated from bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Theorem
from common.output.command import UserError
from node.lean.text.goals import split_goals
from node.llm.sampling import ChatMessage, Prompt
from node.llm.templates import Template, TemplateError, fill
from node.model.names import Names


class PromptTooLong(UserError, ValueError):
    """The prompt exceeds the family's limit even without its optional parts."""


@dataclass(frozen=True)
class Premise:
    """A library declaration that may help in the proof."""

    name: str
    """Full name, with its namespace."""
    code: str
    """The declaration, without its proof."""

    @property
    def marked(self) -> str:
        """Its code with the full name in `<a>...</a>`, as ReProver reads it (`Premise.serialize` in its common.py).

        The code may use a short form of the name. The longest suffix of the full name that follows white space is
        replaced.
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
) -> Prompt:
    """The prompt for a tactic at a proof state. `Prompt.dropped` is the number of omitted hypotheses.

    Some families read canonical hypothesis names; `with_own_names` translates their tactics back. `steps`: the tactics
    that led to the state. `premises`: the best first. A prompt over the family's limit first loses premises, then
    hypotheses (`shorten_state`). Raises PromptTooLong if the goals alone are too long, and TemplateError for a template
    of whole proofs.
    """
    _must_be(template, "tactic")
    if template.names == "canonical":
        state = Names(state).state
    if template.goals == "first":
        state = next(iter(split_goals(state)), state)
    fixed = {"name": name, "steps": "\n".join(steps)}

    def length(shown: str) -> int:
        return _length(template, _as_prompt(template, fixed | {"state": shown, "premises": ""}))

    shown, dropped = shorten_state(state, lambda text: length(text) <= template.limits.prompt)
    room = template.limits.prompt - length(shown)
    if room < 0:
        raise PromptTooLong(
            f"the goals alone make a prompt of {length(shown):,} tokens; {template.name} reads at most "
            f"{template.limits.prompt:,}"
        )
    chosen = _fitting([f"{each.marked}\n\n" for each in premises], room, template)
    prompt = _as_prompt(template, fixed | {"state": shown, "premises": "".join(reversed(chosen))})
    return Prompt(prompt.text, prompt.messages, dropped)


def with_own_names(template: Template, state: str, tactic: str) -> str:
    """Translate a family's tactic for a state to the names that the state's hypotheses really have."""
    return Names(state).show(tactic) if template.names == "canonical" else tactic


def proof_prompt(template: Template, theorem: Theorem, *, problem: str = "") -> Prompt:
    """The prompt for a whole proof. `problem`: the theorem in natural language, if it is available.

    A theorem without a header gets the family's header. The problem is omitted if the prompt is too long with it.
    Raises PromptTooLong, and TemplateError for a template of tactics.
    """
    _must_be(template, "whole-proof")
    for words in dict.fromkeys((problem, "")):
        prompt = _as_prompt(template, _proof_fields(template, theorem, words))
        length = _length(template, prompt)
        if length <= template.limits.prompt:
            return prompt
    raise PromptTooLong(
        f"the statement makes a prompt of {length:,} tokens; {template.name} reads at most {template.limits.prompt:,}"
    )


def correction_prompt(template: Template, previous: Prompt, answer: str, errors: str) -> Prompt:
    """Continue the conversation after a completion whose proof failed. `errors`: see `node.llm.outputs.marked_errors`.

    Rounds count from 0, the first completion. Raises PromptTooLong, and TemplateError for a family without corrections.
    """
    if not template.correction:
        raise TemplateError(f"the template `{template.name}` has no correction turn; draw a new sample instead")
    finished = sum(message.role == "assistant" for message in previous.messages)
    request = fill(template.correction, {"round": str(finished), "errors": errors})
    prompt = Prompt(
        messages=(*previous.messages, ChatMessage("assistant", answer), ChatMessage("user", request)),
        dropped=previous.dropped,
    )
    length = _length(template, prompt)
    if length > template.limits.prompt:
        raise PromptTooLong(
            f"the conversation has {length:,} tokens, and {template.name} reads at most {template.limits.prompt:,}; "
            "draw a new sample instead"
        )
    return prompt


def raw_text(template: Template, prompt: Prompt) -> str:
    """The prompt as the single text that the model reads. Raises TemplateError if the chat template is unknown."""
    if template.kind == "raw":
        return prompt.text
    form = template.chat_text
    if form is None:
        raise TemplateError(f"the chat template of `{template.name}` is unknown here, because the server applies it")
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
    """Break up text that the tokenizer would read as a special token, by a space after its first character."""
    return re.sub(pattern, lambda match: f"{match.group()[0]} {match.group()[1:]}", text)


def _length(template: Template, prompt: Prompt) -> int:
    return _tokens(template, prompt.text + "".join(each.content for each in prompt.messages))


def _tokens(template: Template, text: str) -> int:
    return math.ceil(len(text.encode(errors="surrogatepass")) / template.limits.token_bytes)


def _fitting(texts: Sequence[str], room: int, template: Template) -> list[str]:
    """The texts that fit into `room` tokens, best first. A text that does not fit is skipped."""
    chosen: list[str] = []
    for text in texts:
        tokens = _tokens(template, text)
        if tokens <= room:
            chosen.append(text)
            room -= tokens
    return chosen


def _must_be(template: Template, mode: str) -> None:
    if template.mode != mode:
        raise TemplateError(f"the template `{template.name}` is for {template.mode}, not for {mode}; choose another")


# --- shortens printed proof states to fit a model's prompt limit. Pure ------------------------------------------------


def shorten_state(state: str, fits: Callable[[str], bool]) -> tuple[str, int]:
    """Drop as few hypotheses as needed for the state to fit; returns the state and the number of dropped hypotheses.

    Conclusions always stay. Within a goal, the oldest hypotheses at the top are dropped first. The last goal loses
    hypotheses first and the first goal last, because a tactic works on the first goal. A state that fits is unchanged.
    The result may still not fit.
    """
    if fits(state):
        return state, 0
    goals = [_parts(goal) for goal in split_goals(state)]
    order = [index for index in reversed(range(len(goals))) for _ in goals[index][0]]
    # Dropping more never makes the state longer, so binary search finds the smallest number that fits.
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if fits(_written(goals, order[:middle])):
            high = middle
        else:
            low = middle + 1
    return _written(goals, order[:low]), low


def _written(goals: list[tuple[list[str], str]], dropped: list[int]) -> str:
    """The state without some first hypotheses: a goal loses one for each occurrence of its index in `dropped`."""
    return "\n\n".join(
        "\n".join([*hypotheses[dropped.count(index) :], conclusion])
        for index, (hypotheses, conclusion) in enumerate(goals)
    )


def _parts(goal: str) -> tuple[list[str], str]:
    """The hypotheses of a printed goal, each with its continuation lines, and the conclusion. A line `case TAG` counts
    as the oldest hypothesis."""
    lines = goal.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("⊢")), len(lines) - 1)
    hypotheses: list[str] = []
    for line in lines[:start]:
        if hypotheses and line[:1] in (" ", "\t"):
            hypotheses[-1] += f"\n{line}"
        else:
            hypotheses.append(line)
    return hypotheses, "\n".join(lines[start:])
