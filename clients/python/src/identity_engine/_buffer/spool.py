"""Spools: durable stores of a buffer's observations, from which the next process continues.

All client libraries share the file format: clients/README.md, "Spool files".
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from identity_engine._core.process import ForkAware, on_fork
from identity_engine.errors import SpoolError

if sys.platform != "win32":
    import fcntl

REWRITTEN_BYTES_MIN = 1 << 20
"""Minimum size at which a file is rewritten, in bytes."""

REWRITTEN_PART = 4
"""Ratio of file size to pending bytes above which the file is rewritten."""


@dataclass(frozen=True, slots=True)
class SpooledObservation:
    """An observation that a buffer has accepted.

    A later entry with the same instance and key replaces the earlier entry.
    """

    instance_id: str
    """Instance id."""
    observation: dict[str, Any]
    """The observation to send, with ``idempotency_key`` and ``timestamp``."""
    is_timestamp_own: bool
    """Whether the timestamp comes from the caller and never changes."""
    added_at_ms: int
    """Time of ``add``, in Unix milliseconds."""

    @property
    def key(self) -> str:
        """The idempotency key."""
        return str(self.observation["idempotency_key"])


@dataclass(frozen=True, slots=True)
class SpooledDone:
    """Finished observations: applied, rejected or reported as throttled."""

    instance_id: str
    """Instance id."""
    keys: tuple[str, ...]
    """Idempotency keys of the observations."""


class SpoolStore(Protocol):
    """A caller's store for the observations of one buffer, such as a database table.

    One process uses the store at a time. The buffer calls the store from one thread at a time,
    never from the event loop. ``add`` raises errors of the store as ``SpoolError``.
    """

    def load(self) -> Iterable[SpooledObservation]:
        """Returns saved observations that are not done, in the order of their first save."""

    def save(self, entries: Sequence[SpooledObservation | SpooledDone]) -> None:
        """Saves entries in order. On return, all observations are durable."""

    def close(self) -> None:
        """Releases the store. The buffer calls this method last."""


class FileSpool(ForkAware):
    """An append-only file of observations. Each observation is on disk before ``add`` returns.

    Raises:
        SpoolError: Another process uses the file, or a line cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._fd = -1
        self._size = 0
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        try:
            self._open()
            self._loaded = self._read()
        except OSError as error:
            self.close()
            raise SpoolError(f"the spool {self._path} cannot be opened: {error}") from error
        except SpoolError:
            self.close()
            raise
        on_fork(self)

    def load(self) -> Iterable[SpooledObservation]:
        """Returns the pending observations, in file order."""
        loaded, self._loaded = self._loaded, []
        return loaded

    def save(self, entries: Sequence[SpooledObservation | SpooledDone]) -> None:
        """Appends a line for each entry. If ``OSError`` is raised, no entry was written."""
        before = self._size
        lines = [_line(each) for each in entries]
        try:
            _write(self._fd, b"".join(lines))
            if any(isinstance(each, SpooledObservation) for each in entries):
                os.fsync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, before)
            raise
        for entry, line in zip(entries, lines, strict=True):
            self._note(entry, self._size, len(line))
            self._size += len(line)
        waiting = sum(length for _, length in self._places.values()) if self._is_large else 0
        if self._is_large and waiting * REWRITTEN_PART < self._size:
            self._rewrite()

    def close(self) -> None:
        """Closes the file, so that another process can use it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    begin_again = close
    """Called in a forked process: closes the child's descriptor. The parent keeps the file."""

    @property
    def _is_large(self) -> bool:
        return self._size > REWRITTEN_BYTES_MIN

    def _open(self) -> None:
        while True:
            is_new = not os.path.exists(self._path)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._fd = fd
            if not _lock(fd):
                text = f"another process uses the spool {self._path}: use one file per process"
                raise SpoolError(text)
            # The previous process may have replaced the file meanwhile.
            if _is_same(fd, self._path):
                if is_new:
                    self._sync_folder()
                return
            self.close()

    def _read(self) -> list[SpooledObservation]:
        """Reads the pending observations. Removes a torn last line."""
        with open(self._path, "rb") as file:
            content = file.read()
        lines = content.split(b"\n")
        torn = lines.pop()
        waiting: dict[tuple[str, str], SpooledObservation] = {}
        for number, line in enumerate(lines, 1):
            try:
                entry = _entry(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if number == len(lines) and torn == b"":
                    torn = line + b"\n"
                    break
                text = f"line {number} of the spool {self._path} cannot be read: {error}"
                raise SpoolError(f"{text}; remove the line to continue") from error
            self._note(entry, self._size, len(line) + 1)
            self._size += len(line) + 1
            if isinstance(entry, SpooledObservation):
                waiting[(entry.instance_id, entry.key)] = entry
            else:
                for key in entry.keys:
                    waiting.pop((entry.instance_id, key), None)
        if torn != b"":
            os.ftruncate(self._fd, self._size)
            os.fsync(self._fd)
        return list(waiting.values())

    def _note(self, entry: SpooledObservation | SpooledDone, at: int, length: int) -> None:
        if isinstance(entry, SpooledObservation):
            self._places[(entry.instance_id, entry.key)] = (at, length)
        else:
            for key in entry.keys:
                self._places.pop((entry.instance_id, key), None)

    def _rewrite(self) -> None:
        """Replaces the file by a file with only the pending observations."""
        path = f"{self._path}.new"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            _lock(fd)
            lines = {
                key: os.pread(self._fd, length, at) for key, (at, length) in self._places.items()
            }
            _write(fd, b"".join(lines.values()))
            os.fsync(fd)
            os.replace(path, self._path)
        except BaseException:
            os.close(fd)
            raise
        self.close()
        self._fd = fd
        self._sync_folder()
        self._size = 0
        for key, line in lines.items():
            self._places[key] = (self._size, len(line))
            self._size += len(line)

    def _sync_folder(self) -> None:
        folder = os.open(os.path.dirname(os.path.abspath(self._path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _line(entry: SpooledObservation | SpooledDone) -> bytes:
    fields: dict[str, Any] = {"v": 1, "instance": entry.instance_id}
    if isinstance(entry, SpooledObservation):
        fields["observation"] = entry.observation
        fields["timestamp_from"] = "caller" if entry.is_timestamp_own else "buffer"
        fields["added_at"] = entry.added_at_ms
    else:
        fields["done"] = entry.keys
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes) -> SpooledObservation | SpooledDone:
    fields = json.loads(line)
    if fields["v"] != 1:
        raise ValueError(f"unknown version {fields['v']}")
    if "done" in fields:
        return SpooledDone(fields["instance"], tuple(fields["done"]))
    observation = fields["observation"]
    if not isinstance(observation["idempotency_key"], str) or "timestamp" not in observation:
        raise ValueError("an observation needs a key and a timestamp")
    is_own = fields["timestamp_from"] != "buffer"
    return SpooledObservation(fields["instance"], observation, is_own, int(fields["added_at"]))


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _lock(fd: int) -> bool:
    """Locks the file. Returns whether this process holds the lock."""
    if sys.platform == "win32":
        return True  # without locks, the caller must use one process at a time
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
