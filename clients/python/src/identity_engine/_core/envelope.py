"""Converts JSON answers to results and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from identity_engine._core.answer import Answer, malformed, retry_after_of
from identity_engine._core.lenient_json import read_json
from identity_engine.errors import ApiError
from identity_engine.models import AsOf
from identity_engine.results import (
    Headers,
    Limits,
    NotModified,
    Observed,
    PageInfo,
    Requested,
    Result,
    Throttled,
)

T = TypeVar("T")
E = TypeVar("E", bound=BaseModel)


class One(BaseModel, Generic[T]):
    """``{"data": {…}}``."""

    model_config = ConfigDict(extra="ignore")
    data: T


class Many(BaseModel, Generic[T]):
    """``{"data": […], "pagination": {…}}``."""

    model_config = ConfigDict(extra="ignore")
    data: list[T]
    pagination: PageInfo
    as_of: AsOf | None = None


class Raw(BaseModel):
    """``{"data": …, "pagination": {…}}`` of any path."""

    model_config = ConfigDict(extra="ignore")
    data: dict[str, Any] | list[Any]
    pagination: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A page without the function that requests the next page."""

    result: Result[list[T]]
    pagination: PageInfo
    as_of: AsOf | None


def result_of(answer: Answer, frame: type[One[T]]) -> Result[T]:
    """Reads the result of an answer. Raises ``MalformedAnswerError`` for another form."""
    return _result(answer, _read(answer, frame).data)


def observed_of(answer: Answer, frame: type[One[T]]) -> Observed[T]:
    """Reads the result of observations, which may be throttled."""
    is_throttled = answer.headers.get("x-throttled") == "true"
    throttled = Throttled(retry_after_of(answer.headers) or 0.0) if is_throttled else None
    return Observed(
        data=_read(answer, frame).data,
        is_replayed=_is_replayed(answer),
        **_facts_of(answer),
        throttled=throttled,
    )


def conditional_of(answer: Answer, frame: type[One[T]]) -> Result[T] | NotModified:
    """Reads the result of a conditional read, which may be "not modified"."""
    is_current = answer.status == 304 and answer.is_conditional
    return NotModified(**_facts_of(answer)) if is_current else result_of(answer, frame)


def requested_of(answer: Answer) -> Requested[Any] | NotModified:
    """Reads the result of ``client.request``."""
    if answer.status == 304 and answer.is_conditional:
        return NotModified(**_facts_of(answer))
    body = None if answer.status == 204 else _read(answer, Raw)
    return Requested(
        data=None if body is None else body.data,
        is_replayed=_is_replayed(answer),
        **_facts_of(answer),
        pagination=None if body is None else body.pagination,
    )


def listed_of(answer: Answer, frame: type[Many[T]]) -> Listed[T]:
    """Reads the page of an answer."""
    body = _read(answer, frame)
    return Listed(_result(answer, body.data), body.pagination, body.as_of)


def refused_as(error: ApiError, data: T) -> Result[T]:
    """Converts a refusal to a success, such as "not found" for a delete."""
    return Result(
        data=data,
        status=error.status,
        request_id=error.request_id,
        limits=error.limits,
        etag=None,
        is_replayed=False,
        attempts=error.attempts,
        headers=error.headers,
    )


def _result(answer: Answer, data: T) -> Result[T]:
    return Result(
        data=data,
        is_replayed=_is_replayed(answer),
        **_facts_of(answer),
    )


class _Facts(TypedDict):
    status: int
    request_id: str | None
    limits: Limits
    etag: str | None
    attempts: int
    headers: Headers


def _facts_of(answer: Answer) -> _Facts:
    """Facts that every result has, besides its data."""
    return {
        "status": answer.status,
        "request_id": answer.request_id,
        "limits": answer.limits,
        "etag": answer.headers.get("etag"),
        "attempts": answer.attempts,
        "headers": Headers(answer.headers),
    }


def is_old(result: Result[T]) -> bool:
    """Whether the result is the replayed answer of an earlier call.

    After a retry, a replayed answer belongs to this call.
    """
    return result.is_replayed and result.attempts == 1


def _is_replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def _read(answer: Answer, frame: type[E]) -> E:
    try:
        return read_json(frame, answer.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(str(step) for step in first["loc"])
        raise malformed(answer, f"{at}: {first['msg']}") from error
