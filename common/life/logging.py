"""Logs of a node: lines for people or JSON on standard error, JSON lines in a file, and telemetry for the monitor."""

from __future__ import annotations

import faulthandler
import io
import logging
import logging.handlers
import os
import shutil
import signal
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import structlog

from common.life import metrics
from common.output.visible import as_json, encodable, escaped_json, visible, without_credentials
from common.protocol.messages import LONGEST_REASON, LogRecord

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

FORWARD_QUEUE = 1_000
"""Most records that wait for the broker: some minutes of a node that logs much. Beyond that the oldest are dropped and
counted."""

FIELD_CHARACTERS = 2_000
"""Longest text of one field in telemetry: the useful end of a traceback. Files get the whole text."""

FIELDS = 24
"""Most fields of one record in telemetry. With the limit above, a record is far smaller than the largest message."""

FILE_BYTES = 32 * 1024 * 1024
"""Size at which a log file is rotated: some 100,000 lines, which an editor can still open."""

FILE_BACKUPS = 3
"""Number of rotated log files that are not deleted."""

MOST_A_MINUTE = 50
"""Records of one message in a minute. Further ones are only counted: a flood fills no disk and hides nothing else."""

MINUTE = 60.0

MESSAGES_REMEMBERED = 1_000
"""Messages whose records are counted. Those of libraries may have names and numbers in them, so they have no end."""

_unwritten = metrics.counter("log_lines_unwritten", "Log lines that standard error or the log file did not take")
_dropped = metrics.counter("log_records_dropped", "Log records that were not sent as telemetry: the queue was full")
_left_out = metrics.counter("log_records_left_out", "Log records beyond the limit of their message")

_encoder = msgspec.json.Encoder(enc_hook=str)


class Forwarder:
    """Bounded queue of log records on their way to the monitor. Filled from any thread, emptied by the node."""

    def __init__(self, role: str, node_id: str) -> None:
        self._role = role
        self._node_id = node_id
        self._records: deque[LogRecord] = deque()
        self._lock = threading.Lock()

    def add(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Queue a record; the oldest is dropped, and counted, when the queue is full."""
        record = LogRecord(
            node_id=self._node_id,
            role=self._role,
            time=time.time(),
            level=level,
            event=encodable(event[:FIELD_CHARACTERS]),
            fields={key: encodable(str(value)[-FIELD_CHARACTERS:]) for key, value in list(fields.items())[:FIELDS]},
        )
        with self._lock:
            if len(self._records) >= FORWARD_QUEUE:
                self._records.popleft()
                _dropped.inc()
            self._records.append(record)

    def take(self, limit: int) -> list[LogRecord]:
        """Remove and return the oldest records."""
        with self._lock:
            return [self._records.popleft() for _ in range(min(limit, len(self._records)))]


@contextmanager
def _not_fatal() -> Iterator[None]:
    """Count lines that cannot be written (a full disk, a closed pipe), so that a node does not crash because of its
    log."""
    try:
        yield
    except (OSError, ValueError):
        _unwritten.inc()


class _Printer(structlog.PrintLogger):
    """Prints to standard error, which may be a file on a full disk."""

    def msg(self, message: str) -> None:
        with _not_fatal():
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


class LinesFile(logging.handlers.RotatingFileHandler):
    """A log file of this process. Lines that cannot be written are counted and do not crash the node."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=FILE_BACKUPS, encoding="utf-8")

    def write(self, line: str) -> None:
        """Append a line, to a new file when this one is full."""
        self.handle(logging.LogRecord("", logging.INFO, "", 0, line, None, None))

    def handleError(self, record: logging.LogRecord) -> None:
        _unwritten.inc()


def kept_files(path: Path) -> list[Path]:
    """A log file after its rotated ones, the oldest first. They may not exist."""
    return [*(path.with_name(f"{path.name}.{number}") for number in range(FILE_BACKUPS, 0, -1)), path]


def keep_small(path: Path, limit: int | None = None) -> bool:
    """Rotate a log file of another process if it has more than `limit` bytes (default FILE_BYTES). Returns whether it
    was rotated.

    This is for a child's standard error, which the child cannot reopen. The content is copied to `NAME.1` (the old
    `NAME.1` moves to `NAME.2`, and so on) and the file is emptied. The child must have opened it for appending. Lines
    that are written between the copy and the emptying are lost. Does nothing if there is no such file, or on errors.
    """
    with _not_fatal():
        if not path.exists() or path.stat().st_size <= (FILE_BYTES if limit is None else limit):
            return False
        for number in range(FILE_BACKUPS - 1, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number + 1}"))
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)
        return True
    return False


@dataclass
class _Window:
    """The records of one message since `began`."""

    began: float
    count: int = 0
    left_out: int = 0


