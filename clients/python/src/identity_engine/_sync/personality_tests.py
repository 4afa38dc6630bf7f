"""``client.tests``: the personality test."""

from __future__ import annotations

from collections.abc import Sequence

from identity_engine._core.call import Repeatable, get, send
from identity_engine._core.dictionaries import TestAnswerInput
from identity_engine._core.envelope import One, result_of
from identity_engine._sync.caller import Caller
from identity_engine.models import Questionnaire, TestResult
from identity_engine.results import Result

_QUESTIONS = One[Questionnaire]
_RESULT = One[TestResult]


class Tests:
    """The personality test. The service stores no answers."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def questions(
        self,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Questionnaire]:
        """Returns the 35 statements and their scale of 1 to 5.

        Args:
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        call = get("/test/questions", request_id=request_id)
        return result_of(self._caller.send(call, timeout_s, attempts_max), _QUESTIONS)

    def submit(
        self,
        answers: Sequence[TestAnswerInput],
        *,
        version: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[TestResult]:
        """Scores answers: mode strengths, nearest personas, and ``initial_config`` for ``create``.

        Args:
            answers: ``question_id`` and ``value`` (1 to 5) for each answer; each question at most
                once.
            version: Test version; default ``1.0``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: An answer breaks a rule, or a mode has too few answers.
        """
        body: dict[str, object] = {"answers": list(answers)}
        if version is not None:
            body["version"] = version
        call = send(
            "POST", "/test/submit", body, Repeatable.ALWAYS, request_id=request_id, is_read=True
        )
        return result_of(self._caller.send(call, timeout_s, attempts_max), _RESULT)
