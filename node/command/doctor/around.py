"""What is around proofmesh on this machine: system, protections, packages, torch and GPUs, disk and memory, the broker.

Only the standard library is imported at the top: `system` and `packages` also run where no package is installed.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.machine import LEAN_WORKER_MB, gpu_names, measure, read_machine, sizes
from common.output.command import Exit
from common.output.visible import as_json, say
from node.command.doctor.rows import Row, checked, document, exit_of, in_thread

if TYPE_CHECKING:
    from common.bus import Bus, StreamState
    from common.settings import NodeSettings

ROOT = Path(__file__).parents[3]
"""The checkout, or the folder of all installed packages."""

SETUP = "run `./start setup` in the checkout"

MIB = 2**20

# --- system and protections -------------------------------------------------------------------------------------------

PACE_SECONDS = 0.3
"""A short look is enough: the answer is needed to a factor of two."""

SLOW_PACE = 0.4
"""Share of the reference machine's speed below which everything takes more than twice as long as documented."""


async def system() -> Row:
    """Operating system, glibc and Python, as set-up checks them; cores, memory, and how fast the cores are now."""
    from scripts.setup import steps

    facts = steps.read_facts(ROOT)
    problems = steps.problems(facts, "cpu", fresh=False)
    machine = read_machine()
    pace = await in_thread(lambda: measure(PACE_SECONDS))
    # The reference is two cores; more of them are a larger machine, not a faster one.
    share = pace.share * 2 / pace.cores
    seen = f"{steps.describe(facts)}; {machine.cores} cores at {share:.0%} of the reference, {machine.memory_mb} MB"
    numbers = {"cores": machine.cores, "memory_mb": machine.memory_mb, "pace": round(share, 2)}
    if problems:
        what, _, advice = problems[0].partition("; ")
        return Row("system", "system", "broken", f"{what}; {seen}", advice, numbers)
    if share < SLOW_PACE:
        return Row("system", "system", "slow", seen, "other programs use the cores, or the cores are slow", numbers)
    return Row("system", "system", "ok", seen, facts=numbers)


async def protections() -> Row:
    """What a Lean process can be kept from on this machine, by trying each."""
    from node.lean.process.protections import detect

    found = await detect()
    gaps = [each for each in found.each() if not each.works]
    facts = {each.name: str(each) for each in found.each()}
    if not gaps:
        names = ", ".join(each.name for each in found.each())
        return Row("system", "protections", "ok", f"Lean processes are confined in: {names}", facts=facts)
    seen = "; ".join(f"{each.name}: {each}" for each in gaps)
    advice = (
        "verify files of other people on a Linux with Landlock (5.13 or later), or in a container or virtual machine"
    )
    return Row("system", "protections", "warning", f"not confined in {seen}", advice, facts)


# --- packages ---------------------------------------------------------------------------------------------------------

_REQUIREMENT = re.compile(r"([\w.-]+)(\[[\w,-]+\])?\s*([^;]*)(?:;\s*(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*[\"']([\w-]+)[\"']")
_OPTIONAL = ("models", "trainers", "serving", "leantree", "tensorboard", "trackio", "wandb")
"""Extras that change what commands can do; `dev`, `docs` and `verifiers` are for other work."""


def requirements() -> dict[str, list[str]]:
    """What proofmesh requires, as `NAME CONDITION`, by extra; `""` are those that it cannot do without."""
    project = ROOT / "pyproject.toml"
    if project.is_file():
        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        return {"": table["dependencies"], **table["optional-dependencies"]}
    found: dict[str, list[str]] = {}
    for line in importlib.metadata.requires("proofmesh") or []:
        extra = _EXTRA.search(line)
        found.setdefault(extra[1] if extra else "", []).append(line)
    return found


def wrong(requirement: str) -> str:
    """What is wrong with an installed package; empty if it is as required. Markers of other systems are not for us."""
    match = _REQUIREMENT.match(requirement)
    assert match is not None, requirement
    name, wanted = match[1], match[3].strip()
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name}: missing"
    if wanted.startswith("==") and version.partition("+")[0] != wanted.removeprefix("=="):
        return f"{name}: {version} instead of {wanted.removeprefix('==')}"
    return ""


