import { IdentityEngineError } from './errors.ts';
import { LONE_SURROGATE } from './lone-surrogate.ts';

/**
 * Path to an instance or to a resource below it. Throws an `IdentityEngineError` for an id that
 * would change the path.
 */
export function instancePath(id: string, below = ''): string {
  return `/instances/${segmentOf(id)}${below}`;
}

/**
 * Encodes a path segment. Throws an `IdentityEngineError` for an id that would change the path or
 * is not valid Unicode.
 */
export function segmentOf(id: string): string {
  const isNone = /^\.{0,2}$/.test(id) || LONE_SURROGATE.test(id);
  if (!isNone) return encodeURIComponent(id);
  throw new IdentityEngineError(`invalid id: ${JSON.stringify(id)}`);
}
