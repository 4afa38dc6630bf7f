"""``client.billing``: payment provider pages."""

from __future__ import annotations

from identity_engine._core.call import Repeatable, send
from identity_engine._core.envelope import One, result_of
from identity_engine._sync.caller import Caller
from identity_engine.models import BillingPage
from identity_engine.results import Result

_PAGE = One[BillingPage]


class Billing:
    """Pages on which a person buys, changes or cancels a plan.

    A call is retried only if the failed attempt certainly changed nothing.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def checkout(
        self,
        plan: str,
        *,
        success_url: str,
        cancel_url: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[BillingPage]:
        """Returns a page for buying a plan. The provider's confirmation activates the plan.

        Args:
            plan: ``indie`` or ``pro``.
            success_url: Page to open after the payment: https, up to 2,048 characters; http only
                for loopback addresses.
            cancel_url: Page to open if the person does not pay.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidPlanError: The plan cannot be bought.
            ConflictError: The account has a subscription (``already_exists``) or an agreed plan.
            BillingProviderNotConfiguredError: The service has no payment provider.
        """
        body = {"plan": plan, "success_url": success_url, "cancel_url": cancel_url}
        call = send("POST", "/billing/checkout", body, Repeatable.UNCHANGED, request_id=request_id)
        return result_of(self._caller.send(call, timeout_s, attempts_max), _PAGE)

    def portal(
        self,
        return_url: str,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[BillingPage]:
        """Returns a page for changing or cancelling a purchase.

        Args:
            return_url: Page that the return link opens: https, up to 2,048 characters; http only
                for loopback addresses.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has never bought a plan.
            BillingProviderNotConfiguredError: The service has no payment provider.
        """
        body = {"return_url": return_url}
        call = send("POST", "/billing/portal", body, Repeatable.UNCHANGED, request_id=request_id)
        return result_of(self._caller.send(call, timeout_s, attempts_max), _PAGE)
