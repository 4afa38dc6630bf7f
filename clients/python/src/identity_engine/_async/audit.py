"""``client.audit``: the audit trail of the account."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

from identity_engine._async.caller import AsyncCaller
from identity_engine._async.page import AsyncPage, fetch_page, items_of
from identity_engine._core.envelope import Many
from identity_engine.models import AuditLine, AuditOutcome

_LINES = Many[AuditLine]


class AsyncAudit:
    """Audit trail of the account: changes to keys, plan, members and instances."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        target: str | None = None,
        outcome: AuditOutcome | None = None,
        from_: datetime | str | None = None,
        until: datetime | str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> AsyncPage[AuditLine]:
        """Returns a page of lines, newest first. An empty page may still have a next page.

        Args:
            limit: 1 to 100 lines; default 20.
            cursor: ``next_cursor`` from the previous page.
            action: An action or a prefix of actions: ``key`` matches every ``key.…``.
            actor: Id of the acting key, user or token.
            target: Id of the object of the action.
            outcome: ``begun``, ``done``, ``repeated``, or the code of a refusal.
            from_: No lines before this time, RFC 3339 or an aware datetime.
            until: Only lines before this time.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ForbiddenError: The key is a read key.
        """
        query = _query(limit, cursor, action, actor, target, outcome, from_, until)
        return await fetch_page(
            self._caller,
            "/audit",
            query,
            _LINES,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def iterate(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        target: str | None = None,
        outcome: AuditOutcome | None = None,
        from_: datetime | str | None = None,
        until: datetime | str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> AsyncGenerator[AuditLine, None]:
        """Iterates over all lines from ``cursor`` on, with one page of ``limit`` lines in memory.

        Takes the arguments of ``list``; ``timeout_s`` and ``attempts_max`` apply to each page.
        """
        query = _query(limit, cursor, action, actor, target, outcome, from_, until)
        return items_of(
            self._caller,
            "/audit",
            query,
            _LINES,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )


def _query(
    limit: int | None,
    cursor: str | None,
    action: str | None,
    actor: str | None,
    target: str | None,
    outcome: AuditOutcome | None,
    from_: datetime | str | None,
    until: datetime | str | None,
) -> dict[str, object]:
    return {
        "limit": limit,
        "cursor": cursor,
        "action": action,
        "actor": actor,
        "target": target,
        "outcome": outcome,
        "from": from_,
        "until": until,
    }
