"""Base class of all data models. Separate, because the generated module imports this class."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Data of the API. Keeps unknown fields, as attributes and in dumps."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