async def packages() -> Row:
    """As `_packages`; a hanging disk ends with the check."""
    return await in_thread(_packages)


def _packages() -> Row:
    """The packages that every command needs, and which optional parts are complete."""
    wanted = requirements()
    problems = [text for each in wanted[""] if (text := wrong(each))]
    complete = [extra for extra in _OPTIONAL if not any(map(wrong, wanted.get(extra, [])))]
    missing = [extra for extra in _OPTIONAL if extra not in complete]
    optional = f"optional parts: {', '.join(complete) or 'none'}" + (f" (not {', '.join(missing)})" if missing else "")
    facts = {"python": sys.executable, "complete": complete, "missing": problems}
    count = len(wanted[""])
    if not problems:
        return Row("packages", "packages", "ok", f"all {count} as pinned; {optional}", facts=facts)
    absent = [each.partition(":")[0] for each in problems if each.endswith("missing")]
    named = absent or problems
    shown = ", ".join(named[:8]) + (f" and {len(named) - 8} more" if len(named) > 8 else "")
    if absent:
        return Row(
            "packages", "packages", "broken", f"{len(absent)} of {count} are missing here: {shown}", SETUP, facts
        )
    advice = f"these versions are untested: {SETUP}"
    return Row("packages", "packages", "warning", f"other versions than pinned: {shown}", advice, facts)


async def nats_server() -> Row:
    """Whether a nats-server is here that is new enough. Downloads nothing."""
    from broker import binary
    from broker.errors import BrokerError

    try:
        server = await in_thread(lambda: binary.find(download=False))
        version = ".".join(map(str, await in_thread(lambda: binary.version_of(server))))
    except BrokerError as error:
        requested = bool(os.environ.get("NATS_SERVER"))
        advice = (
            "" if requested else "only a mesh of your own needs it: `./start setup` gets it, once, from the network"
        )
        return Row("packages", "nats-server", "broken" if requested else "not met", str(error), advice)
    return Row("packages", "nats-server", "ok", f"{version} ({server})", facts={"version": version})


# --- torch and GPUs ---------------------------------------------------------------------------------------------------

TORCH_SECONDS = 30.0
"""A first import from a cold disk takes up to 20 s."""

SLOW_IMPORT = 10.0
"""Seconds of `import torch` from which each command that uses a network feels broken."""

_TORCH = """
import json, time
begin = time.monotonic()
import torch
took = time.monotonic() - begin
devices = []
for index in range(torch.cuda.device_count()):
    torch.zeros(8, 8, device=index) @ torch.zeros(8, 8, device=index)
    torch.cuda.synchronize(index)
    free, total = torch.cuda.mem_get_info(index)
    properties = torch.cuda.get_device_properties(index)
    devices.append({
        "name": properties.name, "capability": "%d.%d" % (properties.major, properties.minor),
        "free_mb": free >> 20, "total_mb": total >> 20, "bf16": torch.cuda.is_bf16_supported(),
    })
print(json.dumps({
    "version": torch.__version__, "cuda": torch.version.cuda or "", "import_seconds": round(took, 1),
    "threads": torch.get_num_threads(), "cpu": torch.backends.cpu.get_cpu_capability(), "devices": devices,
}))
"""
"""Asks torch, in a process of its own: a driver that hangs can then be killed."""


async def compute() -> list[Row]:
    """torch and the GPUs that it has tried."""
    row = await torch()
    return [row] if row.state == "broken" else [row, gpus(row)]


