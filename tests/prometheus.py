"""Prometheus' conventions for the text of `/metrics`: by rules of our own, and by promtool where it is. And Prometheus
itself, where it is."""

import functools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import aiohttp
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from common.life.process import spawn_child
from node.mesh.plan import free_port
from scripts.docs import metrics
from tests.commands import found

DEPLOY = Path(metrics.ROOT) / "scripts" / "deploy"

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
        if bad := [name for name in sample.labels if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "subject"]:
            yield f"labels {bad}"


def promtool(*arguments: str, text: str = "") -> str:
    """What promtool says that is wrong; empty if it finds nothing."""
    done = subprocess.run([found("promtool"), *arguments], input=text, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def queries(file: Path) -> list[str]:
    """The queries of a Grafana dashboard, of all runs and the last seconds."""
    shown = {"$run": ".*", "$__rate_interval": "20s", "$__range": "1m"}
    asked = [target["expr"] for panel in json.loads(file.read_text())["panels"] for target in panel["targets"]]
    return [re.sub(r"\$\w+", lambda found: shown[found[0]], query) for query in asked]


class Prometheus:
    """A Prometheus that scrapes every second, with the alerts of scripts/deploy, whose minutes are seconds."""

    def __init__(self, folder: Path, targets: str) -> None:
        """`targets`: the address that says what to scrape."""
        self._folder = folder
        self._port = free_port()
        settings = (DEPLOY / "prometheus.yml").read_text().replace("15s", "1s")
        alerts = re.sub(r"for: \w+", "for: 0s", (DEPLOY / "alerts.yml").read_text())
        alerts = re.sub(r"\[\w+\]", "[10s]", alerts).replace("offset 10m", "offset 10s")
        (folder / "prometheus.yml").write_text(settings.replace("http://127.0.0.1:9099/targets", targets))
        (folder / "alerts.yml").write_text(alerts)

    async def __aenter__(self) -> Self:
        listen = f"--web.listen-address=127.0.0.1:{self._port}"
        arguments = [f"--config.file={self._folder}/prometheus.yml", f"--storage.tsdb.path={self._folder}/data", listen]
        with (self._folder / "prometheus.log").open("wb") as log:
            self._process = await spawn_child([found("prometheus"), *arguments], stdout=log, stderr=log)
        self._session = aiohttp.ClientSession(f"http://127.0.0.1:{self._port}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        self._process.kill()
        await self._process.wait()

    async def ask(self, query: str) -> list[dict[str, Any]]:
        """The samples that a query returns now; none while Prometheus starts."""
        try:
            async with self._session.get("/api/v1/query", params={"query": query}) as answer:
                content = await answer.json()
        except aiohttp.ClientError:
            return []
        assert content["status"] == "success" or answer.status == 503, (query, content)
        return list(content["data"]["result"]) if "data" in content else []

    async def firing(self) -> set[tuple[str, str]]:
        """Names and roles (empty: the alert is of a run) of the alerts that fire."""
        told = [each["metric"] for each in await self.ask('ALERTS{alertstate="firing"}')]
        return {(each["alertname"], each.get("role", "")) for each in told}


@functools.cache
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
