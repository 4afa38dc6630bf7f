"""Reads models from JSON, including lone surrogates that were stored before version 1.1."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


def read_json(model: type[M], content: bytes | str) -> M:
    """Parses a model. Raises ``ValidationError``.

    pydantic's own parser refuses lone surrogates; Python's parser keeps them.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        text = content.decode(errors="replace") if isinstance(content, bytes) else content
        if "\\ud" not in text.lower():
            raise
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise error from None
    return model.model_validate(value)
