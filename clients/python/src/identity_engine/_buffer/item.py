"""One observation that waits in a buffer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from identity_engine._core.call import json_of
from identity_engine._core.uuid7 import uuid7
from identity_engine.models import Observation

AHEAD_MS_MAX = 24 * 3_600_000
"""How far ahead of now a timestamp may be: what is further ahead would hold up its instance."""

ADDED_BYTES = 70
"""What a timestamp and the names of timestamp and key add to an observation in a body."""

KEY_CHARACTERS_MAX = 255
"""Characters of an idempotency key (interface 8.4)."""

_TIME: TypeAdapter[datetime] = TypeAdapter(AwareDatetime)


@dataclass(slots=True)
class Item:
    """An observation as JSON, without its time and key. Times are milliseconds since 1970."""

    fields: Mapping[str, Any]
    key: str | None
    """Its idempotency key; None: of a batch that an earlier version handed back."""
    at_ms: int
    """The time with which it is sent."""
    text: str
    """``at_ms`` as it is sent: the caller's own text, if the timestamp is the caller's."""
    is_own_time: bool
    """Whether the timestamp is the caller's, which is never changed."""
    size: int
    """Bytes in a body, at most."""
    added_ms: int

    @property
    def body(self) -> dict[str, Any]:
        """The observation as it is sent."""
        fields = {**self.fields, "timestamp": self.text}
        if self.key is not None:
            fields["idempotency_key"] = self.key
        return fields

    def move(self, at_ms: int) -> None:
        """Gives the observation another time, which must not be the caller's own."""
        assert not self.is_own_time, "a timestamp of the caller is never changed"
        self.at_ms = at_ms
        self.text = time_text(at_ms)


def item_of(observation: Observation | Mapping[str, Any], now_ms: int) -> Item:
    """An observation as it waits. Raises ``ValueError`` for what is no JSON or has no usable time
    or key.
    """
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
    """An observation that was sent, or would have been, with its time and key as they were."""
    text_of_body = json_of(body)
    fields = json.loads(text_of_body)
    text = fields.pop("timestamp")
    key = fields.pop("idempotency_key", None)
    size = len(text_of_body) + ADDED_BYTES
    return Item(fields, key, time_ms(text), text, is_own_time, size, added_ms)


def time_ms(text: object) -> int:
    """Milliseconds since 1970 of a time as RFC 3339 writes it, cut as the service cuts them."""
    try:
        time = _TIME.validate_python(text, strict=not isinstance(text, str))
        since = time.astimezone(timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except (ValidationError, OverflowError) as error:
        raise ValueError(f"{text!r} is not an RFC 3339 time with an offset") from error
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def time_text(milliseconds: int) -> str:
    """A time as RFC 3339 writes it, in UTC with milliseconds."""
    seconds, rest = divmod(milliseconds, 1_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
