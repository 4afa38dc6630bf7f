"""The base of all models of data."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Data of the API. Fields that this version does not know are kept, as attributes and in
    dumps.
    """

    model_config = ConfigDict(extra="allow", protected_namespaces=())
