"""Idempotency keys: UUIDs of version 7 (RFC 9562), in rising order within a process."""

from __future__ import annotations

import os
import secrets
import threading
import time

STEP_BITS = 56
"""How far apart two keys of one moment are at most. A step of one could be the step of another
process too that was forked from this one.
"""

_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """A new UUIDv7, larger than every one before it in this process, also when the clock steps
    back.

    The service looks up no key that is a UUIDv7 of the last ten seconds (interface 7.2).
    """
    global _last
    fresh = (time.time_ns() // 1_000_000) << 74 | int.from_bytes(os.urandom(10), "big") >> 6
    with _lock:
        # The top bit of the random part is free when fresh, so that steps do not overflow it soon.
        fresh &= ~(1 << 73)
        _last = fresh if fresh > _last else _last + 1 + secrets.randbits(STEP_BITS)
        value = _last
    stamp, random_a, random_b = value >> 74, (value >> 62) & 0xFFF, value & ((1 << 62) - 1)
    bits = stamp << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _begin_in_child() -> None:
    """A forked process has keys of its own, and no lock that a thread of its parent holds."""
    global _last, _lock
    _lock = threading.Lock()
    _last = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
