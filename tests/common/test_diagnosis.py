import asyncio
import re
import signal
import threading
from pathlib import Path

import pytest
import structlog

from common.bus import Bus
from common.output.command import Exit
from common.protocol.messages import LogRecord
from common.watch import diagnosis
from common.watch.diagnosis import Watchdog
from node.command.watch.diagnose import main
from tests.background import RunOnBroker
from tests.commands import Answer, Called
from tests.common.nodes import node_process, registered
from tests.ui.monitors import controlling, posted
from tests.waiting import eventually


async def test_a_running_node_is_diagnosed(mesh_run: RunOnBroker, bus: Bus, called: Called, tmp_path: Path) -> None:
    heard: list[LogRecord] = []
    await bus.subscribe("telemetry.tester.*.log", LogRecord, lambda _, record: heard.append(record))

    async def asked(*flags: object) -> Answer:
        return await asyncio.to_thread(called, main, *flags, *mesh_run.flags)

    log, env = (tmp_path / "node.log").open("wb"), {"TMPDIR": str(tmp_path)}
    async with node_process("serve", mesh_run, env=env, stderr=log) as node, controlling(mesh_run) as url:
        log.close()
        await registered(bus, "phase-one")
        ran = await asked("tester", "--stacks", "--memory", "--profile", "--seconds", "0.1")
        assert ran.code == 0, ran
        assert "task tester main" in ran.out and "await ctx.stopping.wait()" in ran.out
        assert re.search("profile (failed=py-spy|file=)", ran.out)
        assert "objects by type" in next(tmp_path.glob("tester-*/memory.txt")).read_text()
        assert (await asked("--level", "error", "--seconds", "600")).code == 0
        assert (await asked("--stacks")).code == 0, "what is asked for is logged at every level"
        node.send_signal(signal.SIGUSR2)
        await eventually(lambda: any(each.fields.get("logs") == "debug" for each in heard))
        node.send_signal(signal.SIGUSR1)
        await eventually(lambda: "Current thread" in (tmp_path / "node.log").read_text())
        # The monitor asks in the same way, for its page.
        status, found = await posted(f"{url}/ask", {"what": "level", "node": "tester", "level": "debug", "seconds": 1})
        assert status == 200 and found["silent"] == []
        assert [each["fields"]["logs"] for each in found["answers"]] == ["debug"]
        status, found = await posted(f"{url}/ask", {"what": "pause", "node": "tester"})
        assert "a tester cannot pause" in found["answers"][0]["fields"]["failed"]
        status, found = await posted(f"{url}/ask", {"what": "stacks", "node": "nobody"})
        assert status == 400 and "no node nobody" in found["error"]
        refused = await asked("tester", "--do", "pause")
        assert refused.code == 1 and "a tester cannot pause; ask a learner" in refused.out
        assert "name the nodes" in (await asked("--do", "drain")).err
        assert "has no node nobody" in (await asked("nobody", "--stacks")).err
        assert "say what to ask" in (await asked()).err
        await posted(f"{url}/ask", {"what": "drain", "node": "tester"})
        assert await asyncio.wait_for(node.wait(), 60) == Exit.DRAINED


async def test_a_stuck_event_loop_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "STUCK_SECONDS", 0.05)
    said = threading.Event()

    def stuck() -> None:
        assert said.wait(60)

    def heard(_: object, __: str, event: dict[str, object]) -> dict[str, object]:
        if event["event"] == "event loop is stuck" and event["of"] == "this test":
            assert "in stuck" in str(event["stack"])
            said.set()
        raise structlog.DropEvent

    structlog.configure(processors=[heard], cache_logger_on_first_use=False)
    with Watchdog(structlog.get_logger().bind(of="this test")).watching():
        stuck()
