import { Fault, faultFor } from '#fault/fault';
import { isHostPort } from '#platform/host-port';

/**
 * A peer has sent what its domain does not allow: our bug or a lie, so it is `internal`. The
 * caller that waited for it does not know what has happened.
 */
export function brokenMessage(what: string): Fault {
  const cause = new RangeError(`${what} off the wire`);
  return new Fault('internal', 'internal error', { cause, isOutcomeUnknown: true });
}

/** How long the caller of what not every node knows yet should wait, in seconds: an upgrade takes minutes. */
const UPGRADE_RETRY_AFTER_S = 5;

/**
 * A peer asks for what only a later release knows, as happens while a cluster is being upgraded.
 * Nothing has happened, and no other node is asked: only the owner may answer.
 */
export function unknownCall(): Fault {
  const text = 'this needs a release that has not reached every node yet';
  return faultFor('upgrade_in_progress', text, { retryAfterS: UPGRADE_RETRY_AFTER_S });
}

/** Whether it is such a refusal. */
export function isUnknownCall(error: unknown): error is Fault {
  return error instanceof Fault && error.reason === 'upgrade_in_progress';
}

/** What a call is refused with that could not be read: nothing has happened, whatever is wrong with it. */
export function refusalOf(error: unknown): Fault {
  return isUnknownCall(error) ? error : new Fault('internal', 'internal error', { cause: error });
}

/** `value` if it is a whole number in [min, max], else refused. */
export function trustInteger(value: number, min: number, max: number, what: string): number {
  if (!(Number.isInteger(value) && value >= min && value <= max)) throw brokenMessage(what);
  return value;
}

/** `value` if it is in [0, 1], else refused, as NaN is. Source: numbers of the model, interface 2. */
export function trustUnit(value: number, what: string): number {
  if (!(value >= 0 && value <= 1)) throw brokenMessage(what);
  return value;
}

/** `value` if it has between `min` and `max` UTF-16 units, else refused. */
export function trustText(value: string, min: number, max: number, what: string): string {
  if (value.length < min || value.length > max) throw brokenMessage(what);
  return value;
}

/** `value` if it is `host:port`, else refused: the only addresses that processes connect to. */
export function trustHostPort(value: string, what: string): string {
  if (!isHostPort(value)) throw brokenMessage(what);
  return value;
}