async def torch() -> Row:
    """torch, its instruction set, and whether each GPU multiplies matrices."""
    # 1. In a process of its own: a torch that crashes or hangs takes neither this command nor its memory along.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _TORCH), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:  # out of time
            process.kill()
            await process.wait()
    if process.returncode:
        last = errors.decode(errors="replace").strip().split("\n")[-1]
        return Row("compute", "torch", "broken", last or f"it ended with code {process.returncode}", SETUP)
    # 2. The last line is the answer; libraries may print above it.
    facts: dict[str, Any] = json.loads(output.decode().strip().split("\n")[-1])
    build = f"CUDA {facts['cuda']}" if facts["cuda"] else "CPU build"
    seen = f"{facts['version']} ({build}), {facts['cpu']}, imported in {facts['import_seconds']} s"
    devices = facts["devices"]
    # 3. The driver knows the GPU without torch. If torch does not see it, everything works but is slow, and nobody is
    # told.
    if gpu_names() and not devices:
        advice = (
            "run `./start setup gpu`" if not facts["cuda"] else "the driver is too old for this torch, or is not loaded"
        )
        return Row(
            "compute", "torch", "broken", f"this machine has a GPU that torch does not see; {seen}", advice, facts
        )
    if facts["import_seconds"] >= SLOW_IMPORT:
        return Row("compute", "torch", "slow", seen, "a slow disk; a second start may be faster", facts)
    return Row("compute", "torch", "ok", seen, facts=facts)


def gpus(torch_row: Row) -> Row:
    """The GPUs that torch has tried."""
    devices: list[dict[str, Any]] = torch_row.facts.get("devices", [])  # type: ignore[assignment]
    if not devices:
        seen = "none: networks run on the CPU, which is enough for the demo and small models"
        return Row("compute", "GPUs", "not met", seen, facts={"count": 0})
    shown = ", ".join(
        f"{each['name']} ({each['free_mb']} of {each['total_mb']} MB free{'' if each['bf16'] else ', no bf16'})"
        for each in devices
    )
    facts = {"count": len(devices)}
    if not all(each["bf16"] for each in devices):
        return Row(
            "compute", "GPUs", "warning", shown, "without bf16 a network trains in float32, at half the speed", facts
        )
    return Row("compute", "GPUs", "ok", shown, facts=facts)


# --- disk and memory --------------------------------------------------------------------------------------------------

FULL_MB = 64
"""As for the broker's store (`broker.watch`): below it, writes begin to fail."""

LITTLE_MB = 2000
"""A short run with checkpoints and logs, and the compiled files of verifications at the same time."""

WRITTEN = MIB
"""Bytes of the file that is written and removed again where Lean's temporary files lie."""


def free_mb(folder: Path) -> int:
    """Free disk of a folder, or of the first one above it that exists."""
    place = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return shutil.disk_usage(place).free // MIB


async def disk() -> Row:
    """As `_disk`; a network's disk that hangs ends with the check."""
    return await in_thread(_disk)


def _disk() -> Row:
    """Free disk for temporary files, the cache and runs; and whether a file can be written."""
    from common.files import cache_directory  # needs packages, and this file also runs where there are none

    temporary = Path(tempfile.gettempdir())
    places = {"temporary files": temporary, "cache": cache_directory(), "runs": Path("runs").absolute()}
    free = {name: free_mb(folder) for name, folder in places.items()}
    shown = ", ".join(f"{mb / 1024:,.1f} GB for {name} ({places[name]})" for name, mb in free.items())
    facts = {f"{name.replace(' ', '_')}_free_mb": mb for name, mb in free.items()}
    try:
        with tempfile.TemporaryFile() as file:  # has no name, and is gone whatever happens
            file.write(b"\0" * WRITTEN)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        seen = f"no file of {WRITTEN // MIB} MiB can be written in {temporary} ({error.strerror}); {shown}"
        return Row("space", "disk", "broken", seen, "free some space there, or name another folder in TMPDIR", facts)
    full = [name for name, mb in free.items() if mb < FULL_MB]
    little = [name for name, mb in free.items() if mb < LITTLE_MB]
    if full or little:
        advice = "free some space; PROOFMESH_CACHE, TMPDIR and [run] dir name other folders"
        return Row("space", "disk", "broken" if full else "warning", f"little is free: {shown}", advice, facts)
    return Row("space", "disk", "ok", shown, facts=facts)


