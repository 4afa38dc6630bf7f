"""OpenTelemetry context: sent along when its API package is there, nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable

Inject = Callable[[dict[str, str]], None]


def _found() -> Inject | None:
    try:
        from opentelemetry import propagate
    except ImportError:
        return None
    return propagate.inject


_inject = _found()


def add_trace_context(headers: dict[str, str]) -> None:
    """Adds ``traceparent`` of the active span, as the propagators of the process write it."""
    if _inject is not None:
        _inject(headers)
