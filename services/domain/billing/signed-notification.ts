import Stripe from 'stripe';
import { NOTIFICATION_BYTES_MAX } from '#billing/billing-questions';
import { Fault } from '#errors/fault';

/** Maximum difference between signature time and present time, in seconds. Source: Stripe. */
const TOLERANCE_S = 300;

/** Maximum signature header length, in characters. Each active secret adds about 80. */
const HEADER_LENGTH_MAX = 4_096;

/**
 * Times in a signature header. Stripe's library also accepts repeated times and digits within text.
 */
const TIME = /(?:^|,)t=([^,]*)/g;
const SECONDS = /^\d{1,12}$/;

/**
 * Verifies a notification and returns its JSON. The signature is Stripe's HMAC over time and body,
 * for any of the secrets. Stripe's library compares in constant time. Throws
 * `webhook_verification_failed` without naming the wrong part, to give attackers no hint.
 */
export function verifiedNotification(
  rawBody: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
  nowMs: number,
): unknown {
  if (rawBody.length > NOTIFICATION_BYTES_MAX) throw refusal('the body is too large');
  if (header === undefined || header.length > HEADER_LENGTH_MAX) {
    throw refusal('the signature header is missing or too long');
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

/** Builds the signature header for a body, signed with `secret` at `nowMs`. */
export function signatureOf(body: string, secret: string, nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1_000);
  return Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
}

function eventOf(rawBody: Uint8Array, header: string, secret: string, nowMs: number): unknown {
  const payload = Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.length);
  return Stripe.webhooks.constructEvent(payload, header, secret, TOLERANCE_S, undefined, nowMs);
}

/**
 * Throws unless the header has exactly one valid time that is not in the future. Stripe's library
 * refuses only old times.
 */
function assertTime(header: string, nowMs: number): void {
  const [first, ...others] = [...header.matchAll(TIME)].map(([, text = '']) => text);
  if (first === undefined || others.length > 0 || !SECONDS.test(first)) {
    throw refusal('the signature header must have exactly one time');
  }
  if (Number(first) > nowMs / 1_000 + TOLERANCE_S) throw refusal('the time is in the future');
}

function refusal(cause: unknown): Fault {
  const text = 'the signature of the notification is invalid or too old';
  return new Fault('webhook_verification_failed', text, { cause });
}
