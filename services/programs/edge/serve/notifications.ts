import type { FastifyReply, FastifyRequest } from 'fastify';
import { RefusedAddresses } from '#edge/callers/known-callers';
import type { Endpoint } from '#edge/endpoints/endpoint';
import { type Exchange, unknownHeaders } from '#edge/http';
import type { AccountBilling } from '#edge/serve/account';
import type { Reply } from '#edge/serve/reply';
import { Fault, faultFor, toFault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';

/** Maximum concurrent notifications at an edge; each holds some hundred kilobytes. */
const NOTIFICATIONS_AT_ONCE_MAX = 32;

/** Key name for `RefusedAddresses`: a notification has no API key. */
const NO_KEY = '';

/** Refusals that count against the sender's network. Other failures are not the sender's fault. */
const REFUSED: ReadonlySet<string> = new Set([
  'webhook_verification_failed',
  'billing_provider_not_configured',
  'invalid_request',
]);

/**
 * Handles payment provider notifications, from any address. Only their signature proves the sender.
 *
 * A network with 30 refused notifications in a minute is barred for a minute. Five a second are
 * still checked, because provider and attacker may share a load balancer's address.
 */
export class Notifications {
  readonly #billing: AccountBilling;
  readonly #refused: RefusedAddresses;
  #underWay = 0;

  /** Calls `onBar` with each network that becomes barred. */
  constructor(billing: AccountBilling, clock: Clock, onBar: (network: string) => void) {
    this.#billing = billing;
    this.#refused = new RefusedAddresses(clock, onBar);
  }

  /** The refusal for a notification from a barred network; undefined for all other networks. */
  refusalUnasked({ ip }: { readonly ip: string }): Fault | undefined {
    return this.#refused.isBarred(ip, NO_KEY) ? barred() : undefined;
  }

  /** Fulfils when the notification has been applied. If it rejects, the provider must retry. */
  async take(rawBody: Buffer, signature: string | undefined, address: string): Promise<void> {
    if (!this.#refused.mayAsk(address, NO_KEY)) throw barred();
    if (this.#underWay >= NOTIFICATIONS_AT_ONCE_MAX) {
      throw faultFor('overloaded', 'too many notifications in flight; retry', { retryAfterS: 1 });
    }
    this.#underWay += 1;
    try {
      if (signature === undefined) {
        throw new Fault('webhook_verification_failed', 'send the header Stripe-Signature');
      }
      await this.#billing.notified(rawBody, signature);
    } catch (error) {
      if (REFUSED.has(toFault(error).code)) this.#refused.count(address, NO_KEY);
      throw error;
    } finally {
      this.#underWay -= 1;
    }
  }
}

/** `serveNotification` dependencies. */
export type NotificationPorts = {
  readonly clock: Clock;
  readonly notifications: Notifications;
  readonly reply: Reply;
};

/** Serves a notification without admission; its limit headers name no account. Never throws. */
export async function serveNotification(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  _exchange: Exchange,
  ports: NotificationPorts,
): Promise<void> {
  const rawBody = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
  // Node joins repeated headers. A joined signature contains two times, so it is invalid.
  const { 'stripe-signature': signature } = request.headers;
  const headers = unknownHeaders(ports.clock.wallMs());
  try {
    await ports.notifications.take(rawBody, signature?.toString(), request.ip);
    ports.reply.send(request, reply, endpoint, endpoint.success, headers, RECEIVED);
  } catch (error) {
    // The sender is not authenticated, so a refusal does not count as a route failure.
    const counted = { method: request.method, path: 'refused' };
    ports.reply.refuse(request, reply, counted, toFault(error), headers);
  }
}

const RECEIVED = JSON.stringify({ received: true });

function barred(): Fault {
  const text = 'your address sent too many refused notifications; retry later';
  return faultFor('too_many_refused_notifications', text, { retryAfterS: 1 });
}
