"""An agent whose observations a buffer sends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from both_clients import KEY, Kind, client_of
from identity_engine.errors import BufferClosedError
from test_agent import TOOLS, agent_of, instance_with, worked
from test_buffer import buffer_of
from test_guard import INSTANCE, state
from wire_server import WireServer, data, script, serving

APPLIED = data(
    {
        **state("clarify"),
        "processed_count": 1,
        "results": [{"index": 0, "status": "applied", "cycle": 1}],
    }
)

PROGRAM = f"""
import sys
from identity_engine import Agent, IdentityEngine, ObservationBuffer, ToolPolicy
client = IdentityEngine(api_key=sys.argv[1], base_url=sys.argv[2])
buffer = ObservationBuffer(client, spool=sys.argv[3])
tools = ToolPolicy({{"look_up": "clarify"}})
agent = Agent(client.instance({INSTANCE!r}), tools=tools, buffer=buffer)
with agent.turn("run-1") as turn:
    turn.used("look_up", "ok")
print("ended", flush=True)
buffer.flush()
"""


def keys_of(server: WireServer) -> list[list[str]]:
    """Keys of the observations of each batch."""
    sent = [request for request in server.requests if request.path.endswith("/process/batch")]
    return [[each["idempotency_key"] for each in batch.json["observations"]] for batch in sent]


# The observation was only in memory between the end of a turn and the answer of the service.
def test_ended_turn_survives_kill_9_and_counts_once(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "spool"
    with serving(instance_with(script("silence"))) as server:
        command = [sys.executable, "-c", PROGRAM, KEY, server.base_url, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ended\n"
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        process.stdout.close()
    with serving(instance_with(script(APPLIED))) as server:
        with client_of(kind, server.base_url) as client, buffer_of(client, spool=path) as buffer:
            buffer.flush()
            assert buffer.close().acknowledged == 1
        assert keys_of(server) == [["turn:run-1"]]


def buffered_agent(client: Any, kind: Kind, buffer: Any, reported: list[Exception]) -> Any:
    return agent_of(
        client,
        kind,
        tools=TOOLS,
        buffer=getattr(buffer, "_target", buffer),
        on_error=reported.append,
    )


def test_next_turn_begins_with_the_contract_of_the_batch(kind: Kind) -> None:
    reported: list[Exception] = []
    with serving(instance_with(script(APPLIED))) as server:
        with client_of(kind, server.base_url) as client:
            with buffer_of(client, delay_max_s=0) as buffer:
                agent = buffered_agent(client, kind, buffer, reported)
                worked(agent, "a").end()
                buffer.flush()
                assert agent.begin("b").contract.forbidden_actions == ["clarify"]
        assert sum(request.path.endswith("/contract") for request in server.requests) == 1
    assert reported == []


def test_each_turn_that_the_buffer_refuses_is_reported(kind: Kind) -> None:
    reported: list[Exception] = []
    with serving(instance_with(script(APPLIED))) as server:
        with client_of(kind, server.base_url) as client, buffer_of(client) as buffer:
            buffer.close()
            agent = buffered_agent(client, kind, buffer, reported)
            for run_id in ("a", "b"):
                worked(agent, run_id).end()
    assert [type(error) for error in reported] == [BufferClosedError] * 2
