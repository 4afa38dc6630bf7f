"""Retry policy without a clock."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from identity_engine._core.retry import WAIT_S_MAX, wait_before
from identity_engine.errors import ConnectionError, MalformedAnswerError

CHANCE = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 1_000), CHANCE)
def test_waits_have_full_jitter_below_a_doubled_bound(attempt: int, chance: float) -> None:
    bound = min(WAIT_S_MAX, 0.1 * 2 ** min(attempt - 1, 20))
    assert wait_before(attempt, ConnectionError(), lambda: chance) == chance * bound


@given(st.integers(1, 100), CHANCE, st.integers(0, 3_600))
def test_no_wait_is_shorter_than_retry_after(attempt: int, chance: float, asked_s: int) -> None:
    error = MalformedAnswerError("", status=503, retry_after_s=float(asked_s))
    assert asked_s <= wait_before(attempt, error, lambda: chance) <= max(asked_s, WAIT_S_MAX)
