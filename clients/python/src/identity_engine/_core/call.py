"""An API call before it is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import quote

from pydantic import BaseModel
from pydantic_core import to_json

from identity_engine._core.uuid7 import uuid7
from identity_engine.errors import ConfigurationError


class Repeatable(Enum):
    """Retry policy after a failed attempt."""

    ALWAYS = "always"
    """Always: the call is read-only, or has an idempotency key."""
    UNCHANGED = "unchanged"
    """Only if the failed attempt certainly changed nothing."""
    DELETE = "delete"
    """Always. "Not found" after an attempt with unknown outcome means success."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request, sent unchanged in every attempt."""

    method: str
    path: str
    """Path below the base address, such as ``/instances/inst_…``."""
    repeatable: Repeatable
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    is_read: bool = False
    """Whether the call is read-only."""


def get(
    path: str,
    query: Mapping[str, object] | None = None,
    *,
    request_id: str | None = None,
    if_none_match: str | None = None,
) -> Call:
    """Makes a ``GET`` call. Query parameters with value None are omitted."""
    headers = headers_of({"X-Request-Id": request_id, "If-None-Match": if_none_match})
    query_texts = query_of(query or {})
    return Call("GET", path, Repeatable.ALWAYS, query_texts, headers, is_read=True)


def send(
    method: str,
    path: str,
    body: object,
    repeatable: Repeatable,
    *,
    request_id: str | None = None,
    idempotency_key: str | None = None,
    is_keyed: bool = False,
    if_match: str | None = None,
    strict: bool = False,
    in_order: bool = False,
    is_read: bool = False,
) -> Call:
    """Makes a call with a body. The default key is a new UUIDv7. ``in_order``: see ``json_of``."""
    key = (idempotency_key or uuid7()) if is_keyed else None
    headers = headers_of(
        {
            "Content-Type": None if body is None else "application/json",
            "X-Request-Id": request_id,
            "Idempotency-Key": key,
            "If-Match": if_match,
            "Prefer": "handling=strict" if strict else None,
        }
    )
    content = None if body is None else json_of(body, in_order=in_order)
    return Call(method, path, repeatable, {}, headers, content, is_read)


def path_of(*segments: object) -> str:
    """Joins escaped segments to a path.

    Raises ``ConfigurationError`` for a segment that would change the path, such as ``..``.
    """
    return "".join(f"/{_segment(each)}" for each in segments)


def _segment(text: object) -> str:
    if not isinstance(text, str) or text in ("", ".", "..") or not is_text(text):
        raise ConfigurationError(f"invalid id: {text!a}")
    return quote(text, safe="")


LEVELS_MAX = 64
"""Maximum nesting of a sent body; the service refuses more than 24 (interface 8.4)."""

LEVELS_NAMED = 8
"""Maximum levels in an error's path."""


def json_of(value: object, *, in_order: bool = False) -> bytes:
    """Converts a value to JSON in UTF-8, without unset fields of models.

    ``in_order`` sorts the fields of all objects, because the service compares bodies with the same
    idempotency key byte by byte. Raises ``ConfigurationError`` with the path of a value that JSON
    cannot represent: NaN, infinity, a lone surrogate, a cycle, an object of unknown type.
    """
    try:
        return to_json(plain(value, in_order=in_order))
    except _UnsendableError as error:
        raise ConfigurationError(f"{error.path or 'the body'} cannot be sent: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"the body cannot be sent: {error}") from error


class _UnsendableError(Exception):
    """A value that JSON cannot represent. Each container adds the value's key to ``path``."""

    path = ""


def plain(value: object, level: int = 0, *, in_order: bool = False) -> object:
    """Converts every model in a value to a dict of its set fields."""
    if isinstance(value, str):
        if not is_text(value):
            raise _UnsendableError("it has a lone surrogate")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _UnsendableError(f"JSON cannot represent {value}")
    elif isinstance(value, BaseModel):
        return plain(value.model_dump(exclude_unset=True), level, in_order=in_order)
    elif isinstance(value, Mapping):
        fields = sorted(value.items(), key=_name) if in_order else value.items()
        return {key: _item(value, key, item, level, in_order) for key, item in fields}
    elif isinstance(value, (list, tuple)):
        return [_item(value, index, item, level, in_order) for index, item in enumerate(value)]
    return value


def _name(field: tuple[object, object]) -> str:
    return str(field[0])


def _item(container: object, key: object, item: object, level: int, in_order: bool) -> object:
    """Converts a value in a container. Adds the value's key to the path of an error."""
    if level >= LEVELS_MAX:
        raise _UnsendableError(f"it is cyclic or has more than {LEVELS_MAX} levels")
    if isinstance(key, str) and not is_text(key):
        raise _UnsendableError("a key has a lone surrogate")
    try:
        return plain(item, level + 1, in_order=in_order)
    except _UnsendableError as error:
        if level < LEVELS_NAMED:
            step = f"[{key}]" if isinstance(container, (list, tuple)) else f".{key}"
            error.path = f"{step}{error.path}".lstrip("." if level == 0 else "")
        raise


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode a text: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def headers_of(headers: Mapping[str, object]) -> dict[str, str]:
    """Checks header values, and omits headers with value None."""
    given: dict[str, str] = {}
    for name, value in headers.items():
        if value is None:
            continue
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise ConfigurationError(f"the header {name} has an invalid value: {value!r}")
        given[name] = value
    return given


def query_of(query: Mapping[str, object]) -> dict[str, str]:
    """Converts query parameters to texts, and omits parameters with value None."""
    return {_text(name): _text(value) for name, value in query.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, str):
        if not is_text(value):
            raise ConfigurationError(f"the parameter {value!a} has a lone surrogate")
        return value
    return json_of(value).decode().strip('"')
