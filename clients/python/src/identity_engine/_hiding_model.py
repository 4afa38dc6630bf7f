"""Models of the OpenAI Agents SDK that do not see hidden tools.

The SDK ends a run if a model calls a tool outside the list. The list of the runner therefore keeps
hidden tools, so that the runner can refuse calls; only the model gets a shorter list.

Separate from ``openai_agents``, because the models of a run can come from the run's configuration.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from agents import Model, ModelProvider, ModelResponse, ModelSettings, MultiProvider, Tool
from agents.items import TResponseStreamEvent

HIDDEN = "_identity_engine_hidden"
"""Attribute of a hidden tool."""


def hidden(tool: Tool) -> Tool:
    """Returns a hidden copy of a tool. Other runs share the tool itself."""
    copied = copy.copy(tool)
    setattr(copied, HIDDEN, True)
    return copied


class IdentityModelProvider(ModelProvider):
    """Finds models that do not see the tools that ``with_identity`` hides.

    Args:
        provider: Finds the models; default ``MultiProvider()``.
    """

    def __init__(self, provider: ModelProvider | None = None) -> None:
        self._provider = MultiProvider() if provider is None else provider

    def get_model(self, model_name: str | None) -> Model:
        """Returns the model of a name."""
        return HidingModel(self._provider.get_model(model_name))

    async def aclose(self) -> None:
        """Closes the provider."""
        await self._provider.aclose()


class HidingModel(Model):
    """A model that does not see hidden tools.

    Args:
        model: Answers the calls.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        for name in ("close", "get_retry_advice", "_cleanup_on_run_end"):
            # The base class has these methods, so ``__getattr__`` would not find the model's.
            setattr(self, name, getattr(model, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: Any,
        handoffs: list[Any],
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        """Answers one call."""
        settings, visible = _visible(model_settings, tools, handoffs)
        given = (system_instructions, input, settings, visible, output_schema, handoffs)
        return await self._model.get_response(*given, *args, **kwargs)

    def stream_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: Any,
        handoffs: list[Any],
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Streams the answer of one call."""
        settings, visible = _visible(model_settings, tools, handoffs)
        given = (system_instructions, input, settings, visible, output_schema, handoffs)
        return self._model.stream_response(*given, *args, **kwargs)


def _visible(
    settings: ModelSettings, tools: list[Tool], handoffs: list[Any]
) -> tuple[ModelSettings, list[Tool]]:
    """Drops hidden tools, and a ``tool_choice`` that no tool can satisfy."""
    visible = [tool for tool in tools if not getattr(tool, HIDDEN, False)]
    names = {tool.name for tool in tools} - {tool.name for tool in visible}
    is_impossible = settings.tool_choice in names or not (visible or handoffs)
    return replace(settings, tool_choice=None) if is_impossible else settings, visible