class _Limit:
    """A structlog processor that lets MOST_A_MINUTE records of each message through, and counts the others.

    It lets all of `debug` through, which nobody gets who has not asked for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: OrderedDict[tuple[str, str], _Window] = OrderedDict()
        self._flooded: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        level = str(event.get("level", method))
        if level == "debug":
            return event
        key, now = (level, str(event.get("event", ""))[:LONGEST_REASON]), self._clock()
        with self._lock:
            window = self._windows.get(key)
            if window is None or now - window.began >= MINUTE:
                if window is not None and window.left_out:
                    event["left_out"] = window.left_out
                    self._flooded.discard(key)
                window = self._windows[key] = _Window(now)
                self._windows.move_to_end(key)
                if len(self._windows) > MESSAGES_REMEMBERED:
                    self._windows.popitem(last=False)
            window.count += 1
            if window.count > MOST_A_MINUTE:
                window.left_out += 1
                self._flooded.add(key)
                _left_out.inc()
                raise structlog.DropEvent
        return event

    def over(self, *, at_once: bool = False) -> list[tuple[str, str]]:
        """The floods whose minute is over; with `at_once` all. A further record of each says how many were left out."""
        with self._lock:
            found = []
            for key in sorted(self._flooded):
                window = self._windows.get(key)
                if window is None:
                    self._flooded.discard(key)
                    continue
                if at_once:
                    window.began -= MINUTE
                if self._clock() - window.began >= MINUTE:
                    found.append(key)
            return found


_limit = _Limit()
_level = "info"


def tell_left_out(*, at_once: bool = False) -> None:
    """Log how many records were left out of floods of the last minute. A node calls it often, and once at its end."""
    for level, event in _limit.over(at_once=at_once):
        structlog.get_logger().log(LEVELS.get(level, LEVELS["error"]), event)


class _Tee:
    """A structlog processor that also gives every event to the file and the forwarder."""

    def __init__(self, file: LinesFile | None, forwarder: Forwarder | None) -> None:
        self._file = file
        self._forwarder = forwarder

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if self._file is not None:
            self._file.write(_json_line({"time": time.time(), **event}))
        if self._forwarder is not None:
            fields = {key: value for key, value in event.items() if key not in ("event", "level", "timestamp")}
            self._forwarder.add(str(event.get("level", method)), str(event.get("event", "")), fields)
        return event


def _without_credentials(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: no value shows the password of a URL, in no output."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = without_credentials(value)
        elif not isinstance(value, bool | int | float | None):
            shorter = without_credentials(text := repr(value) if isinstance(value, dict | list | tuple) else str(value))
            event[key] = value if shorter == text else shorter
    return event


def _json_line(event: MutableMapping[str, Any]) -> str:
    """The event as one line of JSON."""
    try:
        return escaped_json(_encoder.encode(event).decode())
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return as_json(event, default=str)


def _as_json_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """The last structlog processor where programs read standard error."""
    return _json_line({"time": time.time(), **event})


class _Seen:
    """A value whose representation is printed as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _safely(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor for the console: no value can control the terminal or look like another line of the log."""
    for key, value in list(event.items()):
        if key in ("event", "exception", "stack"):
            event[key] = visible(str(value), multiline=True)
        elif isinstance(value, str):
            # A string with spaces or quotes is printed as its representation, which has escapes of its own.
            event[key] = value if visible(value) == value else _Seen(visible(repr(value)))
        elif not isinstance(value, bool | int | float | None):
            event[key] = _Seen(visible(repr(value)))
    return event


class _FromLibraries(logging.Handler):
    """Formats log records of libraries, which use the standard library's logging, like our own."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger(record.name).log(
            max(10, record.levelno), record.getMessage(), exc_info=record.exc_info or None
        )


def _not_at_ends_of_encryption(record: logging.LogRecord) -> bool:
    """False for what uvloop says whenever an encrypted connection ends: it asks nothing of anybody."""
    return "eof_received() has no effect when using ssl" not in str(record.msg)


def configure(
    level: str = "info",
    *,
    file: Path | None = None,
    json_lines: bool = False,
    forwarder: Forwarder | None = None,
    bound: dict[str, str] | None = None,
) -> None:
    """Set up structlog and the standard library's logging for this process, and SIGUSR1, which prints the stacks of all
    threads to standard error, also while Python's lock is held. Raises ValueError for an unknown level.

    `file`: also write JSON lines there. `json_lines`: write them to standard error, too.
    """
    global _limit, _level
    if level not in LEVELS:
        raise ValueError(f"unknown log level {level!r}; use one of {', '.join(LEVELS)}")
    output = None
    if file is not None:
        output = LinesFile(file)
    dated = json_lines or not sys.stderr.isatty()  # who looks on knows the date; who reads a file needs it
    _limit, _level = _Limit(), level
    for_people = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=32)
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(**(bound or {}))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            _limit,
            structlog.processors.TimeStamper(fmt="iso" if dated else "%H:%M:%S", utc=dated),
            structlog.processors.format_exc_info,
            _without_credentials,
            _Tee(output, forwarder),
            *([_as_json_line] if json_lines else [_safely, for_people]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=lambda *_: _Printer(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_FromLibraries()]
    # Libraries log warnings and errors only: `common.bus` logs the state of the connection itself.
    root.setLevel(logging.WARNING)
    logging.getLogger("nats").setLevel(logging.ERROR)
    logging.getLogger("asyncio").addFilter(_not_at_ends_of_encryption)
    with suppress(io.UnsupportedOperation, AttributeError, ValueError, OSError):  # standard error may be no file
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)


def level_now() -> str:
    """The level from which this process logs."""
    return _level


def set_level(level: str) -> None:
    """Log from this level on. Raises KeyError for an unknown level."""
    global _level
    _level = level
    structlog.configure(
        **{**structlog.get_config(), "wrapper_class": structlog.make_filtering_bound_logger(LEVELS[level])}
    )
