"""Publishes weight versions: writes a file, uploads it to the broker's object store, and announces it to all nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from common import weights
from common.bus import BusError
from common.files import file_digest
from common.life import faults
from common.protocol.messages import PinnedWeights, WeightsState
from common.records.rows import WeightsRow
from common.records.store import Store
from node.learner.errors import LearnerError
from node.learner.run import Run, now
from node.learner.trainer.group import ResilientTrainer

LOOK_EVERY = 10.0
"""Seconds between looks whether the broker still has the versions."""


class Publisher:
    """The weight versions of one run. The run's state on the broker names the latest version and the pinned ones."""

    def __init__(self, run: Run, trainer: ResilientTrainer) -> None:
        self._run = run
        self._trainer = trainer
        self._rows: list[WeightsRow] = []
        self._pins: dict[str, tuple[int, ...]] = {}
        self._changing = asyncio.Lock()
        """Held while the versions on the broker change."""

    @property
    def latest(self) -> WeightsRow:
        """The newest version. Raises IndexError before the first."""
        return self._rows[-1]

    @property
    def latest_step(self) -> int | None:
        """Training step of the newest version; None before the first."""
        return self._rows[-1].step if self._rows else None

    @property
    def latest_file(self) -> Path:
        """File of the newest version. Raises IndexError before the first."""
        return self._file(self.latest.version)

    @property
    def _pinned(self) -> set[int]:
        return {version for versions in self._pins.values() for version in versions}

    def keeps(self, version: int) -> bool:
        """True if the version's file is available and undamaged."""
        return any(row.version == version for row in self._rows)

    async def restore(self) -> None:
        """Upload and announce again the undamaged versions of an earlier process: the broker may have lost them."""
        async with self._changing:
            for row in await self._run.store.call(Store.weights):
                if await asyncio.to_thread(self._is_whole, row):
                    self._rows.append(row)
            for row in self._rows:
                await self._put(row)
            if self._rows:
                await self._announce()

    async def keep(self) -> None:
        """Upload and announce again, until cancelled, what the broker has lost: someone may delete its streams."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                async with self._changing:
                    await self._mend()
            except BusError:
                continue  # the broker is away

    async def _mend(self) -> None:
        lost = [row for row in self._rows if not await self._run.bus.has_object(row.object_name)]
        announced = not self._rows or await self._run.bus.get_state(weights.KEY, WeightsState) == self._state()
        if lost or not announced:
            versions = [row.version for row in lost]
            self._run.log.error(
                "the broker lost weights, or what was announced of them; they are published again", versions=versions
            )
            for row in lost:
                await self._put(row)
            await self._announce()

    async def publish(self) -> WeightsRow:
        """Publish the trainer's weights as a new version, unless they have not changed. Returns the latest version."""
        async with self._changing:
            return await self._publish()

    async def _publish(self) -> WeightsRow:
        step = self._trainer.step_number
        if self._rows and self._rows[-1].step == step:
            return self._rows[-1]
        version = 1 + max([row.version for row in await self._run.store.call(Store.weights)], default=0)
        digest = await self._trainer.write_weights(self._file(version), version)
        if self._rows and self._trainer.step_number != step:
            # The trainer failed meanwhile and restored a checkpoint: these weights have not passed the gate.
            return self._rows[-1]
        row = WeightsRow(version, self._trainer.step_number, digest, f"weights-{version:06d}")
        await self._put(row)
        await self._run.store.call(Store.add_weights, row, now())
        faults.reach("learner:weights-not-announced")
        self._rows.append(row)
        await self._announce()
        await self._prune()
        self._run.ctx.report(weights=version)
        self._run.log.info("weights published", version=version, step=row.step)
        return row

    async def pin(self, versions: Sequence[int], holder: str) -> None:
        """Keep these versions available for `holder` (an evaluation), in place of its earlier pins, and announce them
        to the inference nodes. An empty sequence pins none.

        Raises LearnerError for a version whose file is missing.
        """
        missing = [version for version in versions if not self.keeps(version)]
        if missing:
            raise LearnerError(
                f"{self._run.directory.weights}: weight versions {missing} are missing, and an evaluation that began "
                "with them cannot go on: restore the files, or begin a run with another name"
            )
        async with self._changing:
            self._pins[holder] = tuple(versions)
            await self._announce()

    def _is_whole(self, row: WeightsRow) -> bool:
        """False if a version's file is missing or damaged. A damaged file is deleted, with a warning."""
        path = self._file(row.version)
        if not path.exists():
            return False
        if file_digest(path) == row.digest:
            return True
        self._run.log.warning("damaged weights file deleted; its version is not published", file=str(path))
        path.unlink()
        return False

    async def _put(self, row: WeightsRow) -> None:
        """Raises LearnerError, Stopping."""
        versions = versions_stored(self._run.settings.keep_weights, len(self._pinned))
        try:
            await weights.store(
                self._run.bus, self._run.persistently, row.object_name, self._file(row.version), versions
            )
        except weights.NoRoomForWeights as error:
            raise LearnerError(
                f"{error}: raise [broker] max_store_mb if its disk has room, or lower [learner] keep_weights"
            ) from error

    async def _announce(self) -> None:
        await weights.announce(self._run.bus, self._run.persistently, self._state())

    def _state(self) -> WeightsState:
        """What inference nodes should follow. Raises IndexError before the first version."""
        latest = self.latest
        pinned = [row for row in self._rows if row.version in self._pinned]
        return WeightsState(
            version=latest.version,
            digest=latest.digest,
            object_name=latest.object_name,
            step=latest.step,
            pinned=tuple(PinnedWeights(row.version, row.digest, row.object_name) for row in pinned),
        )

    async def _prune(self) -> None:
        """Delete old versions that are not pinned, here and in the object store."""
        keep = self._run.settings.keep_weights
        for row in self._rows[:-keep]:
            if row.version in self._pinned:
                continue
            try:
                await self._run.bus.delete_object(row.object_name)
            except BusError as error:
                self._run.log.warning("old weights not removed yet", version=row.version, reason=str(error))
                continue  # the next publication tries again
            self._rows.remove(row)
            self._file(row.version).unlink(missing_ok=True)

    def _file(self, version: int) -> Path:
        return self._run.directory.weights / f"weights-{version:06d}.safetensors"


def versions_stored(keep: int, pinned: int) -> int:
    """Most versions in the object store: the kept ones, the pinned ones (at least one, because an evaluation pins one),
    and the one that is written before an old one is deleted."""
    return keep + max(1, pinned) + 1
