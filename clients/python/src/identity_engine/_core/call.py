"""One call of the API, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import quote

from pydantic import BaseModel
from pydantic_core import to_json

from identity_engine._core.uuid7 import uuid7
from identity_engine.errors import ConfigurationError


class Repeatable(Enum):
    """When a call may be sent again after an attempt that failed."""

    ALWAYS = "always"
    """It changes nothing, or its idempotency key makes it count once."""
    UNCHANGED = "unchanged"
    """Only when the failed attempt certainly changed nothing."""
    DELETE = "delete"
    """Always; that the instance is not there after an unclear attempt is what was wanted."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as every attempt sends it, byte for byte."""

    method: str
    path: str
    """Below the base address, such as ``/instances/inst_…``."""
    repeatable: Repeatable
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing at the service, whatever comes of it."""
        return (
            self.method == "GET" or self.path.endswith("/simulate") or self.path == "/test/submit"
        )


def get(
    path: str,
    query: Mapping[str, object] | None = None,
    *,
    request_id: str | None = None,
    if_none_match: str | None = None,
) -> Call:
    """A read. Query parameters that are None are left out."""
    headers = _headers({"X-Request-Id": request_id, "If-None-Match": if_none_match})
    return Call("GET", path, Repeatable.ALWAYS, query=_query(query or {}), headers=headers)


def send(
    method: str,
    path: str,
    body: Mapping[str, object] | None,
    repeatable: Repeatable,
    *,
    request_id: str | None = None,
    idempotency_key: str | None = None,
    is_keyed: bool = False,
    if_match: str | None = None,
    strict: bool = False,
) -> Call:
    """A call with a body, keyed with a new UUIDv7 unless another key is given."""
    key = (idempotency_key or uuid7()) if is_keyed else None
    headers = _headers(
        {
            "Content-Type": None if body is None else "application/json",
            "X-Request-Id": request_id,
            "Idempotency-Key": key,
            "If-Match": if_match,
            "Prefer": "handling=strict" if strict else None,
        }
    )
    content = None if body is None else json_of(body)
    return Call(method, path, repeatable, headers=headers, content=content)


def path_of(*segments: str) -> str:
    """A path of these segments, each escaped, so that none can be taken for two.

    Raises ``ConfigurationError`` for a segment that would be taken for none, such as ``..``.
    """
    for segment in segments:
        if segment in ("", ".", ".."):
            raise ConfigurationError(f"{segment!r} is no id")
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def json_of(value: object) -> bytes:
    """JSON in UTF-8. Fields of models that were never set are left out, and values are what they
    are.
    """
    return to_json(plain(value))


def plain(value: object) -> object:
    """The value with every model in it as a dict of the fields that were set."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _headers(headers: Mapping[str, str | None]) -> dict[str, str]:
    given = {name: value for name, value in headers.items() if value is not None}
    for name, value in given.items():
        if not value.isascii() or not value.isprintable():
            raise ConfigurationError(f"{name} has characters that no header has: {value!r}")
    return given


def _query(query: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in query.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return to_json(value).decode().strip('"')
