"""``client.personas``: the twelve reference personas."""

from __future__ import annotations

from identity_engine._core.call import get, path_of
from identity_engine._core.envelope import Many, One, result_of
from identity_engine._sync.caller import Caller
from identity_engine._sync.page import Page, fetch_page
from identity_engine.models import Persona, PersonaDetail
from identity_engine.results import Result

_LISTED = Many[Persona]
_DETAIL = One[PersonaDetail]


class Personas:
    """Reference personas; read-only."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Page[Persona]:
        """Returns all personas as one page.

        Args:
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        return fetch_page(
            self._caller,
            "/personas",
            {},
            _LISTED,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def get(
        self,
        id: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[PersonaDetail]:
        """Returns a persona with all details.

        Args:
            id: Id of a persona, such as ``persona_analytical``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: No persona has this id.
        """
        call = get(path_of("personas", id), request_id=request_id)
        return result_of(self._caller.send(call, timeout_s, attempts_max), _DETAIL)
