"""Base class of all data models, in its own module so that the generated module can import it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Data of the API. Keeps unknown fields, as attributes and in dumps."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
