"""Small batches of several instances that share a fleet call."""

from __future__ import annotations

from typing import Any

from both_clients import Kind, client_of
from test_buffer import ONE, OTHER, buffer_of
from test_guard import state
from wire_server import Answering, Fault, Reply, Request, WireServer, data, refusal, serving

SUMMARY = dict.fromkeys(
    ("applied", "replayed", "throttled", "refused", "unknown", "not_attempted"), 0
)
LONG_S = 0.5
"""Maximum delay of the buffers: all observations of a test are due together."""


def logged(number: int) -> dict[str, Any]:
    context = {"number": number}
    return {"mode_target": "ORDER", "signal_strength": 0.5, "context": context}


def fleet(*given: dict[str, Any]) -> Answering:
    """Answers fleet calls with these results, applies further observations, and all batches."""
    left = [given]

    def answer(request: Request) -> Reply | Fault:
        sent = request.json["observations"]
        if request.path.endswith("/process/batch"):
            return data({**state("pivot"), "processed_count": len(sent)})
        results = left.pop() if left else ()
        applied = {"status": "applied", "cycle": 1, **state("challenge")}
        return data(
            {
                "summary": SUMMARY,
                "results": [
                    {"index": index, **applied, **(results[index] if index < len(results) else {})}
                    for index in range(len(sent))
                ],
            }
        )

    return answer


def numbers(server: WireServer) -> list[list[int]]:
    return [
        [each["context"]["number"] for each in request.json["observations"]]
        for request in server.requests
    ]


def paths(server: WireServer) -> list[str]:
    return [request.path.removeprefix("/v1") for request in server.requests]


def test_batches_that_are_due_together_share_a_request(kind: Kind) -> None:
    with serving(fleet()) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, fleet_calls=True, delay_max_s=LONG_S) as buffer:
            handle = client.instance(OTHER)._target
            guard = handle.guard()
            buffer.add(ONE, logged(1))
            buffer.add(handle, logged(2))
            buffer.add(ONE, logged(3))
            buffer.flush()
            assert guard.contract.forbidden_actions == ["challenge"]
            assert buffer.close().acknowledged == 3
        assert paths(server) == ["/process"]
        assert sorted(numbers(server)[0]) == [1, 2, 3]


def test_one_instance_and_many_observations_are_batches(kind: Kind) -> None:
    with serving(fleet()) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, fleet_calls=True, delay_max_s=LONG_S) as buffer:
            buffer.add(ONE, logged(0))
            buffer.flush()
            for number in range(5):
                buffer.add(ONE, logged(number))
                buffer.add(OTHER, logged(number))
            assert buffer.close().acknowledged == 11
        assert all(path.endswith("/process/batch") for path in paths(server))


def test_service_without_fleet_calls_gets_batches(kind: Kind) -> None:
    serve = fleet()

    def answer(request: Request) -> Reply | Fault:
        is_fleet = request.path.endswith("/v1/process")
        return refusal(404, "not_found") if is_fleet else serve(request)

    with serving(answer) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, fleet_calls=True, delay_max_s=LONG_S) as buffer:
            for number in (1, 2):
                buffer.add(ONE, logged(number))
                buffer.add(OTHER, logged(number))
                buffer.flush()
            assert buffer.close().acknowledged == 4
        assert sum(path == "/process" for path in paths(server)) == 1
        assert len(server.requests) == 5


def test_rejected_observation_leaves_the_others(kind: Kind) -> None:
    details = {"reason": "out_of_range", "field": "observations[1].signal_strength"}
    wrong = {
        "status": "refused",
        "http_status": 422,
        "refusal": {"error": "invalid_request", "message": "wrong", "details": details},
    }
    rejected: list[Any] = []
    with serving(fleet({}, wrong, {"status": "not_attempted"})) as server:
        with client_of(kind, server.base_url) as client:
            options = {"fleet_calls": True, "delay_max_s": LONG_S}
            with buffer_of(client, on_rejected=rejected.append, **options) as buffer:
                for number in (1, 2, 3):
                    buffer.add(ONE, logged(number))
                buffer.add(OTHER, logged(4))
                assert buffer.close().acknowledged == 3
        assert [each.observation["context"]["number"] for each in rejected] == [2]
        assert numbers(server) == [[1, 2, 3, 4], [1, 3]]


def test_unknown_outcome_is_sent_again_with_the_same_key(kind: Kind) -> None:
    lost = {"status": "unknown", "http_status": 503, "retry": "same_key"}
    with serving(fleet(lost)) as server, client_of(kind, server.base_url) as client:
        with buffer_of(client, fleet_calls=True, delay_max_s=LONG_S) as buffer:
            buffer.add(ONE, logged(1))
            buffer.add(OTHER, logged(2))
            assert buffer.close().acknowledged == 2
        assert numbers(server) == [[1, 2], [1]]
        first, second = (request.json["observations"][0] for request in server.requests)
        assert second == {name: each for name, each in first.items() if name != "instance_id"}
