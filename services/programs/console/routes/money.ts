import { z } from 'zod';
import { limitsOf } from '#accounts/plan';
import { type ConsoleRoute, callerRoute, EmptyBody } from '#console/app/route';
import { shown, type Visit } from '#console/app/visit';
import { type Caller, type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import type { AccountBilling } from '#edge/serve/account';
import { isoTime } from '#stdlib/clock';

type BillingParts = {
  readonly live: LiveSessions;
  readonly billing: Pick<AccountBilling, 'standing' | 'checkout' | 'portal'>;
  readonly origin: () => string;
};

const CheckoutBody = z.strictObject({ plan: z.string().max(64) });

const BILLING = { permission: 'billing' } as const;

/** Return path for the payment provider's pages. */
const PAGE = '/billing';

/** Routes for the plan of the caller's account and for links to the payment provider's pages. */
export function billingRoutes({ live, billing, origin }: BillingParts): ConsoleRoute[] {
  const standing = { method: 'GET', path: '/billing', ...BILLING } as const;
  const checkout = {
    method: 'POST',
    path: '/billing/checkout',
    body: CheckoutBody,
    isCostly: true,
    ...BILLING,
  } as const;
  const portal = {
    method: 'POST',
    path: '/billing/portal',
    body: EmptyBody,
    isCostly: true,
    ...BILLING,
  } as const;
  return [
    callerRoute(live, standing, async ({ caller }) =>
      shown(viewOf(await billing.standing(caller.membership.accountId))),
    ),
    callerRoute(live, checkout, async ({ caller, visit, body: { plan } }) => {
      const back = `${origin()}${PAGE}?checkout=`;
      const urls = { successUrl: `${back}done`, cancelUrl: `${back}cancelled` };
      return shown(await billing.checkout(buyerOf(caller, visit), { plan, ...urls }));
    }),
    callerRoute(live, portal, async ({ caller, visit }) =>
      shown(await billing.portal(buyerOf(caller, visit), `${origin()}${PAGE}`)),
    ),
  ];
}

function buyerOf({ session, membership }: Caller, { address, requestId }: Visit) {
  const member = { userId: session.userId, sessionId: sessionIdOf(session) };
  return { accountId: membership.accountId, address, requestId, member };
}

type Standing = Awaited<ReturnType<AccountBilling['standing']>>;

function viewOf({ provider, plan, later, subscription, maySubscribe, mayManage }: Standing) {
  return {
    ...(provider !== undefined && { provider }),
    plan,
    ...(later !== undefined && { next_plan: { plan: later.plan, at: isoTime(later.atMs) } }),
    ...(subscription !== undefined && { subscription: viewOfSubscription(subscription) }),
    may_subscribe: maySubscribe,
    may_manage: mayManage,
    plans: (['free', 'indie', 'pro'] as const).map((name) => {
      const { requestsPerMinute, cyclesPerMonth, instances } = limitsOf({ plan: name });
      const limits = { requests_per_minute: requestsPerMinute, cycles_per_month: cyclesPerMonth };
      return { plan: name, ...limits, instances };
    }),
  };
}

function viewOfSubscription(subscription: NonNullable<Standing['subscription']>) {
  const { plan, status, periodEndsAtMs, endsAtMs, failed } = subscription;
  return {
    plan,
    status,
    period_ends_at: isoTime(periodEndsAtMs),
    ...(endsAtMs !== undefined && { ends_at: isoTime(endsAtMs) }),
    ...(failed !== undefined && {
      payment_failed_at: isoTime(failed.sinceMs),
      kept_until: isoTime(failed.keptUntilMs),
    }),
  };
}
