"""Uploads and downloads of files in the broker's object store, with checked digests."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO, Any

from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NotFoundError

from common.bus.errors import DigestMismatch, NotThere, Unanswered

STALL_SECONDS = 10.0
"""Seconds without data after which a download fails and the caller retries. Chunks take milliseconds."""

OVERHEAD = 1.05
"""Space that the object store needs for a file, relative to its size: each chunk of 128 KiB has a header, and each file
has one more entry. Measured: less than 1% more."""


def file_digest(path: Path) -> str:
    """blake2b of a file, as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.blake2b).hexdigest()


async def put(jetstream: Any, bucket: str, name: str, path: Path) -> str:
    """Store a file under a name, replacing an old one; returns its digest. Raises NotThere, Unanswered, OSError."""
    digest = await asyncio.to_thread(file_digest, path)
    try:
        store = await jetstream.object_store(bucket)
        with path.open("rb") as file:
            await store.put(name, file)
    except NotFoundError as error:
        raise NotThere(f"no object store {bucket}; has the broker created this run's streams?") from error
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name} was not stored: {error}") from error
    return digest


async def get(jetstream: Any, bucket: str, name: str, path: Path, digest: str) -> None:
    """Download an object to `path`. The file appears only when it is complete and matches the digest.

    Raises NotThere, DigestMismatch, Unanswered (connection lost), OSError.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            actual = await _download(jetstream, bucket, name, file)
        if actual != digest:
            raise DigestMismatch(f"object {name} has digest {actual[:16]}..., not {digest[:16]}...; it was not used")
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


async def _download(jetstream: Any, bucket: str, name: str, file: IO[bytes]) -> str:
    """Write an object's chunks into an open file; returns the digest of the written bytes."""
    subscription: Any = None
    try:
        store = await jetstream.object_store(bucket)
        info = await store.get_info(name)
        hasher = hashlib.blake2b()
        if info.size:
            subscription = await jetstream.subscribe(f"$O.{bucket}.C.{info.nuid}", ordered_consumer=True)
        written = 0
        while written < (info.size or 0):
            chunk = (await subscription.next_msg(timeout=STALL_SECONDS)).data
            await asyncio.to_thread(_write_chunk, file, hasher, chunk)
            written += len(chunk)
        return hasher.hexdigest()
    except NotFoundError as error:
        raise NotThere(f"no object {name} in {bucket}") from error
    except NatsTimeout as error:
        raise Unanswered(f"object {name}: no data for {STALL_SECONDS:g} s") from error
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name}: {error}") from error
    finally:
        if subscription is not None:
            await subscription.unsubscribe()


def _write_chunk(file: IO[bytes], hasher: Any, chunk: bytes) -> None:
    hasher.update(chunk)
    file.write(chunk)


async def exists(jetstream: Any, bucket: str, name: str) -> bool:
    """Whether the store has an object. Raises Unanswered."""
    try:
        store = await jetstream.object_store(bucket)
        await store.get_info(name)
    except NotFoundError:
        return False
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name}: {error}") from error
    return True


async def delete(jetstream: Any, bucket: str, name: str) -> None:
    """Remove an object if it exists."""
    try:
        store = await jetstream.object_store(bucket)
        await store.delete(name)
    except NotFoundError:
        return
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name} was not removed: {error}") from error
