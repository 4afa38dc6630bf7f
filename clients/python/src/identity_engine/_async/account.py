"""``client.account``: the account of the API key."""

from __future__ import annotations

from identity_engine._async.caller import AsyncCaller
from identity_engine._core.call import get
from identity_engine._core.envelope import One, result_of
from identity_engine.models import Account
from identity_engine.results import Result

_ACCOUNT = One[Account]


class AsyncOwnAccount:
    """The account of the API key."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def get(
        self,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Account]:
        """Returns the plan, the key, and the usage of this minute and month, with this request.

        Args:
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        call = get("/account", request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _ACCOUNT)
