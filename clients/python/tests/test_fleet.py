"""Observations of many instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from both_clients import Kind, client_of, raised
from identity_engine.errors import ConfigurationError, QuotaExceededError
from wire_server import Answering, Fault, Reply, Request, WireServer, data, refusal, serving

APPLIED = {"status": "applied", "cycle": 1}
AWAY = {"status": "refused", "retry": "after", "http_status": 503}
WRONG = {"status": "refused", "retry": "never", "http_status": 422}
BEHIND = {"status": "not_attempted", "retry": "after"}
SUMMARY = dict.fromkeys(
    ("applied", "replayed", "throttled", "refused", "unknown", "not_attempted"), 0
)


def of(instance_id: str, **fields: Any) -> dict[str, Any]:
    return {"instance_id": instance_id, "mode_target": "ORDER", "signal_strength": 0.5, **fields}


def applied(request: Request, given: Sequence[dict[str, Any]] = ()) -> Reply:
    """Answers with the given results, and applies all other observations."""
    results = [
        {
            "index": index,
            "instance_id": each["instance_id"],
            **(given[index] if index < len(given) else APPLIED),
        }
        for index, each in enumerate(request.json["observations"])
    ]
    return data({"summary": SUMMARY, "results": results})


def answering(*answers: Sequence[dict[str, Any]] | Reply) -> Answering:
    """Gives the answers in order: results, or a whole reply. Further calls apply everything."""
    left = list(answers)

    def answer(request: Request) -> Reply | Fault:
        given = left.pop(0) if left else ()
        return given if isinstance(given, Reply) else applied(request, given)

    return answer


def sent(server: WireServer) -> list[list[dict[str, Any]]]:
    return [request.json["observations"] for request in server.requests]


def test_observations_get_keys_that_their_repetition_keeps(kind: Kind) -> None:
    first = (APPLIED, AWAY, BEHIND, WRONG, BEHIND)
    with serving(answering(first)) as server, client_of(kind, server.base_url) as client:
        result = client.process(
            [of("a"), of("b", idempotency_key="mine"), of("b"), of("c"), of("c")]
        )
        one, two = sent(server)
    assert one[1]["idempotency_key"] == "mine"
    assert len({each["idempotency_key"] for each in one}) == 5
    assert two == one[1:3]
    results, summary = result.data.results, result.data.summary
    assert [each.status for each in results] == [
        *("applied", "applied", "applied", "refused", "not_attempted"),
    ]
    assert [each.index for each in results] == [0, 1, 2, 3, 4]
    assert (summary.applied, summary.refused, summary.not_attempted) == (3, 1, 1)
    assert result.attempts == 2


def test_observations_are_divided_by_number_and_by_size(kind: Kind) -> None:
    with serving(answering()) as server, client_of(kind, server.base_url) as client:
        result = client.process([of("a")] * 2_001)
        assert [len(part) for part in sent(server)] == [1_000, 1_000, 1]
    assert [each.index for each in result.data.results] == list(range(2_001))
    assert result.data.summary.applied == 2_001
    with serving(answering()) as server, client_of(kind, server.base_url) as client:
        client.process([of("a", context={"text": "é" * 4_000})] * 200)
        sizes = [len(request.body) for request in server.requests]
    assert len(sizes) == 2
    assert max(sizes) <= 1_048_576


# The caller would not learn which observations of the first call were applied.
def test_results_of_earlier_calls_survive_a_later_failure(kind: Kind) -> None:
    refused = refusal(429, "quota_exceeded")
    observations = [of(f"i{n}") for n in range(2_500)]
    with serving(answering((), refused)) as server, client_of(kind, server.base_url) as client:
        data = client.process(observations).data
    assert (data.summary.applied, data.summary.not_attempted) == (1_000, 1_500)
    assert data.results[1_000].refusal.error == "quota_exceeded"
    assert data.results[2_499].index == 2_499
    with serving(answering(refused)) as server, client_of(kind, server.base_url) as client:
        assert isinstance(raised(lambda: client.process(observations)), QuotaExceededError)


def test_outcomes_are_unknown_only_if_the_call_may_have_happened(kind: Kind) -> None:
    lost = refusal(503, "service_unavailable", reason="outcome_unknown")
    with serving(answering((), lost)) as server:
        with client_of(kind, server.base_url, attempts_max=1) as client:
            data = client.process([of("a")] * 2_001).data
    summary = data.summary
    assert (summary.applied, summary.unknown, summary.not_attempted) == (1_000, 1_000, 1)
    assert data.results[1_000].retry == "same_key"


def test_observation_that_is_no_mapping_is_refused(kind: Kind) -> None:
    with client_of(kind, "http://127.0.0.1:9/v1") as client:
        assert isinstance(raised(lambda: client.process([3])), ConfigurationError)


# A later observation was applied before an earlier one, which was then throttled for ever.
def test_an_instance_keeps_its_order_across_calls(kind: Kind) -> None:
    first = (*(APPLIED,) * 999, WRONG)
    observations = [of("a" if 999 <= n < 1_002 else f"i{n}") for n in range(1_003)]
    with serving(answering(first)) as server, client_of(kind, server.base_url) as client:
        results = client.process(observations).data.results
        assert [len(part) for part in sent(server)] == [1_000, 1]
    assert [each.status for each in results[999:]] == [
        *("refused", "not_attempted", "not_attempted", "applied"),
    ]


def test_attempts_max_counts_repetitions_too(kind: Kind) -> None:
    with serving(answering((AWAY,), (AWAY,), (AWAY,))) as server:
        with client_of(kind, server.base_url) as client:
            result = client.process([of("a")], attempts_max=2)
        assert (result.attempts, len(server.requests)) == (2, 2)
