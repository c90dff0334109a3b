"""Runs nats-server as a child process, with JetStream in a private store. It listens on loopback unless there are
credentials; its monitoring port is always on loopback."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from filelock import FileLock, Timeout

from broker import binary, keys
from broker.errors import BrokerError
from broker.settings import BrokerSettings
from common.bus.asking import BadKey
from common.files import times_of
from common.life.process import kill_group, spawn_child
from common.machine import is_loopback
from common.settings import BusSettings

log = structlog.get_logger("broker")

START_SECONDS = 30.0
"""Longest wait until the server listens; it takes 0.1 s, more with a large store."""

STOP_SECONDS = 15.0
"""Time for the server to flush its streams on SIGTERM before it is killed."""

RELOAD_SECONDS = 5.0
"""Longest wait until the server has read its configuration again; it takes milliseconds."""

POLL_SECONDS = 0.02

ANY_PORT = -1
"""nats-server's value for "choose a free port"."""


def configuration(settings: BrokerSettings, credentials: tuple[str, str], ports: Path) -> dict[str, Any]:
    """nats-server's configuration, as JSON. Raises BrokerError if it would be open to other machines without
    credentials, or if a file with a key is damaged."""
    user, password = credentials
    try:
        accounts = keys.accounts(settings.store) if keys.wanted(settings, credentials) else {}
    except BadKey as error:
        raise BrokerError(str(error)) from error
    if not is_loopback(settings.host) and not (user and password) and not accounts:
        raise BrokerError(
            f"the broker would listen on {settings.host}, open to others, without credentials: make keys for a run "
            "(`proofmesh broker keys RUN`), set [bus] user and password (or PROOFMESH_NATS_USER and "
            "PROOFMESH_NATS_PASSWORD), or listen on 127.0.0.1"
        )
    content: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port or ANY_PORT,
        "http": f"127.0.0.1:{settings.monitor_port or ANY_PORT}",
        "ports_file_dir": str(ports),
        "jetstream": {
            "store_dir": str(Path(settings.store).resolve()),
            "max_file_store": settings.max_store_mb * 1024 * 1024,
            "max_memory_store": settings.max_memory_mb * 1024 * 1024,
            # Bounds what a power failure can lose. A killed server loses no acknowledged message.
            "sync_interval": "10s",
        },
        "max_payload": 1024 * 1024,
    }
    if settings.certificate:
        content["tls"] = {
            "cert_file": str(Path(settings.certificate).absolute()),
            "key_file": str(Path(settings.certificate_key).absolute()),
            # Nobody on the way can make a node believe that this broker does not encrypt.
            "handshake_first": True,
        }
        if settings.client_ca:
            content["tls"] |= {"ca_file": str(Path(settings.client_ca).absolute()), "verify": True}
    if user and password:
        content["authorization"] = {"user": user, "password": password}
    elif accounts:
        content["accounts"] = accounts
    return content


