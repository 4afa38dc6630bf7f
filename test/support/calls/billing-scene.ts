import { type LocalEvent, localProvider } from '#billing/local-provider';
import { unchanging } from '#stdlib/files';
import { documented } from '#test/support/calls/api-document';
import { type Answer, type Sent, send } from '#test/support/calls/caller';
import type { Service } from '#test/support/servers/service';

const SECRET = 'whsec_of_all_tests';

/** Variables for a service with the local payment provider. */
export const LOCAL_BILLING = {
  SERVICE_BILLING_PROVIDER: 'local',
  SERVICE_BILLING_WEBHOOK_SECRET: SECRET,
};

/** Path for the local provider's notifications. */
export const NOTIFICATIONS = '/billing/notifications';

const DAY_MS = 86_400_000;

/** Notification that an account has bought `pro` for 30 days. */
export function bought(accountId: string, change: Partial<LocalEvent> = {}) {
  const event: LocalEvent = {
    id: `evt_${accountId}`,
    atMs: Date.now(),
    accountId,
    plan: 'pro',
    type: 'customer.subscription.created',
    status: 'active',
    periodEndsAtMs: Date.now() + 30 * DAY_MS,
    ...change,
  };
  return localProvider(unchanging([SECRET])).notificationFor(event, Date.now());
}

/** Client without an API key. Every answer is checked against the API document. */
export function keyless({ service }: { readonly service: Service }) {
  const caller = documented({
    accountId: '',
    key: '',
    send: (method, path, sent) => send(service, method, path, sent),
  });
  return {
    ...caller,
    /** Sends a notification with the given signature, or without a signature if undefined. */
    notify(body: string, signature: string | undefined, sent: Sent = {}): Promise<Answer> {
      const signed = signature === undefined ? {} : { 'stripe-signature': signature };
      const headers = { ...signed, ...sent.headers };
      return caller.send('POST', NOTIFICATIONS, { body, ...sent, headers });
    },
  };
}
