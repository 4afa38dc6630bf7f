import { IdentityEngineError } from './errors.ts';

/** The path of an instance, or of what is below it. Throws an `IdentityEngineError` for an id that leads elsewhere. */
export function instancePath(id: string, below = ''): string {
  return `/instances/${segmentOf(id)}${below}`;
}

/** A part of a path. Throws an `IdentityEngineError` for one that would move it up, or leave it as it is. */
export function segmentOf(id: string): string {
  if (!/^\.{0,2}$/.test(id)) return encodeURIComponent(id);
  throw new IdentityEngineError(`${JSON.stringify(id)} is no id`);
}
