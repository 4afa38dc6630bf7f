"""One observation that waits in a buffer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from identity_engine._core.call import json_of
from identity_engine.models import Observation

AHEAD_MS_MAX = 24 * 3_600_000
"""How far ahead of now a timestamp may be: what is further ahead would hold up its instance."""

TIMESTAMP_BYTES = 45
"""What a timestamp and its name add to an observation in a body."""

_TIME: TypeAdapter[datetime] = TypeAdapter(AwareDatetime)


@dataclass(frozen=True, slots=True)
class Item:
    """An observation as JSON, without its time, and what its time is made of. Milliseconds of
    1970.
    """

    fields: Mapping[str, Any]
    wanted_ms: int
    """Its own time, or when it was added."""
    size: int
    """Bytes in a body, at most."""

    def at(self, timestamp_ms: int) -> dict[str, Any]:
        """The observation as it is sent."""
        return _sorted([*self.fields.items(), ("timestamp", time_text(timestamp_ms))])


def item_of(observation: Observation | Mapping[str, Any], now_ms: int) -> Item:
    """An observation as it waits. Raises ``ValueError`` for what is no JSON or has no usable
    time.
    """
    text = json_of(observation)
    fields = json.loads(text, object_pairs_hook=_sorted, parse_constant=_refuse)
    if not isinstance(fields, dict):
        raise ValueError("an observation is an object")
    own = fields.pop("timestamp", None)
    wanted_ms = now_ms if own is None else time_ms(own)
    if wanted_ms > now_ms + AHEAD_MS_MAX:
        raise ValueError(f"{own} is more than a day ahead")
    return Item(fields, wanted_ms, len(text) + TIMESTAMP_BYTES)


def _sorted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields in one order: a store that keeps them in another does not change the body of a key."""
    return dict(sorted(pairs))


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def time_ms(text: object) -> int:
    """Milliseconds since 1970 of a time as RFC 3339 writes it, cut as the service cuts them."""
    try:
        time = _TIME.validate_python(text, strict=not isinstance(text, str))
        since = time.astimezone(timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    except (ValidationError, OverflowError) as error:
        raise ValueError(f"{text!r} is no time with an offset (RFC 3339)") from error
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def time_text(milliseconds: int) -> str:
    """A time as RFC 3339 writes it, in UTC with milliseconds."""
    seconds, rest = divmod(milliseconds, 1_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
