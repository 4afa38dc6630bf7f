"""Converts event stream blocks to typed events."""

from __future__ import annotations

import json

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
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        text = f"invalid event {block.event}: {first['loc']}: {first['msg']}"
        raise MalformedAnswerError(text, status=200) from error


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
    try:
        data = json.loads(block.data)
    except (ValueError, RecursionError):
        data = block.data
    return UnknownEvent(block.event, data, block.id or None)
