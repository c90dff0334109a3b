"""Prometheus' conventions for the text of `/metrics`: by rules of our own, and by promtool where it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from scripts.docs import metrics
from scripts.setup.tools import BIN

PREFIXES = ("proofmesh_", "process_", "python_")
UNITS = {"seconds", "bytes", "ratio", "celsius", "watts", "joules"}
BAD_UNITS = re.compile(
    "[mun]?s|secs?|millis|[kmgtp]?i?b|[mhd]|minutes|hours|days|weeks|(milli|micro|nano)seconds|bits"
    "|(kilo|mega|giga|kibi|mebi|gibi)bytes|rss|percent(age)?|fraction|share"
)
EVENTS = re.compile(
    "answers|attempts|cancelled|candidates|consumers|crashes|dropped|errors|failures|hits|misses|outcomes|reconnects"
    "|rejected|requests|restarts|results|retries|steps"
)
"""Last words of names of things that happen: their number only grows, so it is a counter."""

AGE = "proofmesh_learner_replay_age_steps"
"""The age of a transition, whose unit is the optimizer step."""


def problems(text: str) -> list[str]:
    """What in a text of `/metrics` breaks the conventions. Raises ValueError if it cannot be read."""
    kinds = [line.split(" ")[2:4] for line in text.splitlines() if line.startswith("# TYPE ")]
    named = [f"{name}: {problem}" for name, kind in kinds for problem in _of_name(name, kind)]
    families = text_string_to_metric_families(text)
    return named + [f"{family.name}: {problem}" for family in families for problem in _of_family(family)]


def _of_name(name: str, kind: str) -> Iterator[str]:
    parts = name.removesuffix("_total").split("_")
    if name != "target_info" and not (re.fullmatch("[a-z][a-z0-9_]*", name) and name.startswith(PREFIXES)):
        yield "no name in snake case with one of our prefixes"
    if (kind == "counter") != name.endswith("_total"):
        yield f"`_total` is for counters, and this is a {kind}"
    if kind == "gauge" and EVENTS.fullmatch(parts[-1]) and name != AGE:
        yield "a gauge of what only grows"
    if kind == "histogram" and not parts[-1].endswith("s"):
        yield "a histogram without a unit"
    if kind != "histogram" and parts[-1] in ("bucket", "count", "sum"):
        yield "a suffix of histograms"
    if bad := [part for part in parts if BAD_UNITS.fullmatch(part)]:
        yield f"no base unit: {bad}"
    if UNITS & set(parts[:-1]):
        yield "its unit is not at its end"
    if bad := {"counter", "gauge", "histogram", "summary"} & set(parts):
        yield f"its type in its name: {bad}"


def _of_family(family: Metric) -> Iterator[str]:
    if not family.documentation.strip():
        yield "no help"
    for sample in family.samples:
        if bad := [
            label for label in sample.labels if not re.fullmatch("[a-z][a-z0-9_]*", label) or label == "subject"
        ]:
            yield f"labels {bad}"


def promtool(text: str) -> str:
    """What `promtool check metrics` says about a text; empty if it finds nothing. Skips the test if there is none."""
    program = shutil.which("promtool") or shutil.which("promtool", path=BIN)
    if program is None:
        pytest.skip("no promtool: `just setup tools` gets it without root where apt-get and dpkg are")
    done = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    assert bool(said) == bool(done.returncode), done
    return said


def every_metric() -> str:
    """A text with every metric that the code declares, and the process's own."""
    from common.life.metrics import PREFIX, Metrics

    shown = Metrics()
    for each in metrics.declared():
        name = each.name.removeprefix(PREFIX).removesuffix("_total" if each.kind == "counter" else "")
        metric = getattr(shown, each.kind)(name, each.help, each.labels)
        metric = metric.labels(*each.labels) if each.labels else metric
        metric.observe(1) if each.kind == "histogram" else metric.inc()
    return shown.render().decode()
