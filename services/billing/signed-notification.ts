import Stripe from 'stripe';
import { NOTIFICATION_BYTES_MAX } from '#billing/billing-questions';
import { Fault } from '#fault/fault';

/** How far the time of a signature may lie from now, either way, in seconds. Source: Stripe. */
const TOLERANCE_S = 300;

/** Characters of a signature header: one of 80 for each secret that is in use. */
const HEADER_LENGTH_MAX = 4_096;

/** The time of a signature. The library takes the last of several and reads digits out of text. */
const TIME = /(?:^|,)t=([^,]*)/g;
const SECONDS = /^\d{1,12}$/;

/**
 * The JSON of a notification that one of the secrets has signed as Stripe does: by HMAC over time and
 * body as they came, compared in constant time by Stripe's library. Throws
 * `webhook_verification_failed` for any other, without a word about which part was wrong.
 */
export function verifiedNotification(
  rawBody: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
  nowMs: number,
): unknown {
  if (rawBody.length > NOTIFICATION_BYTES_MAX) throw refusal('the body is too large');
  if (header === undefined || header.length > HEADER_LENGTH_MAX) {
    throw refusal('there is no signature, or far too many');
  }
  assertTime(header, nowMs);
  let failure: unknown;
  for (const secret of secrets) {
    try {
      return eventOf(rawBody, header, secret, nowMs);
    } catch (error) {
      failure = error;
    }
  }
  throw refusal(failure);
}

/** The header with which this body is sent, signed by `secret` at this time. */
export function signatureOf(body: string, secret: string, nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1_000);
  return Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
}

function eventOf(rawBody: Uint8Array, header: string, secret: string, nowMs: number): unknown {
  const payload = Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.length);
  return Stripe.webhooks.constructEvent(payload, header, secret, TOLERANCE_S, undefined, nowMs);
}

/** Stripe's library refuses what is old, and takes what is to come. */
function assertTime(header: string, nowMs: number): void {
  const [first, ...others] = [...header.matchAll(TIME)].map(([, text = '']) => text);
  if (first === undefined || others.length > 0 || !SECONDS.test(first)) {
    throw refusal('there is not one time');
  }
  if (Number(first) > nowMs / 1_000 + TOLERANCE_S) throw refusal('the time is to come');
}

function refusal(cause: unknown): Fault {
  const text = 'the notification is not signed with a secret of this service, or not lately';
  return new Fault('webhook_verification_failed', text, { cause });
}
