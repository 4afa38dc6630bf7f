"""OpenTelemetry trace context in requests."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider

from both_clients import Kind, client_of, raised
from identity_engine._core import tracing
from wire_server import refusal, script, serving


def test_requests_carry_the_trace_of_the_active_span(kind: Kind) -> None:
    tracer = TracerProvider().get_tracer("test")
    with serving(script(refusal(404, "not_found"))) as server:
        with client_of(kind, server.base_url) as client:
            with tracer.start_as_current_span("agent") as span:
                raised(lambda: client.account.get())
            raised(lambda: client.account.get())
    inside, outside = server.requests
    trace_id = format(span.get_span_context().trace_id, "032x")
    assert inside.headers["traceparent"].split("-")[1] == trace_id
    assert "traceparent" not in outside.headers


def test_client_without_the_api_package_adds_no_header(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setattr(tracing, "_inject", tracing._found())
    with serving(script(refusal(404, "not_found"))) as server:
        with client_of(kind, server.base_url) as client:
            raised(lambda: client.account.get())
    assert "traceparent" not in server.requests[0].headers