async def memory() -> Row:
    """Free memory, and what roles on this machine would take of it."""
    import psutil

    machine = read_machine()
    available = psutil.virtual_memory().available // 1_000_000
    planned = sizes(machine)
    facts = {"available_mb": available, "total_mb": machine.memory_mb, "lean_workers": planned.lean_workers}
    seen = f"{available} of {machine.memory_mb} MB free; all roles here: {planned.describe()}"
    needed = planned.lean_workers * LEAN_WORKER_MB
    if available < LEAN_WORKER_MB:
        return Row("space", "memory", "broken", seen, "not one Lean worker fits: end other programs", facts)
    if available < needed:
        advice = (
            f"{planned.lean_workers} Lean workers want {needed} MB: end other programs, or set [lean_proxy] workers"
        )
        return Row("space", "memory", "warning", seen, advice, facts)
    return Row("space", "memory", "ok", seen, facts=facts)


# --- the broker -------------------------------------------------------------------------------------------------------

SKEW_SECONDS = 2.0
"""Difference between the clocks of two machines from which logs and curves can no longer be laid side by side."""

FULL_SHARE = 0.9
"""Share of a stream's largest size from which a row says so."""

SLOW_ANSWER = 0.1
"""Seconds of one question to the broker from which tactics wait for the network more than for Lean."""


async def broker(node: NodeSettings, wait: float, *, asked: bool) -> list[Row]:
    """The broker, its clock and the streams of the run. `asked`: the user named it, so it should be there."""
    from common.bus import Bus, BusError, Role

    try:
        bus = await Bus.connect(node.bus, run=node.run, name="doctor", role=Role.VIEWER, wait=wait)
    except BusError as error:
        if not asked:
            seen = f"none at {node.bus.url}; `prove`, `eval` and `verify` need none"
            return [Row("broker", "broker", "not met", seen)]
        advice = "`proofmesh up` or `proofmesh broker` starts one; are address, user and password right?"
        return [Row("broker", "broker", "broken", str(error).partition("; ")[0], advice)]
    try:
        began = time.monotonic()
        runs = await bus.runs()
        took = time.monotonic() - began
        return [_reached(node, runs, took), clock(await bus.clock_ahead()), await streams(bus, runs)]
    except BusError as error:
        advice = "is JetStream on, and may this user ask it? `proofmesh broker` turns it on"
        return [Row("broker", "broker", "broken", f"{node.bus.url}: {error}", advice)]
    finally:
        await bus.close()


def _reached(node: NodeSettings, runs: Mapping[str, object], took: float) -> Row:
    """The row of a broker that answers. `took`: seconds of one question."""
    facts = {"url": node.bus.url, "answer_seconds": round(took, 4), "runs": sorted(runs)}
    seen = f"{node.bus.url} answers in {1000 * took:.0f} ms; runs: {', '.join(sorted(runs)) or 'none'}"
    if took > SLOW_ANSWER:
        return Row("broker", "broker", "slow", seen, "a slow network, or a busy broker", facts)
    return Row("broker", "broker", "ok", seen, facts=facts)


def clock(skew: float | None) -> Row:
    """The row of the difference between this machine's clock and the broker's; None: the broker has not told."""
    if skew is None:
        return Row("broker", "clock", "not met", "the broker tells its time only with a stream, and it has none yet")
    seen = f"this machine's clock is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} the broker's"
    facts = {"skew_seconds": round(skew, 3)}
    if abs(skew) > SKEW_SECONDS:
        advice = (
            "set both (chrony, systemd-timesyncd): logs and curves do not agree, but leases go by the broker's clock"
        )
        return Row("broker", "clock", "warning", seen, advice, facts)
    return Row("broker", "clock", "ok", seen if abs(skew) >= 0.1 else "the same time as the broker's", facts=facts)


