"""Converts event stream blocks to typed events."""

from __future__ import annotations

import json
from typing import Literal

from httpx_sse import ServerSentEvent
from pydantic import ValidationError

from identity_engine._core.lenient_json import read_json
from identity_engine.errors import MalformedAnswerError
from identity_engine.events import (
    CycleEvent,
    DeletedEvent,
    Event,
    GapEvent,
    ResetEvent,
    StateEvent,
    UnknownEvent,
)
from identity_engine.models import (
    AccountEvent,
    CycleEventData,
    DeletedEventData,
    GapEventData,
    ResetEventData,
    StateEventData,
)


def event_of(block: ServerSentEvent) -> Event | None:
    """Returns the event of a block; None for a block without an event.

    Raises ``MalformedAnswerError`` if the data does not fit the event type.
    """
    if block.data == "":
        return None
    try:
        return _typed(block)
    except ValidationError as error:
        raise _malformed(block, error) from error


def _malformed(block: ServerSentEvent, error: ValidationError) -> MalformedAnswerError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    text = f"invalid event {block.event}: {first['loc']}: {first['msg']}"
    return MalformedAnswerError(text, status=200)


def _typed(block: ServerSentEvent) -> Event:
    match block.event:
        case "state":
            return StateEvent(read_json(StateEventData, block.data))
        case "cycle" if block.id.isdigit():
            return CycleEvent(int(block.id), read_json(CycleEventData, block.data))
        case "reset":
            return ResetEvent(read_json(ResetEventData, block.data))
        case "gap":
            return GapEvent(read_json(GapEventData, block.data))
        case "deleted":
            return DeletedEvent(read_json(DeletedEventData, block.data))
    return UnknownEvent(block.event, _json_or_text(block.data), block.id or None)


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def account_event_of(block: ServerSentEvent) -> AccountEvent | Literal["gap"] | None:
    """Returns the account's event in a block, or "gap" if events are missing.

    Returns None for a block without an event, and for a message of a later release that is no
    event. Raises ``MalformedAnswerError`` if the data is not JSON or a field does not fit.
    """
    if block.data == "":
        return None
    if block.event == "gap":
        return "gap"
    try:
        return read_json(AccountEvent, block.data)
    except ValidationError as error:
        data = _json_or_text(block.data)
        if isinstance(data, dict) and not {"id", "type"} <= data.keys():
            return None
        raise _malformed(block, error) from error
