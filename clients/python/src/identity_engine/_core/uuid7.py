"""Idempotency keys: version 7 UUIDs (RFC 9562), increasing within a process."""

from __future__ import annotations

import os
import secrets
import threading
import time

STEP_BITS = 56
"""Maximum random step between two keys of the same millisecond, in bits.

With a constant step, a forked process could create the same keys.
"""

_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """Returns a new UUIDv7, greater than all earlier keys of this process, even if the clock steps
    back.

    For a UUIDv7 of the last ten seconds, the service needs no look-up (interface 7.2).
    """
    global _last
    fresh = (time.time_ns() // 1_000_000) << 74 | int.from_bytes(os.urandom(10), "big") >> 6
    with _lock:
        # Clear the top bit of the random part, so that many steps fit before it overflows.
        fresh &= ~(1 << 73)
        _last = fresh if fresh > _last else _last + 1 + secrets.randbits(STEP_BITS)
        value = _last
    stamp, random_a, random_b = value >> 74, (value >> 62) & 0xFFF, value & ((1 << 62) - 1)
    bits = stamp << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _begin_in_child() -> None:
    """Gives a forked process its own keys and a free lock."""
    global _last, _lock
    _lock = threading.Lock()
    _last = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_in_child)
