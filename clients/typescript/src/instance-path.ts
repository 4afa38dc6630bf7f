import { IdentityEngineError } from './errors.ts';
import { LONE_SURROGATE } from './lone-surrogate.ts';

/** The path of an instance, or of what is below it. Throws an `IdentityEngineError` for an id that leads elsewhere. */
export function instancePath(id: string, below = ''): string {
  return `/instances/${segmentOf(id)}${below}`;
}

/** A part of a path. Throws an `IdentityEngineError` for one that leads elsewhere or that UTF-8 cannot say. */
export function segmentOf(id: string): string {
  const isNone = /^\.{0,2}$/.test(id) || LONE_SURROGATE.test(id);
  if (!isNone) return encodeURIComponent(id);
  throw new IdentityEngineError(`invalid id: ${JSON.stringify(id)}`);
}
