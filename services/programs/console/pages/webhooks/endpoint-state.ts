import type { Webhook, WebhookAttempt } from '#clients/typescript/src/models';

/** State of an endpoint: style of its badge, badge, and explanation with the next step. */
export type EndpointState = {
  readonly style: 'is-good' | 'is-warning' | 'is-off';
  readonly badge: string;
  readonly text: string;
};

const PAUSES: Readonly<Record<string, string>> = {
  requested: 'Nothing is sent until you resume the endpoint. It keeps its position in the log.',
  failing:
    'The service paused the endpoint after three days without a success. Repair the receiver, send a test event, then resume.',
  removed:
    'The receiver answered with status 410, so the service paused the endpoint. Resume it if the receiver is back.',
};

/** State of an endpoint in words. */
export function stateOf({ paused, failing_since: failing }: Webhook): EndpointState {
  if (paused !== null) {
    return { style: 'is-off', badge: 'paused', text: PAUSES[paused] ?? 'Nothing is sent.' };
  }
  if (failing !== null) {
    const text =
      'No attempt has succeeded since then. The service repeats messages for about three days. Look at the response of the newest delivery.';
    return { style: 'is-warning', badge: 'failing', text };
  }
  return { style: 'is-good', badge: 'active', text: 'Messages are delivered as events happen.' };
}

/** Causes of failures, with the next step. */
const FAILURES: Readonly<Record<string, string>> = {
  courier_away: 'The service had no free courier. It repeats the message by itself.',
  no_public_address: 'The name of the address leads to no public address. Check the DNS entry.',
  no_connection: 'No connection. Check that the receiver listens, and its firewall.',
  tls_failed: 'The certificate was refused. It must be valid for the name in the address.',
  timeout: 'No answer within 10 seconds. Answer first, and process the events afterwards.',
  broken_answer: 'The answer was no valid HTTP.',
  secret_unreadable: 'The service cannot read the secret. Rotate the secret.',
  too_many_waiting: 'More than 50 changes of the instance waited.',
  expired: 'The log no longer keeps the change.',
  internal: 'The service failed. It repeats the message by itself.',
  not_sent: 'The service could not send the message. It repeats the message by itself.',
};

/** A failure in words. Unknown failures are shown unchanged. */
export function failureText(failure: string): string {
  const status = /^status (\d+)$/.exec(failure)?.[1];
  if (status === '410') return 'Status 410: the receiver asks for no further messages.';
  if (status?.startsWith('3')) return `Status ${status}: the service follows no redirect.`;
  return status === undefined ? (FAILURES[failure] ?? failure) : `Status ${status}.`;
}

/** Outcome of an attempt, for its badge. */
export function outcomeText({ failure, response }: WebhookAttempt): string {
  if (failure === null) return `delivered${response === undefined ? '' : ` · ${response.status}`}`;
  return failure.replaceAll('_', ' ');
}

/** Host of an address, for short names. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Address of an endpoint's page. */
export const webhookAddress = (id: string): string => `/webhooks/${id}`;