async def streams(bus: Bus, runs: Mapping[str, Sequence[StreamState]]) -> Row:
    """The streams of the run, and its nodes. Raises BusError."""
    from broker.streams import run_spec
    from common.bus import names

    found = runs.get(bus.run, ())
    if not found:
        others = f"; there are: {', '.join(sorted(runs))}" if runs else ""
        advice = "--run names another run" if runs else ""
        return Row("broker", "streams", "not met", f"no run {bus.run} on this broker yet{others}", advice)
    # 1. What is missing, full, or says of itself that it is unhealthy.
    missing = sorted(set(names.streams_of(bus.run)) - {stream.name for stream in found})
    most = run_spec(bus.run).most_bytes()
    full = [each.name for each in found if each.bytes > FULL_SHARE * most.get(each.name, sys.maxsize)]
    nodes = await bus.nodes() if f"KV_{names.nodes_bucket(bus.run)}" not in missing else []
    ill = sorted(info.node_id for info in nodes if info.state == "unhealthy")
    # 2. The row.
    messages, size = sum(each.messages for each in found), sum(each.bytes for each in found) / MIB
    facts = {"streams": len(found), "messages": messages, "nodes": len(nodes), "unhealthy": ill, "missing": missing}
    seen = f"{len(found)} streams of run {bus.run}: {messages:,} messages, {size:.1f} MiB; {len(nodes)} nodes"
    if missing:
        advice = "start the run's broker node, which makes them again"
        return Row("broker", "streams", "broken", f"missing: {', '.join(missing)}; {seen}", advice, facts)
    if full or ill:
        what = [*(f"{name} is full" for name in full), *(f"{name} is unhealthy" for name in ill)]
        return Row("broker", "streams", "warning", f"{'; '.join(what)}; {seen}", "`proofmesh status` says why", facts)
    return Row("broker", "streams", "ok", seen, facts=facts)


# --- certificates -----------------------------------------------------------------------------------------------------

SOON_DAYS = 14
"""Days before its end from which a certificate is a warning: those that renew themselves do so earlier."""


async def certificates(file: Path | None, node: NodeSettings) -> list[Row]:
    """A row for each certificate that the file or the environment names: whether it is valid now, and for how long."""
    from common.config import read

    names = ("certificate", "ca", "client_ca")
    named = {f"[{part}] {name}": table[name] for part, table in read(file).items() for name in names if table.get(name)}
    named |= {f"[bus] {name}": text for name in names[:2] if (text := getattr(node.bus, name))}
    return [_certificate(name, text) for name, text in named.items()]


def _certificate(name: str, text: str) -> Row:
    """The row of a certificate, as a file or as PEM. Of several in a file, the one that ends first counts."""
    from datetime import UTC, datetime

    from cryptography.x509 import load_pem_x509_certificates

    try:
        pem = text if text.startswith("-----BEGIN") else Path(text).read_text()
        found = load_pem_x509_certificates(pem.encode())
    except (OSError, ValueError) as error:
        return Row(
            "broker", name, "broken", f"{text} cannot be read ({error})", "name a file with a certificate as PEM"
        )
    now, ends = datetime.now(UTC), min(each.not_valid_after_utc for each in found)
    begins = max(each.not_valid_before_utc for each in found)
    place = "its text" if pem is text else text
    seen = f"{place} is valid from {begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC"
    facts = {"ends": ends.isoformat()}
    if not begins <= now <= ends:
        advice = "replace the file, which servers read within 5 seconds; is this machine's clock right?"
        return Row("broker", name, "broken", seen, advice, facts)
    if (ends - now).days < SOON_DAYS:
        return Row("broker", name, "warning", f"{seen}: {(ends - now).days} days left", "renew it", facts)
    return Row("broker", name, "ok", seen, facts=facts)


# --- where no package is installed ------------------------------------------------------------------------------------


def without_packages(argv: Sequence[str]) -> int:
    """The rows where no package is installed, by the standard library alone; returns the exit code."""
    if "--help" in argv or "-h" in argv:
        print("proofmesh doctor [--json]   (no package is installed here: more flags are known after `./start setup`)")
        return Exit.DONE
    began = time.monotonic()

    async def look() -> list[Row]:
        checks = (("system", "system", system), ("packages", "packages", packages))
        found = await asyncio.gather(*(checked(group, name, check, 20.0) for group, name, check in checks))
        return [row for rows in found for row in rows]

    rows = asyncio.run(look())
    took = time.monotonic() - began
    if "--json" in argv:
        print(as_json(document(rows, took)))
        return exit_of(rows)
    for row in rows:  # rich, which draws tables, is not here
        say(f"{row.group:<10}{row.name:<10}{row.state:<9}{row.seen}")
        if row.advice:
            say(f"{'':<29}→ {row.advice}")
    return exit_of(rows)
