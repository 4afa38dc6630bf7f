import { Fault } from '#fault/fault';
import { isHostPort } from '#platform/host-port';

/**
 * A peer has sent what its domain does not allow: our bug or a lie, so it is `internal`. The
 * caller that waited for it does not know what has happened.
 */
export function brokenMessage(what: string): Fault {
  const cause = new RangeError(`${what} off the wire`);
  return new Fault('internal', 'internal error', { cause, isOutcomeUnknown: true });
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
