import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Exchange } from '#edge/callers/exchange';
import { RefusedAddresses } from '#edge/callers/refused-addresses';
import type { Endpoint } from '#edge/endpoints/endpoint';
import type { AccountBilling } from '#edge/serve/account';
import { unknownHeaders } from '#edge/serve/headers';
import type { Reply } from '#edge/serve/reply';
import { Fault, faultFor, toFault } from '#fault/fault';
import type { Clock } from '#platform/clock';

/** Notifications under way at one edge, each of some hundred kilobytes at most. Chosen. */
const NOTIFICATIONS_AT_ONCE_MAX = 32;

/** A notification has no key by which its sender could be known. */
const NO_KEY = '';

/** What is held against a sender: the others are no fault of its own. */
const REFUSED: ReadonlySet<string> = new Set([
  'webhook_verification_failed',
  'billing_provider_not_configured',
  'invalid_request',
]);

/**
 * Takes the notifications of the payment provider from anyone, because their signature alone says
 * who sent them. A network with 30 refused ones in a minute has five a second looked at for the next
 * minute, as with refused keys: behind a balancer the provider and an attacker have one address.
 */
export class Notifications {
  readonly #billing: AccountBilling;
  readonly #refused: RefusedAddresses;
  #underWay = 0;

  /** `onBar` is called with the name of every network that is barred. */
  constructor(billing: AccountBilling, clock: Clock, onBar: (network: string) => void) {
    this.#billing = billing;
    this.#refused = new RefusedAddresses(clock, onBar);
  }

  /** The refusal of a notification that would not be looked at now; undefined if it would be. */
  refusalUnasked({ ip }: { readonly ip: string }): Fault | undefined {
    return this.#refused.isBarred(ip, NO_KEY) ? barred() : undefined;
  }

  /** Fulfils when a notification has done what it says. Rejects if it is to be sent again. */
  async take(rawBody: Buffer, signature: string | undefined, address: string): Promise<void> {
    if (!this.#refused.mayAsk(address, NO_KEY)) throw barred();
    if (this.#underWay >= NOTIFICATIONS_AT_ONCE_MAX) {
      throw faultFor('overloaded', 'too many notifications at once', { retryAfterS: 1 });
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

/** What serving a notification takes. */
export type NotificationPorts = {
  readonly clock: Clock;
  readonly notifications: Notifications;
  readonly reply: Reply;
};

/** Serves a notification: no limiter meters it, and its headers name no account. Never throws. */
export async function serveNotification(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  _exchange: Exchange,
  ports: NotificationPorts,
): Promise<void> {
  const rawBody = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
  // Node joins headers of this name that come twice, and no signature has two times in it.
  const { 'stripe-signature': signature } = request.headers;
  const headers = unknownHeaders(ports.clock.wallMs());
  try {
    await ports.notifications.take(rawBody, signature?.toString(), request.ip);
    ports.reply.send(request, reply, endpoint, endpoint.success, headers, RECEIVED);
  } catch (error) {
    // Its sender has shown nothing, so that a refusal is no failure of a route (as in the gate).
    const counted = { method: request.method, path: 'refused' };
    ports.reply.refuse(request, reply, counted, toFault(error), headers);
  }
}

const RECEIVED = JSON.stringify({ received: true });

function barred(): Fault {
  const text = 'too many refused notifications came from your address';
  return faultFor('too_many_refused_notifications', text, { retryAfterS: 1 });
}
