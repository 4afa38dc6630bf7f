"""Base classes of all data models, in a module that the generated module can import."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict

from identity_engine._agent.contract_prompt import Wording, contract_prompt

if TYPE_CHECKING:
    from identity_engine.models import Contract  # imports this module


class Model(BaseModel):
    """Data of the API. Keeps unknown fields, as attributes and in dumps."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class PromptedModel(Model):
    """Base class of ``Contract``, whose fields are generated."""

    def as_prompt(self, wording: Wording | None = None) -> str:
        """Returns a short text for the end of a language model's instructions.

        Equal contracts give equal text. The text has no numbers, names or contexts.

        Args:
            wording: Texts of the prompt, such as ``wording_with({...})``; default ``WORDING``.
        """
        return contract_prompt(cast("Contract", self), wording)
