"""OpenTelemetry trace context for both clients, if the API package is installed."""

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
    """Adds the active span's ``traceparent`` through the process's propagators."""
    if _inject is not None:
        _inject(headers)