class Server:
    """One nats-server child process. `start` returns when it listens; `bus` holds its address and credentials."""

    def __init__(self, settings: BrokerSettings, credentials: tuple[str, str] = ("", "")) -> None:
        self.settings = settings
        self.bus = BusSettings()
        self.monitor_url = ""
        self.process: asyncio.subprocess.Process | None = None
        self._credentials = credentials
        self._configured: dict[str, Any] = {}
        """The configuration that the server has read last."""
        self._certificates: list[int] = []
        """When the files of certificates had changed last when it read them."""
        self.store = Path(settings.store)
        self._lock: FileLock | None = None
        self._settled = asyncio.Event()
        """Cleared during a restart."""
        self._settled.set()

    @property
    def log_file(self) -> Path:
        return self.store / "nats-server.log"

    async def start(self) -> None:
        """Start the server and wait until it listens. Raises BrokerError."""
        program = await asyncio.to_thread(binary.find, self.settings.binary, allow_old=self.settings.allow_old)
        self._own_store()
        try:
            with tempfile.TemporaryDirectory(prefix="proofmesh-ports-") as ports:
                config = self._write_configuration(Path(ports))
                self.log_file.unlink(missing_ok=True)
                with self.log_file.open("ab") as output:  # append mode, because `broker.watch` truncates a large log
                    self.process = await spawn_child([program, "--config", config], stdout=output, stderr=output)
                await self._wait_for_ports(Path(ports))
        except BaseException:
            await self.stop()
            raise
        log.info("broker listens", url=self.bus.url, monitor=self.monitor_url, store=str(self.store))

    async def restart(self) -> None:
        """Stop the server and start it again, on the same ports and store. Raises BrokerError."""
        ports = [urlsplit(url).port or 0 for url in (self.bus.url, self.monitor_url)]
        self._settled.clear()
        try:
            await self.stop()
            self.settings = replace(self.settings, port=ports[0], monitor_port=ports[1])
            await self.start()
        finally:
            self._settled.set()

    async def take_keys(self) -> bool:
        """Let a running server know keys that are new or gone, and renewed certificates. Returns whether there were
        any. It drops the connections whose key is gone. Raises BrokerError."""
        if self.process is None:
            return False
        old = self._configured.get("accounts")
        try:
            now = await asyncio.to_thread(keys.accounts, self.store) if old else None
        except BadKey as error:
            raise BrokerError(str(error)) from error
        certificates = self._times_of_certificates()
        if now == old and certificates == self._certificates:
            return False
        if now:
            self._configured["accounts"] = now
            self._write(self._configured)
        self._certificates = certificates
        await self._reload()
        if set(now or ()) - set(old or ()):
            # Until it reads its configuration once more, a new account gets nothing from older ones (2.12 to 2.15).
            await self._reload()
        return True

    async def _reload(self) -> None:
        """Let the server read its configuration, and wait until it has."""
        assert self.process is not None
        before = await self._read_at()
        self.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + RELOAD_SECONDS
        while await self._read_at() == before and time.monotonic() < deadline:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(POLL_SECONDS)

    async def _read_at(self) -> str:
        """When the server has read its configuration; empty: it does not answer."""
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=RELOAD_SECONDS)) as session,
                session.get(f"{self.monitor_url}/varz") as answer,
            ):
                return str((await answer.json(content_type=None))["config_load_time"])
        except (aiohttp.ClientError, TimeoutError):
            return ""

    def _times_of_certificates(self) -> list[int]:
        settings = self.settings
        return times_of(settings.certificate, settings.certificate_key, settings.client_ca)

    async def wait(self) -> int:
        """Wait until the server ends, but for a restart; returns its exit code."""
        while True:
            process = self.process
            assert process is not None
            code = await process.wait()
            await self._settled.wait()
            if process is self.process:
                return code

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Let the server flush its streams and end, and unlock the store. `grace=0` kills it."""
        if self.process is not None:
            await kill_group(self.process, grace)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def last_words(self) -> str:
        """The end of the server's log."""
        text = self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
        return "\n".join(text.strip().splitlines()[-5:])

    def _own_store(self) -> None:
        """Create the store, private to this user, and lock it, because two servers would destroy it. Raises
        BrokerError."""
        try:
            self.store.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.store.chmod(0o700)
            lock = FileLock(self.store / "lock", blocking=False)
            lock.acquire()
        except Timeout as error:
            raise BrokerError(
                f"another broker runs on the store {self.store}; stop it, or choose another with --store"
            ) from error
        except OSError as error:
            raise BrokerError(
                f"cannot keep a store in {self.store}: {error.strerror}; choose another folder with --store"
            ) from error
        self._lock = lock

    def _write_configuration(self, ports: Path) -> Path:
        self._configured = configuration(self.settings, self._credentials, ports)
        self._certificates = self._times_of_certificates()
        return self._write(self._configured)

    def _write(self, content: dict[str, Any]) -> Path:
        path = self.store / "nats-server.json"
        try:
            path.touch(mode=0o600)  # it may hold a password
            path.write_text(json.dumps(content, indent=2))
        except OSError as error:
            raise BrokerError(f"cannot write {path}: {error.strerror}") from error
        return path

    async def _wait_for_ports(self, ports: Path) -> None:
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.returncode is not None:
                raise BrokerError(self._why_ended())
            if addresses := _read_ports(ports):
                self._listen_on(addresses)
                return
            await asyncio.sleep(POLL_SECONDS)
        raise BrokerError(f"nats-server did not listen after {START_SECONDS:g} s; its log ends:\n{self.last_words()}")

    def _listen_on(self, ports: dict[str, list[str]]) -> None:
        user, password = self._credentials
        address = next((url for url in ports["nats"] if "127.0.0.1" in url), ports["nats"][0])
        own = str(keys.folder_of(self.store, "")) if "accounts" in self._configured else ""
        self.bus = BusSettings(url=address, user=user, password=password, key=own)
        self.monitor_url = (ports.get("monitoring") or [""])[0]

    def _why_ended(self) -> str:
        words = self.last_words()
        if "address already in use" in words:
            return (
                f"port {self.settings.port} (or monitoring port {self.settings.monitor_port}) on {self.settings.host} "
                f"is "
                "in use, perhaps by another broker: stop that one, or choose another with --port and --monitor-port"
            )
        return f"nats-server ended at once; its log ends:\n{words}"


def _read_ports(directory: Path) -> dict[str, list[str]]:
    """The addresses from nats-server's ports file; empty until the file is complete."""
    for file in directory.glob("*.ports"):
        try:
            ports: dict[str, list[str]] = json.loads(file.read_text())
        except json.JSONDecodeError:
            return {}  # half written
        return ports if ports.get("nats") else {}
    return {}
