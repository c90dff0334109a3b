"""A mesh of nodes on this machine as one object: `up`, `demo` and tests start, watch and stop it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from broker import keys
from common import config
from common.bus import BadKey, Signer
from common.machine import name_for_others
from common.settings import BusSettings
from node.mesh.plan import MeshPlan, UpSettings, check_port, make_plan
from node.mesh.supervisor import Child, Listener, Supervisor
from ui.settings import page_token, with_token


class Mesh:
    """All roles of a mesh as supervised child processes.

    async with Mesh.from_file(Path("mesh.toml")) as mesh:
        bus = await Bus.connect(mesh.bus, run=mesh.run, name="me")
        await mesh.wait()

    Raises ConfigError, BadRunName when it is made; ChildFailed from `wait`.
    """

    def __init__(self, plan: MeshPlan, listener: Listener = lambda line: None) -> None:
        self.plan = plan
        children = plan.children
        if plan.key_store:
            keys.make(plan.key_store, self.run)
        if plan.verifier_key:
            try:
                own = Signer.of_file(Path(plan.verifier_key))
            except BadKey as error:
                raise config.ConfigError(str(error)) from error
            self.bus.verifiers = (*self.bus.verifier_keys(), own.public)
            listed = {"PROOFMESH_VERIFIERS": ",".join(self.bus.verifiers)}
            children = [replace(child, env={**(child.env or os.environ), **listed}) for child in children]
        self._supervisor = Supervisor(children, plan.up.rules(), listener)

    @classmethod
    def from_file(cls, file: Path, listener: Listener = lambda line: None) -> Mesh:
        """The mesh that a configuration file describes."""
        plan = make_plan(file, config.load(UpSettings, file, "up"), config.load_node(file))
        return cls(plan, listener)

    @property
    def bus(self) -> BusSettings:
        """How to reach the mesh's broker."""
        return self.plan.node.bus

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.plan.node.run

    @property
    def ui_url(self) -> str:
        """Address of the monitor, with the token that its reader needs; empty when not known. Raises UserError."""
        ui = self.plan.ui
        if ui is None or not ui.port:
            return ""
        scheme = "https" if ui.certificate else "http"
        return with_token(f"{scheme}://{name_for_others(ui.host)}:{ui.port}", page_token(ui, self.plan.node))

    @property
    def children(self) -> list[Child]:
        """The children, for status displays and tests."""
        return self._supervisor.children

    async def start(self) -> None:
        """Start all nodes, and return without waiting: nodes wait for the broker and for each other. Raises
        PortInUse."""
        if self.plan.broker_address is not None:
            check_port(*self.plan.broker_address)
        await self._supervisor.start()

    async def wait(self) -> str:
        """Wait until the learner has finished; returns its name. Raises ChildFailed."""
        return await self._supervisor.wait()

    async def stop(self, grace: float | None = None) -> None:
        """Stop provers, inference, learner, lean-proxies, monitor, broker, in this order."""
        await self._supervisor.stop(self.plan.up.grace if grace is None else grace)

    async def __aenter__(self) -> Mesh:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
