"""An observation in a buffer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from identity_engine._core.call import json_of
from identity_engine._core.dictionaries import BatchObservationInput
from identity_engine._core.uuid7 import uuid7

AHEAD_MS_MAX = 24 * 3_600_000
"""Maximum time by which a timestamp may be ahead of the clock, in milliseconds. An observation
further ahead would block its instance.
"""

ADDED_BYTES = 70
"""Bytes that the timestamp and the two field names add to an observation."""

KEY_CHARACTERS_MAX = 255
"""Maximum length of an idempotency key (interface 8.4)."""

_TIME: TypeAdapter[datetime] = TypeAdapter(AwareDatetime)


@dataclass(slots=True)
class Item:
    """An observation, split into fields, key and timestamp. Times are Unix milliseconds."""

    fields: Mapping[str, Any]
    key: str | None
    """Idempotency key. None only in a batch that an earlier version of the client returned."""
    at_ms: int
    """Timestamp of the observation."""
    text: str
    """Timestamp as sent: the text of the caller if the caller set it, else ``at_ms`` as text."""
    is_own_time: bool
    """Whether the caller set the timestamp. Such a timestamp never changes."""
    size: int
    """Maximum size in a request body, in bytes."""
    added_ms: int
    """Time of ``add``; 0 in a batch that an earlier buffer returned."""

    @property
    def body(self) -> dict[str, Any]:
        """Returns the observation to send."""
        fields = {**self.fields, "timestamp": self.text}
        if self.key is not None:
            fields["idempotency_key"] = self.key
        return fields

    def move(self, at_ms: int) -> None:
        """Changes a timestamp that the buffer has chosen. A caller's timestamp must not change."""
        assert not self.is_own_time, "a timestamp that the caller set must not change"
        self.at_ms = at_ms
        self.text = time_text(at_ms)


def item_of(observation: BatchObservationInput, now_ms: int) -> Item:
    """Makes an item. Raises ``ValueError`` for invalid JSON, timestamps or keys."""
    text = json_of(observation)
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError("an observation must be an object")
    own = fields.pop("timestamp", None)
    key = fields.pop("idempotency_key", None)
    if key is None:
        key = uuid7()
    elif not isinstance(key, str) or not key.isascii() or not 1 <= len(key) <= KEY_CHARACTERS_MAX:
        raise ValueError(f"idempotency_key must have 1 to 255 ASCII characters, not {key!a}")
    at_ms = now_ms if own is None else time_ms(own)
    if at_ms > now_ms + AHEAD_MS_MAX:
        raise ValueError(f"the timestamp {own} is more than a day in the future")
    own_text = time_text(at_ms) if own is None else str(own)
    size = len(text) + ADDED_BYTES + len(key)
    return Item(fields, key, at_ms, own_text, own is not None, size, now_ms)


def item_as_sent(body: Mapping[str, Any], *, is_own_time: bool, added_ms: int) -> Item:
    """Makes an item from an observation that may have been sent. Keeps its timestamp and key."""
    text_of_body = json_of(body)
    fields = json.loads(text_of_body)
    text = fields.pop("timestamp")
    key = fields.pop("idempotency_key", None)
    size = len(text_of_body) + ADDED_BYTES
    return Item(fields, key, time_ms(text), text, is_own_time, size, added_ms)


def time_ms(text: object) -> int:
    """Parses an RFC 3339 time into Unix milliseconds, truncated as the service does."""
    try:
        time = _TIME.validate_python(text, strict=not isinstance(text, str))
        since = time.astimezone(timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except (ValidationError, OverflowError) as error:
        raise ValueError(f"{text!r} is not an RFC 3339 time with an offset") from error
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def time_text(milliseconds: int) -> str:
    """Formats Unix milliseconds as RFC 3339, in UTC with milliseconds."""
    seconds, rest = divmod(milliseconds, 1_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
